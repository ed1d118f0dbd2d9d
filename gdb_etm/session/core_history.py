"""The history of one core, of captures that follow each other."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.capture import BufferEnd
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.joined import JoinedRecording, Part
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.decoded import Decoded, Doubt
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.progress import Meter
from gdb_etm.session.walk import Walk

_MOVED = "the debugger moved the core"
_NOTHING = "capture %d holds no trace of it"


class Placement(NamedTuple):
    """How a capture goes on where the one before it ends."""

    number: int
    # Bytes of its buffer.
    size: int
    # Where it was taken, such as ``"halt in main"``.
    origin: str
    # Why the core is not where it was before, or what more ran; empty where neither is so.
    unseen: str
    # How long the core ran since the halt before, in words; may be empty.
    ran: str
    # Whether the debugger changed nothing from the halt before until the core ran on.
    follows_untouched: bool


class _Joined(NamedTuple):
    # A capture that is part of a core's history.

    placement: Placement
    # What is known of its ends, if the trace reaches so far.
    anchored: Anchored
    doubt: Doubt
    # The number of its last instruction.
    last: int


class CoreHistory:
    """The history of one core: captures that follow each other.

    :param has_older: Whether others came before that were left out.
    """

    def __init__(self, has_older: bool) -> None:
        # It grows.
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

    def add(self, placement: Placement, found: Optional[Decoded]) -> None:
        """Add the next capture.

        :param found: None where it holds no trace of the core.
        """
        self.count += 1
        if self._decoded is not None:
            self._steps = self._decoded.steps
        self._decoded = None
        if found is None:
            self._unseen = self._unseen or placement.unseen or _NOTHING % placement.number
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
        unseen, self._unseen = self._unseen or placement.unseen or self._moved(found.anchored.begin), ""
        halted_at = anchored.end.pc if anchored.end is not None else None
        begin = found.anchored.begin
        is_whole = found.anchored.is_whole and found.history.end_reason is BufferEnd.STARTED
        self.recording.add(
            Part(
                found.history,
                placement.size,
                halted_at,
                unseen,
                placement.ran,
                begin.pc if is_whole and begin is not None else None,
                found.anchored.is_whole and found.anchored.is_untouched,
            )
        )
        self.parts.append(_Joined(placement, anchored, found.doubt, self.recording.length))
        self._newest = found

    def _moved(self, begin: Optional[Anchor]) -> str:
        halt = self.parts[-1].anchored.end if self.parts else None
        return _MOVED if halt is not None and begin is not None and begin.pc != halt.pc else ""

    def excess(self, most: int) -> int:
        """Count the captures before the newest that hold so many instructions."""
        for at, part in enumerate(self.parts[:-1], 1):
            if self.recording.length - part.last <= most:
                return self.count - (len(self.parts) - at)
        return self.count - 1

    @property
    def has_any(self) -> bool:
        """Whether any capture holds trace of the core."""
        return bool(self.parts)

    @property
    def walk(self) -> Optional[Walk]:
        """The user's walk through the history, if it was made."""
        return self._decoded.walk if self._decoded is not None else None

    def is_of(self, decoded: Decoded) -> bool:
        """Check whether a history is the one that was given last."""
        return self._decoded is decoded

    def forget_symbols(self) -> None:
        """Forget the names of functions: the symbols have changed."""
        self._steps = None
        if self._decoded is not None:
            self._decoded.forget_symbols()

    def decoded(self, meter: Meter) -> Decoded:
        """Give the history, made at the first look."""
        if self._decoded is None:
            newest = self._newest
            assert newest is not None
            found = Decoded(self.recording.history(newest.history), meter, self._anchored(), newest.trace_id)
            doubts = [one.doubt for one in self.parts]
            unread = next((doubt.unread for doubt in doubts if doubt.unread is not None), None)
            found.doubt = Doubt(set().union(*(doubt.addresses for doubt in doubts)), unread)
            found.halts = {one.last: one.placement.origin for one in self.parts}
            found.marks, found.steps = self._marks, self._steps
            self._decoded = found
        return self._decoded

    def _anchored(self) -> Anchored:
        first, last = self.parts[0].anchored, self.parts[-1].anchored
        touched: List[Tuple[int, int]] = []
        halts: List[Tuple[int, Optional[Anchor], Optional[Anchor]]] = []
        before, end = 0, first.end
        for placement, anchored, _, until in self.parts:
            if before and not placement.follows_untouched:
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
