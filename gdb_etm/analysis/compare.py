"""Two executions compared: where they went another way first.

An execution is taken apart: what each thread ran, and each run of a handler, are sequences of their own, so that an
interrupt that comes a little later changes nothing of the rest.  The same program is compared instruction by
instruction, two builds by source line.  What makes the answer doubtful is said.
"""

from __future__ import annotations

from array import array
from typing import Callable, Container, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.activity import unseen_handlers
from gdb_etm.capture import BufferEnd
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap

# Instructions by which executions that begin at different places are laid beside one another.
_ANCHOR = 64
_CHUNK = 1 << 12
# Where an anchor is found: so many places are tried.
_MOST_PLACES = 256

# All bits of a token.
_INVERTED = (1 << 64) - 1
# What is compared: tokens, alike where the executions do the same there.
Token = Callable[[int], int]


class Strand(NamedTuple):
    """What one thread ran, or one run of a handler."""

    # Of each token the first and the last instruction's number.
    firsts: Sequence[int]
    lasts: Sequence[int]
    tokens: Sequence[int]
    # How many tokens came before each gap.
    gaps: Sequence[int]


class HandlerRun(NamedTuple):
    """An exception, and what its handler ran."""

    name: str
    # Number of the instruction before it.
    after: int
    # The thread that it interrupted, and how many of its tokens came before.
    thread: int
    at: int
    strand: Strand


class Execution(NamedTuple):
    """An execution, taken apart."""

    threads: Dict[int, Strand]
    handlers: List[HandlerRun]
    # Whether it begins where the run began.
    is_whole: bool


class Divergence(NamedTuple):
    """The first place where two executions went another way."""

    # Numbers of the last instructions that are alike.
    left: int
    right: int
    # Numbers of what came then; None where an execution ends there.
    left_next: Optional[int]
    right_next: Optional[int]
    # The exception whose handler it is in; empty in a thread.
    handler: str
    # Whether the last instruction is the same, and one of them has skipped it.
    is_skipped: bool = False


class ElsewhereInterrupted(NamedTuple):
    """An exception that came at another place, or to one execution only."""

    name: str
    # Numbers of the instructions before it; None where it did not come.
    left: Optional[int]
    right: Optional[int]


class ExecutionComparison(NamedTuple):
    """How two executions compare."""

    # Tokens that are alike before the divergence, or at all, of the thread that has it.
    alike: int
    divergence: Optional[Divergence]
    # The first one that came elsewhere, unless that was after the divergence.
    interrupt: Optional[ElsewhereInterrupted]
    # Why the answer may be wrong, one line each.
    doubts: Tuple[str, ...]


class StrandBuilder:
    """Builds a strand, token by token."""

    def __init__(self) -> None:
        self.gaps: List[int] = []
        self._firsts, self._lasts, self._tokens = array("Q"), array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, number: int, token: int, is_by_line: bool = False) -> None:
        """Add an instruction.

        :param number: Its own.
        :param is_by_line: Whether the same token again is the same place still.
        """
        is_gap = bool(self.gaps) and self.gaps[-1] == len(self)
        if is_by_line and self._tokens and self._tokens[-1] == token and not is_gap:
            self._lasts[-1] = number
            return
        self._firsts.append(number)
        self._lasts.append(number)
        self._tokens.append(token)

    def strand(self) -> Strand:
        """Give what was added."""
        return Strand(self._firsts, self._lasts, self._tokens, self.gaps)


class ExecutionBuilder:
    """Builds an execution, row by row of its call history.

    :param unseen: Handlers whose exception was not seen.
    """

    def __init__(self, unseen: Container[Frame]) -> None:
        self._unseen = unseen
        self._threads: Dict[int, StrandBuilder] = {}
        self._handlers: Dict[Frame, Tuple[str, int, int, int, StrandBuilder]] = {}

    def gap(self) -> None:
        """Take note of a gap: nothing is known of any strand there."""
        for one in (*self._threads.values(), *(found[-1] for found in self._handlers.values())):
            one.gaps.append(len(one))

    def begin(self, row: FrameEntry, thread: int) -> None:
        """Begin the run of a handler; a halt has none.

        :param row: Of its exception.
        :param thread: Which it interrupts.
        """
        if isinstance(row.event, Exception_) and row.event.name != DEBUG_HALT:
            before = len(self._threads.get(thread, ()))
            self._handlers[row.frame] = (row.event.name, row.first - 1, thread, before, StrandBuilder())

    def handler(self, row: FrameEntry) -> Optional[Frame]:
        """Give the handler that a row is of; None in a thread."""
        frame: Optional[Frame] = row.frame
        while frame is not None and not frame.is_exception and frame not in self._unseen:
            frame = frame.up
        return frame

    def strand(self, handler: Optional[Frame], thread: int) -> Optional[StrandBuilder]:
        """Give where a row belongs; None of an unknown handler."""
        if handler is None:
            return self._threads.setdefault(thread, StrandBuilder())
        return self._handlers[handler][-1] if handler in self._handlers else None

    def execution(self, end_reason: BufferEnd, bounds: Tuple[int, int]) -> Execution:
        """Give what was built.

        :param end_reason: Why the oldest instruction is the oldest.
        :param bounds: Numbers of the first and the last instruction that count.
        """
        threads = {number: one.strand() for number, one in self._threads.items()}
        runs = [HandlerRun(*found[:-1], found[-1].strand()) for found in self._handlers.values()]
        return Execution(threads, runs, end_reason is BufferEnd.STARTED and bounds[0] == 1)


