"""Consecutive captures of one connection, as one history."""

from __future__ import annotations

import re
import sys
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import BufferEnd
from gdb_etm.errors import CaptureError
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.joined import JoinedRecording, Part
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.captures import KEPT, CaptureRecord, Decoded, Doubt
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.older import OlderPieces
from gdb_etm.session.progress import Meter
from gdb_etm.session.walk import Walk

# Decodes a capture: all its histories by trace ID, or the one.
Decode = Callable[[CaptureRecord, Optional[int]], Dict[int, Decoded]]

# The setting, and its value unless it was set.
HISTORY_LIMIT = "history-limit"
DEFAULT_LIMIT = "20,000,000 64MiB"
_LIMIT = re.compile(r"(?=\S)([1-9][0-9,]*)?(?: ?\b([1-9][0-9,]*) ?MiB)?", re.IGNORECASE)
_MOVED = "the debugger moved the core"
_NOTHING = "capture %d holds no trace of it"
# This part of the most is kept when there is more.
_KEPT = 0.75
# Bytes that a capture takes beside its buffer, in GDB and beside it: also the shortest, of a single step.
_BESIDE = 64 << 10


class Limit(NamedTuple):
    """The most that joined captures hold."""

    instructions: int
    # Bytes of their buffers and of what each takes besides.
    size: int


def history_limit(text: str) -> Limit:
    """Read the setting: ``unlimited``, or instructions, MiB or both.

    :raises ValueError: It is none.
    """
    if text == "unlimited":
        return Limit(sys.maxsize, sys.maxsize)
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ValueError('"%s" is no limit: such as 20,000,000, 64MiB, both, or unlimited' % text)
    instructions, size = (one.replace(",", "") if one else None for one in found.groups())
    return Limit(int(instructions or sys.maxsize), int(size) << 20 if size else sys.maxsize)


class JoinedCaptures:
    """The captures that follow each other, the newest last.

    :param meter: Watches what takes long.
    :param decode: Decodes captures.
    :param debugger: Finds functions.
    """

    def __init__(self, meter: Meter, decode: Decode, debugger: Debugger) -> None:
        self._meter = meter
        self._decode = decode
        # What is counted of recorded pieces that were left out.
        self.older = OlderPieces(debugger)
        self.records: List[CaptureRecord] = []
        # How many older ones were left out, because there were too many.
        self.dropped = 0
        self._cores: Dict[int, _Core] = {}

    def add(self, record: CaptureRecord, limit: Limit) -> None:
        """Add the newest capture; leave out the oldest beyond a limit."""
        for old in self.records:
            old.release()
        for old in self.records[: 1 - KEPT]:
            old.forget_memory(with_begin=old is not self.records[0])
        self.records.append(record)
        sizes = [len(one.capture.buffer) + _BESIDE for one in self.records]
        rest, excess = sum(sizes), 0
        if rest > limit.size:
            while rest > limit.size * _KEPT and excess < len(sizes) - 1:
                rest -= sizes[excess]
                excess += 1
        self._drop(excess)

    def _drop(self, count: int) -> None:
        if count:
            self._count([record for record in self.records[:count] if record.is_piece])
            del self.records[:count]
            self.dropped += count
            # Those that are kept are put together again; they are decoded already.
            self._cores.clear()

    def _count(self, pieces: Sequence[CaptureRecord]) -> None:
        cores: Dict[int, _Core] = {}
        for record in pieces:
            for trace_id, found in self._decode(record, None).items():
                cores.setdefault(trace_id, _Core(True)).add(record, found)
            record.release()
        for core in cores.values():
            self.older.add(core.decoded(self._meter))

    def forget_symbols(self) -> None:
        """Forget the names of functions: the symbols have changed.

        What was decoded without a program is forgotten as a whole.
        """
        for trace_id, core in list(self._cores.items()):
            if all(record.has_program for record in self.records):
                core.forget_symbols()
            else:
                del self._cores[trace_id]

    @property
    def walks(self) -> List[Walk]:
        """The user's walks through the histories."""
        return [core.walk for core in self._cores.values() if core.walk is not None]

    def decoded(self, limit: Limit, trace_id: Optional[int] = None) -> Decoded:
        """Give a core's history.

        :param trace_id: None takes that of the first core that has instructions in the newest capture that has any.
        :raises CaptureError: Nothing in the newest capture can be decoded.
        :raises CommandError: There is no such trace ID.
        """
        newest = self.records[-1]
        chosen = newest.choose(self._decode(newest, trace_id), trace_id)
        if trace_id is None and not len(chosen.history):
            chosen = next(filter(lambda one: len(one.history), map(self._first, self.records[::-1])), chosen)
        core = self._grown(chosen.trace_id)
        if core.recording.length > limit.instructions and len(self.records) > 1:
            self._drop(core.excess(int(limit.instructions * _KEPT)))
            core = self._grown(chosen.trace_id)
        return core.decoded(self._meter)

    def grow(self) -> None:
        """Add the newest capture to the history while it is decoded.

        That is left for later where many before it are not in it yet.

        :raises CaptureError: Nothing in it can be decoded.
        """
        newest = self._first(self.records[-1])
        core = self._cores.get(newest.trace_id)
        if len(self.records) - (core.count if core is not None else 0) <= KEPT:
            self._grown(newest.trace_id)

    def has_made(self, decoded: Decoded) -> bool:
        """Check whether a history is one of these captures together."""
        return any(core.is_of(decoded) for core in self._cores.values())

    def _first(self, record: CaptureRecord) -> Decoded:
        return record.choose(self._decode(record, None), None)

    def _grown(self, trace_id: int) -> "_Core":
        core = self._cores.setdefault(trace_id, _Core(self.dropped > 0))
        for record in self.records[core.count :]:
            try:
                found = self._decode(record, trace_id if core.parts else None).get(trace_id)
            except CaptureError:
                found = None
            core.add(record, found)
        return core


