"""Consecutive captures of one connection, as one history."""

from __future__ import annotations

import re
import sys
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from gdb_etm.errors import CaptureError
from gdb_etm.session.captures import KEPT, CaptureRecord
from gdb_etm.session.core_history import CoreHistory
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.older import OlderPieces
from gdb_etm.session.progress import Meter
from gdb_etm.session.walk import Walk

# Decodes a capture: all its histories by trace ID, or the one.
Decode = Callable[[CaptureRecord, Optional[int]], Dict[int, Decoded]]

# The setting, and its value unless it was set.
HISTORY_LIMIT = "history-limit"
DEFAULT_LIMIT = "20,000,000 64MiB"
_LIMIT = re.compile(r"(?=\S)([1-9][0-9,]*)?(?: ?\b([1-9][0-9,]*) ?MiB)?", re.IGNORECASE)
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
        self._cores: Dict[int, CoreHistory] = {}

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
        cores: Dict[int, CoreHistory] = {}
        for record in pieces:
            for trace_id, found in self._decode(record, None).items():
                cores.setdefault(trace_id, CoreHistory(True)).add(record.placement, found)
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

    def _grown(self, trace_id: int) -> CoreHistory:
        core = self._cores.setdefault(trace_id, CoreHistory(self.dropped > 0))
        for record in self.records[core.count :]:
            try:
                found = self._decode(record, trace_id if core.parts else None).get(trace_id)
            except CaptureError:
                found = None
            core.add(record.placement, found)
        return core