def take_apart(
    history: ExecutionHistory,
    calls: CallHistory,
    token: Token,
    is_by_line: bool,
    bounds: Tuple[int, int],
    skipped: Container[int] = (),
) -> Execution:
    """Take an execution apart.

    :param token: Of an address.
    :param is_by_line: Whether the same token again is the same place still.
    :param bounds: Numbers of the first and the last instruction that count.
    :param skipped: Numbers of instructions that did nothing; their tokens are inverted (addresses are even).
    """
    addresses = array("Q")
    for span in history.spans(1, len(history)):
        if isinstance(span, Span):
            addresses.extend(history.addresses(span.range))
    rows = calls.rows()
    built = ExecutionBuilder(unseen_handlers(rows))
    thread = 0
    for at, row in enumerate(rows):
        last = min((rows[at + 1].first if at + 1 < len(rows) else len(addresses) + 1) - 1, bounds[1])
        if isinstance(row.event, Gap):
            built.gap()
            continue
        if row.event is not None:
            if bounds[0] <= row.first <= bounds[1] + 1:
                built.begin(row, thread)
            continue
        handler = built.handler(row)
        if handler is None:
            thread = calls.threads.of(at) or 0
        into = built.strand(handler, thread)
        if into is None:
            continue
        for number in range(max(row.first, bounds[0]), last + 1):
            value = token(addresses[number - 1])
            into.add(number, value ^ _INVERTED if number in skipped else value, is_by_line)
    return built.execution(history.end_reason, bounds)


def compare(left: Execution, right: Execution, is_by_line: bool) -> ExecutionComparison:
    """Compare two executions.

    :param is_by_line: Whether they were taken apart by line.
    """
    doubts: List[str] = []
    found: List[Tuple[int, Divergence]] = []
    offsets: Dict[int, Tuple[int, int]] = {}
    alike = 0
    is_whole = left.is_whole and right.is_whole
    for thread, own in sorted(left.threads.items()):
        other = right.threads.get(thread)
        if other is None or not own.tokens or not other.tokens:
            continue
        offsets[thread] = start = _starts(own, other, is_whole, doubts)
        length = _alike(own.tokens, other.tokens, *start)
        alike = max(alike, length)
        one = _divergence(own, other, start, length, "", doubts)
        if one is not None:
            found.append((one.left, one))
    if not offsets:
        doubts.append("no thread ran in both: only handlers could be compared")
    found += _in_handlers(left, right, offsets, is_whole, doubts)
    first = min(found, key=lambda one: one[0])[1] if found else None
    interrupt = _interrupt(left, right, offsets, first)
    if interrupt is not None and first is not None and not is_by_line:
        doubts.append("%s came elsewhere before it: that may be the cause" % interrupt.name)
    if first is not None:
        doubts += _lost(left, right, first)
    return ExecutionComparison(alike, first, interrupt, tuple(dict.fromkeys(doubts)))


def _alike(left: Sequence[int], right: Sequence[int], at: int, to: int) -> int:
    # How many tokens are alike from these places on.
    length, most = 0, min(len(left) - at, len(right) - to)
    while length < most:
        size = min(_CHUNK, most - length)
        a, b = left[at + length : at + length + size], right[to + length : to + length + size]
        if a != b:
            return length + next(index for index, (one, other) in enumerate(zip(a, b)) if one != other)
        length += size
    return length