class _Joined(NamedTuple):
    # A capture that is part of a core's history.

    record: CaptureRecord
    # What is known of its ends, if the trace reaches so far.
    anchored: Anchored
    doubt: Doubt
    # The number of its last instruction.
    last: int


class _Core:
    # The history of one core.

    def __init__(self, has_older: bool) -> None:
        self.recording = JoinedRecording(has_older)
        # How many captures were looked at.
        self.count = 0
        self.parts: List[_Joined] = []
        # What of the newest holds for the whole.
        self._newest: Optional[Decoded] = None
        self._unseen = ""
        # Named positions, and the newest history, which has them.
        self._marks: Dict[str, int] = {}
        self._decoded: Optional[Decoded] = None
        # What is known of how calls are found; the next history begins alike.
        self._steps: Optional[StepMemory] = None

    def add(self, record: CaptureRecord, found: Optional[Decoded]) -> None:
        self.count += 1
        if self._decoded is not None:
            self._steps = self._decoded.steps
        self._decoded = None
        if found is None:
            self._unseen = self._unseen or record.unseen or _NOTHING % record.number
            return
        if self._newest is not None and self._newest.program.identity() != found.program.identity():
            # Another program: its history begins here.
            self.recording, self.parts, self._steps = JoinedRecording(), [], None
            self._marks.clear()
        anchored = found.anchored
        if anchored.after(found.history) is None and not _has_stood_still(anchored, found.history):
            anchored = anchored._replace(end=None)
        if anchored.before(found.history) is None:
            anchored = anchored._replace(begin=None)
        unseen, self._unseen = self._unseen or record.unseen or self._moved(found.anchored.begin), ""
        halted_at = anchored.end.pc if anchored.end is not None else None
        begin = found.anchored.begin
        is_whole = found.anchored.is_whole and found.history.end_reason is BufferEnd.STARTED
        self.recording.add(
            Part(
                found.history,
                len(record.capture.buffer),
                halted_at,
                unseen,
                record.capture.ran,
                begin.pc if is_whole and begin is not None else None,
                found.anchored.is_whole and found.anchored.is_untouched,
            )
        )
        self.parts.append(_Joined(record, anchored, found.doubt, self.recording.length))
        self._newest = found

    def _moved(self, begin: Optional[Anchor]) -> str:
        halt = self.parts[-1].anchored.end if self.parts else None
        return _MOVED if halt is not None and begin is not None and begin.pc != halt.pc else ""

    def excess(self, most: int) -> int:
        # How many captures there are before the newest that hold so many instructions.
        for record, _, _, last in self.parts[:-1]:
            if self.recording.length - last <= most:
                return self.count - next(at for at, one in enumerate(self.parts[::-1]) if one.record is record)
        return self.count - 1

    @property
    def walk(self) -> Optional[Walk]:
        return self._decoded.walk if self._decoded is not None else None

    def is_of(self, decoded: Decoded) -> bool:
        return self._decoded is decoded

    def forget_symbols(self) -> None:
        self._steps = None
        if self._decoded is not None:
            self._decoded.forget_symbols()

    def decoded(self, meter: Meter) -> Decoded:
        if self._decoded is None:
            newest = self._newest
            assert newest is not None
            found = Decoded(self.recording.history(newest.history), meter, self._anchored(), newest.trace_id)
            doubts = [one.doubt for one in self.parts]
            unread = next((doubt.unread for doubt in doubts if doubt.unread is not None), None)
            found.doubt = Doubt(set().union(*(doubt.addresses for doubt in doubts)), unread)
            found.halts = {one.last: one.record.origin for one in self.parts}
            found.marks, found.steps = self._marks, self._steps
            self._decoded = found
        return self._decoded

    def _anchored(self) -> Anchored:
        first, last = self.parts[0].anchored, self.parts[-1].anchored
        touched: List[Tuple[int, int]] = []
        halts: List[Tuple[int, Optional[Anchor], Optional[Anchor]]] = []
        before, end = 0, first.end
        for record, anchored, _, until in self.parts:
            if before and not record.follows_untouched:
                touched.append((before, before))
            if not (anchored.is_whole and anchored.is_untouched) and until > before + 1:
                touched.append((before + 1, until - 1))
            halts.append((before, end, anchored.begin))
            end = anchored.end
            before = until
        return Anchored(first.begin, last.end, last.is_whole, True, tuple(touched), tuple(halts[1:]))


def _has_stood_still(anchored: Anchored, history: ExecutionHistory) -> bool:
    # Whether the core was let go and halted before an instruction ran: its state is that after what ran before.
    begin, end = anchored.begin, anchored.end
    if len(history) or not anchored.is_whole or begin is None or end is None or begin.pc != end.pc:
        return False
    return all(not isinstance(event, Gap) or event.reason is GapReason.TRACE_ON for event in history.events)
