"""Report: one page with all that is known of a history.

The document is plain data; ``page.py`` makes the page.  Programs loop, so an execution is a column of numbers of
blocks, and a block's instructions are told once.  A column is a list of numbers below 2 to the 32.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.analysis.coverage import Coverage
from gdb_etm.analysis.profile import CallNode, CallProfile
from gdb_etm.analysis.timeline import Timeline
from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.protocols.elements import Gap, Range

# Functions that have no name.
_NO_NAME = "??"


class WrittenCode(NamedTuple):
    """An instruction, as it is written."""

    address: int
    # Such as ``"dispatch+18"``; may be empty.
    symbol: str
    # Mnemonic, a blank, operands.
    text: str
    # Such as ``"rx.c:57"``; may be empty.
    place: str
    source: str
    # Whether the target holds other code now.
    is_doubtful: bool


class _Texts:
    # Numbers for texts, each of which is written once.

    def __init__(self) -> None:
        self._numbers: Dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> List[str]:
        return list(self._numbers)


class ExecutionColumns:
    """What ran, as blocks and events.

    :param write: Writes the instructions of a range, given what of an IT block ran before it, if that goes on there.
    """

    def __init__(self, write: Callable[[Range, Optional[Range]], Tuple[List[WrittenCode], bool]]) -> None:
        self._write = write
        self._blocks: Dict[Tuple[Range, Optional[Range]], int] = {}
        # The first instruction of each block, and how many it has.
        self._firsts: List[int] = []
        self._counts: List[int] = []
        self._code: List[WrittenCode] = []
        self._order: List[int] = []
        # Blocks that end inside an IT block.
        self._open: Set[int] = set()
        self._before: Optional[Tuple[Range, int]] = None
        self._after: List[int] = []
        self._events: List[int] = []
        self._texts = _Texts()

    def block(self, executed: Range) -> None:
        """Add an executed range."""
        before = self._before
        goes_on = before is not None and before[1] in self._open and before[0].end == executed.start
        key = executed, before[0] if goes_on and before is not None else None
        number = self._blocks.get(key)
        if number is None:
            number = self._blocks[key] = len(self._firsts)
            written, is_open = self._write(*key)
            self._firsts.append(len(self._code))
            self._counts.append(len(written))
            self._code += written
            if is_open:
                self._open.add(number)
        self._order.append(number)
        self._before = executed, number

    def event(self, after: int, text: str) -> None:
        """Add a line after an instruction; 0 is before the first."""
        self._after.append(after)
        self._events.append(self._texts.number(text))

    def document(self) -> Dict[str, Any]:
        """Give code, events and columns."""
        symbols, places = _Texts(), _Texts()
        code = [
            [
                one.address,
                symbols.number(one.symbol),
                one.text,
                places.number("%s\t%s" % (one.place, one.source)),
                int(one.is_doubtful),
            ]
            for one in self._code
        ]
        return {
            "code": code,
            "symbols": symbols.all(),
            "places": [text.split("\t", 1) for text in places.all()],
            "events": self._texts.all(),
            "columns": {
                "blockFirst": self._firsts,
                "blockCount": self._counts,
                "order": self._order,
                "eventAfter": self._after,
                "eventText": self._events,
            },
        }


class _Call:
    # An activation, or an exception, with what it called.

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.name = ""
        self.first = 0
        self.own = 0
        self.calls: List[_Call] = []


def calls_document(
    rows: Sequence[FrameEntry], instructions: int, label: Callable[[int], str], gap: Callable[[Gap, int], str]
) -> Dict[str, Any]:
    """Give the call tree.

    Its columns are depth, name, first instruction, and how many it and its callees executed.

    :param rows: The entries of a call history.
    :param instructions: How many instructions it has.
    :param label: Names the thread of an entry, by its index; empty where there is only one.
    :param gap: Writes a gap after so many instructions, a line of its own between the outermost; empty for none.
    """
    known: Dict[Frame, _Call] = {}
    roots: List[_Call] = []

    def call(frame: Frame, at: int, first: int) -> _Call:
        chain: List[Frame] = []
        up: Optional[Frame] = frame
        while up is not None and up not in known:
            chain.append(up)
            up = up.up
        above = known[up] if up is not None else None
        for one in reversed(chain):
            made = known[one] = _Call(one)
            made.name, made.first = _name(one), first
            if above is None:
                made.name += label(at)
            (roots if above is None else above.calls).append(made)
            above = made
        return known[frame]

    for at, row in enumerate(rows):
        if isinstance(row.event, Gap):
            made = _Call(row.frame)
            made.name, made.first = gap(row.event, row.first - 1), row.first
            roots += [made] if made.name else []
        elif row.event is None:
            last = rows[at + 1].first - 1 if at + 1 < len(rows) else instructions
            found = call(row.frame, at, row.first)
            found.own += last - row.first + 1
    return _call_columns(roots, _end(rows, known))


def _end(rows: Sequence[FrameEntry], known: Dict[Frame, _Call]) -> Optional[_Call]:
    # The activation that executed last.
    last = next((row.frame for row in reversed(rows) if row.event is None), None)
    return known[last] if last is not None else None


def _name(frame: Frame) -> str:
    if frame.event is not None:
        return "<%s>" % frame.event.name
    return frame.function.name if frame.function is not None else _NO_NAME


def _call_columns(roots: Sequence[_Call], end: Optional[_Call]) -> Dict[str, Any]:
    names = _Texts()
    numbers: List[int] = []
    depths: List[int] = []
    found: List[_Call] = []
    todo = [(0, one) for one in reversed(roots)]
    while todo:
        depth, one = todo.pop()
        depths.append(depth)
        numbers.append(names.number(one.name))
        found.append(one)
        todo += [(depth + 1, callee) for callee in reversed(one.calls)]
    # Callees come after their callers.
    totals: List[int] = [one.own for one in found]
    parents: List[int] = []
    chain: List[int] = []
    for at, depth in enumerate(depths):
        del chain[depth:]
        parents.append(chain[-1] if chain else -1)
        chain.append(at)
    for at in range(len(found) - 1, -1, -1):
        # A handler is no part of what it interrupted.
        if parents[at] >= 0 and not found[at].frame.is_exception:
            totals[parents[at]] += totals[at]
    return {
        "names": names.all(),
        # The call that executed last.
        "end": found.index(end) if end is not None else 0,
        "columns": {
            "callDepth": depths,
            "callName": numbers,
            "callFirst": [one.first for one in found],
            "callTotal": totals,
        },
    }


def timeline_document(timeline: Timeline) -> Dict[str, Any]:
    """Give tracks and what is on them.

    An event's name is 0 where something ends.
    """
    names = _Texts()
    names.number("")
    named = [names.number(event.name) if event.name is not None else 0 for event in timeline.events]
    return {
        "unit": timeline.unit,
        "tracks": list(timeline.tracks),
        "names": names.all(),
        "gaps": [list(one) for one in timeline.gaps],
        "instants": [list(one) for one in timeline.instants],
        "columns": {
            "time": [event.time for event in timeline.events],
            "track": [event.track for event in timeline.events],
            "timeName": named,
        },
    }


def profile_document(profile: CallProfile) -> Dict[str, Any]:
    """Give the call graph, callers before callees, and the functions."""
    rows: List[List[Any]] = []
    todo: List[Tuple[CallNode, int]] = [(profile.root, 0)]
    while todo:
        node, depth = todo.pop()
        rows.append([depth, node.name, node.calls, node.own])
        todo += [(child, depth + 1) for child in reversed(list(node.children.values()))]
    functions = []
    for one in profile.functions():
        costs = sorted(one.costs.elements())
        spread = [costs[0], costs[len(costs) // 2], costs[-1]] if costs else [None] * 3
        functions.append([one.function.name, one.calls, one.own, one.inclusive, *spread])
    return {"unit": profile.unit, "total": profile.total, "nodes": rows, "functions": functions}


def coverage_document(coverage: Coverage, source: Callable[[str], Tuple[Sequence[str], str]]) -> List[Dict[str, Any]]:
    """Give the source files.

    Those that were seen come with all lines, up to the last one that has code.

    :param source: Gives the lines of a file, and why there are none.
    """
    read = {file.file: source(file.file) if file.line_ratio.seen else ((), "") for file in coverage.files}
    return [
        {
            "path": file.path,
            "lines": list(file.line_ratio),
            "branches": list(file.branch_ratio),
            "functions": list(file.function_ratio),
            "counts": [
                [one.line, one.times, [list(branch) for branch in one.branches if any(branch)]] for one in file.lines
            ],
            "source": [text.rstrip() for text in read[file.file][0][: file.lines[-1].line]],
            "note": read[file.file][1],
        }
        for file in coverage.files
    ]


def grouped_gaps(gaps: Iterable[Tuple[int, str]]) -> Iterator[List[Any]]:
    """Give each kind of gap: words, count, the instruction before the first."""
    found: Dict[str, List[int]] = {}
    for after, words in gaps:
        found.setdefault(words, []).append(after)
    for words, places in sorted(found.items(), key=lambda one: -len(one[1])):
        yield [words, len(places), places[0]]
