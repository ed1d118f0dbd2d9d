"""The content of runs at its places in the buffer."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from gdb_etm.protocols.elements import Event, Range
from gdb_etm.protocols.recorder import Run

# Runs at most whose content is kept.
_MOST_KEPT = 1024
# Makes a named tuple of a tuple, three times as fast as its class does.
_new = tuple.__new__


class PlacedItems:
    """Ranges and events of runs, with their offsets in the buffer.

    What comes a second time may come often, so its content is kept for a while.

    :param offset_of: Maps a position in the stream to an offset in the buffer.
    """

    def __init__(self, offset_of: Callable[[int], int]) -> None:
        self._offset_of = offset_of
        # Nothing of a run that has come once.
        self._kept: Dict[Run, Optional[List[Tuple[int, Union[Range, Event]]]]] = {}

    def at(self, run: Run, position: int) -> Iterator[Tuple[int, Union[Range, Event]]]:
        """Go through a run at a position in the stream."""
        kept = self._kept
        items: Optional[Iterable[Tuple[int, Union[Range, Event]]]] = kept.get(run)
        if items is None:
            items = run.items()
            if run in kept:
                items = kept[run] = list(items)
            else:
                if len(kept) >= _MOST_KEPT:
                    kept.clear()
                kept[run] = None
        # Atoms left over of the packet before a run are one byte before it.
        before: Optional[int] = None
        offset = 0
        for distance, item in items:
            if distance != before:
                offset, before = self._offset_of(position + distance), distance
            yield offset, item if isinstance(item, Range) else _new(item.__class__, (offset, *item[1:]))
