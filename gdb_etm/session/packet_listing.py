"""Packets of a capture, numbered in buffer order."""

from __future__ import annotations

from collections import deque
from heapq import merge
from itertools import islice
from typing import ContextManager, Deque, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.history.build import SourceStream
from gdb_etm.protocols.packet import Packet
from gdb_etm.session.progress import Meter, Task
from gdb_etm.session.ranges import NumberRange
from gdb_etm.views.text import about_text, plural

# Packets at either end that are kept once they were listed: a big buffer has more than fit in memory.
_KEPT = 1 << 15
# Bytes listed between two looks at the clock.
_TOLD = 1 << 12

# A packet with its trace ID.
Row = Tuple[int, Packet]


def are_several(chosen: Sequence[SourceStream]) -> bool:
    """Tell whether streams have several trace IDs to tell apart."""
    return len({stream.trace_id for stream in chosen}) > 1


def packets_of(chosen: Sequence[SourceStream]) -> Iterator[Row]:
    """Merge the packets of streams in buffer order."""
    return merge(*[_of(stream) for stream in chosen], key=lambda row: row[1].offset)


def _of(stream: SourceStream) -> Iterator[Row]:
    reader = stream.reader
    if reader is None:
        words = "%s %s" % (plural(len(stream.data), "byte"), stream.source.protocol)
        if stream.source.name:
            words = "%s of %s (%s)" % (plural(len(stream.data), "byte"), stream.source.name, stream.source.protocol)
        return iter([(stream.trace_id, Packet(stream.offset_of(0), b"", "not decoded", words))])
    config = reader.config(stream.source)
    of = reader.data.packets if stream.is_data and reader.data is not None else reader.packets
    return ((stream.trace_id, packet) for packet in of(config, stream.data, stream.offset_of))


class Packets:
    """The packets of some streams of a capture.

    :param chosen: The streams.
    :param meter: Watches what takes long.
    """

    def __init__(self, chosen: Sequence[SourceStream], meter: Meter) -> None:
        # What ``etm packets`` showed last.
        self.shown: Optional[NumberRange] = None
        # Whether there are several trace IDs to tell apart.
        self.are_several = are_several(chosen)
        self._chosen = chosen
        self._meter = meter
        self._size = sum(len(stream.data) for stream in chosen)
        with self._task() as task:
            rows = _watched(packets_of(chosen), task)
            self._first: List[Row] = list(islice(rows, _KEPT))
            self._count = len(self._first)
            self._last: Deque[Row] = deque(maxlen=_KEPT)
            for row in rows:
                self._last.append(row)
                self._count += 1

    def __len__(self) -> int:
        return self._count

    def rows(self, shown: NumberRange) -> Iterator[Row]:
        """Give the packets of a window."""
        skipped = self._count - len(self._last)
        if shown.last <= len(self._first):
            yield from self._first[shown.first - 1 : shown.last]
        elif shown.first > skipped:
            yield from islice(self._last, shown.first - 1 - skipped, shown.last - skipped)
        else:
            rows = packets_of(self._chosen)
            with self._task() as task:
                for _ in islice(_watched(rows, task), shown.first - 1):
                    pass
            yield from islice(rows, shown.last - shown.first + 1)

    def _task(self) -> ContextManager[Task]:
        return self._meter.task("listing the packets of %s" % about_text(self._size), self._size)


def _watched(rows: Iterator[Row], task: Task) -> Iterator[Row]:
    size = 0
    for row in rows:
        yield row
        size += len(row[1].raw)
        if size > _TOLD:
            task.advance(size)
            size = 0
