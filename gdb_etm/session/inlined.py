"""The inlined functions that ran in a segment of the function listing."""

from __future__ import annotations

from typing import Dict, Iterator, Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.history.calls import Segment
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.session.places import ReplayPlaces
from gdb_etm.views.history import FunctionRow


def with_inlined(
    places: Optional[ReplayPlaces], history: ExecutionHistory, rows: Iterator[FunctionRow]
) -> Iterator[FunctionRow]:
    """Give rows with the inlined functions that ran in each.

    They are in the order in which they began.

    :raises CommandError: There is no debugger that knows them.
    """
    if places is None:
        raise CommandError("inlined functions need a debugger's symbols")
    names = _InlinedNames(places, history)
    return (row._replace(inlined=names.of(row.entry)) if isinstance(row.entry, Segment) else row for row in rows)


class _InlinedNames:
    # Looked up once for each executed range.

    def __init__(self, places: ReplayPlaces, history: ExecutionHistory) -> None:
        self._places = places
        self._history = history
        self._known: Dict[Tuple[int, int], Tuple[str, ...]] = {}

    def of(self, segment: Segment) -> Tuple[str, ...]:
        # A dictionary keeps the order.
        found: Dict[str, None] = {}
        for item in self._history.spans(segment.first, segment.last):
            if isinstance(item, Span):
                found.update(dict.fromkeys(self._in(item)))
        return tuple(found)

    def _in(self, span: Span) -> Tuple[str, ...]:
        key = (span.range.start, span.range.end)
        if key not in self._known:
            addresses = self._history.addresses(span.range)
            found = (one.name for address in addresses for one in self._places.inlined_at(address))
            self._known[key] = tuple(dict.fromkeys(found))
        return self._known[key]