def _starts(left: Strand, right: Strand, is_whole: bool, doubts: List[str]) -> Tuple[int, int]:
    # Where they are laid beside one another.
    if is_whole:
        return 0, 0
    best, others = (0, 0), 0
    longest = _alike(left.tokens, right.tokens, 0, 0)
    for mine, places in ((True, _places(left.tokens, right.tokens)), (False, _places(right.tokens, left.tokens))):
        for place in places:
            at, to = (place, 0) if mine else (0, place)
            length = _alike(left.tokens, right.tokens, at, to)
            if length > longest:
                best, longest, others = (at, to), length, 0
            elif length == longest and (at, to) != best:
                others += 1
    if longest < _ANCHOR and longest < min(len(left.tokens), len(right.tokens)):
        doubts.append("they begin at different places, and nothing says how to lay them beside one another")
    elif others:
        doubts.append("they begin at different places, and fit beside one another in %d ways" % (others + 1))
    elif min(len(left.tokens) - best[0], len(right.tokens) - best[1]) > longest < 4 * _ANCHOR:
        doubts.append("they begin at different places, and few instructions say how they fit")
    return best


def _places(tokens: Sequence[int], others: Sequence[int]) -> List[int]:
    # Where the beginning of others is found.
    wanted = others[:_ANCHOR]
    found: List[int] = []
    for place in range(1, len(tokens) - len(wanted) + 1):
        if tokens[place] == wanted[0] and tokens[place : place + len(wanted)] == wanted:
            found.append(place)
            if len(found) == _MOST_PLACES:
                break
    return found


def _divergence(
    left: Strand, right: Strand, start: Tuple[int, int], length: int, handler: str, doubts: List[str]
) -> Optional[Divergence]:
    at, to = start[0] + length, start[1] + length
    if length == 0 and not handler:
        doubts.append("nothing at their beginning is alike")
        return None
    for gaps, first, end in ((left.gaps, start[0], at), (right.gaps, start[1], to)):
        if any(first < gap <= end for gap in gaps):
            doubts.append("a gap comes before it, or there: what was not seen may have been another way already")
    if at == len(left.tokens) or to == len(right.tokens):
        # One ends: that is no branch.
        return None
    if left.tokens[at] == right.tokens[to] ^ _INVERTED:
        after = [
            one.firsts[place + 1] if place + 1 < len(one.firsts) else None for one, place in ((left, at), (right, to))
        ]
        return Divergence(left.firsts[at], right.firsts[to], after[0], after[1], handler, True)
    before_left = left.lasts[at - 1] if at else left.firsts[at] - 1
    before_right = right.lasts[to - 1] if to else right.firsts[to] - 1
    return Divergence(before_left, before_right, left.firsts[at], right.firsts[to], handler)


def _in_handlers(
    left: Execution, right: Execution, offsets: Dict[int, Tuple[int, int]], is_whole: bool, doubts: List[str]
) -> List[Tuple[int, Divergence]]:
    # Runs of the same handler, in their order.
    waiting: Dict[str, List[HandlerRun]] = {}
    for one in right.handlers:
        if one.at >= offsets.get(one.thread, (0, 0))[1]:
            waiting.setdefault(one.name, []).append(one)
    found: List[Tuple[int, Divergence]] = []
    for one in left.handlers:
        if one.at < offsets.get(one.thread, (0, 0))[0] or not waiting.get(one.name):
            continue
        other = waiting[one.name].pop(0)
        length = _alike(one.strand.tokens, other.strand.tokens, 0, 0)
        ignored: List[str] = []
        there = _divergence(one.strand, other.strand, (0, 0), length, one.name, ignored)
        if there is not None:
            if not is_whole:
                doubts.append("which runs of %s belong together is not certain" % one.name)
            found.append((there.left, there))
            break
    return found


def _interrupt(
    left: Execution, right: Execution, offsets: Dict[int, Tuple[int, int]], first: Optional[Divergence]
) -> Optional[ElsewhereInterrupted]:
    # The first exception that came elsewhere, before the divergence.
    mine = [one for one in left.handlers if one.at >= offsets.get(one.thread, (0, 0))[0]]
    others = [one for one in right.handlers if one.at >= offsets.get(one.thread, (0, 0))[1]]
    for at in range(max(len(mine), len(others))):
        a = mine[at] if at < len(mine) else None
        b = others[at] if at < len(others) else None
        if a is not None and first is not None and a.after >= first.left:
            a = None
        if b is not None and first is not None and b.after >= first.right:
            b = None
        if a is None and b is None:
            return None
        if a is not None and b is not None and a.name == b.name and a.thread == b.thread:
            start = offsets.get(a.thread, (0, 0))
            if a.at - start[0] == b.at - start[1]:
                continue
        one = a if a is not None else b
        if first is None and (a is None or b is None) or one is None:
            # One of them simply ends earlier.
            return None
        return ElsewhereInterrupted(one.name, a.after if a else None, b.after if b else None)
    return None


def _lost(left: Execution, right: Execution, first: Divergence) -> List[str]:
    # Threads that only one of them has.
    if set(left.threads) != set(right.threads):
        return ["they have different numbers of threads"]
    return []
