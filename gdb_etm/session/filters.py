"""The filters of a session, with the addresses that they mean."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.session.numbers import count
from gdb_etm.session.places import Locations, required
from gdb_etm.session.request import Range

# Kinds that take locations.
PLACES = ("include", "exclude", "start", "stop")
# Kinds that take variables and addresses of data.
DATA_PLACES = ("data-include", "data-exclude")
# Kinds that take a word; there is at most one filter of each.
STATES: Dict[str, Tuple[str, ...]] = {
    "exceptions": ("on", "off", "only"),
    "secure": ("on", "off"),
    "nonsecure": ("on", "off"),
}
CONTEXT = "context"
LEVEL = "level"
# All kinds.
KINDS = (*PLACES, *STATES, LEVEL, CONTEXT, *DATA_PLACES)

_RANGE = re.compile(r"\*?(0[xX][0-9a-fA-F]+|[0-9]+)-\*?(0[xX][0-9a-fA-F]+|[0-9]+)\Z")
_LEVEL = re.compile(r"(n?s)([0-3])\Z")
_MODES: Dict[str, Tuple[int, bool]] = {"thread": (0, False), "handler": (3, False)}
_PADDING = 4  # bytes between two functions that alignment can make


class Filter(NamedTuple):
    """One filter."""

    number: int
    kind: str
    # What was typed after the kind.
    text: str
    ranges: Tuple[Range, ...] = ()
    # Addresses that start or stop the trace.
    points: Tuple[int, ...] = ()
    contexts: Tuple[int, ...] = ()
    # Exception levels, each with whether it is Non-secure.
    levels: Tuple[Tuple[int, bool], ...] = ()

    def __str__(self) -> str:
        return "%s %s" % (self.kind, self.text)


class FilterSet:
    """Filters, numbered like breakpoints: a number is never given twice."""

    def __init__(self) -> None:
        self.filters: List[Filter] = []
        self._last = 0
        self._stale = False

    def made(self, kind: str, text: str, places: Optional[Locations]) -> Filter:
        """Make the next filter, without keeping it.

        :raises CommandError: There is no such place, or it makes no sense.
        """
        return _located(Filter(self._last + 1, kind, text), places)

    def with_filter(self, added: Filter) -> List[Filter]:
        """List all filters and a new one, which may replace another."""
        return [each for each in self.filters if each.kind != added.kind or each.kind not in STATES] + [added]

    def with_texts(
        self, asked: Sequence[Tuple[str, str]], places: Optional[Locations], without: Sequence[int] = ()
    ) -> Tuple[List[Filter], Tuple[int, ...]]:
        """List all filters but some, with several more.

        :param asked: Kinds, each with what would be typed after it.
        :returns: The filters, and the numbers of those that were added.
        :raises CommandError: There is no such kind or place, or it makes no sense.
        """
        kept = FilterSet()
        kept.filters, kept._last = [each for each in self.filters if each.number not in without], self._last
        numbers = []
        for kind, text in asked:
            if kind not in KINDS:
                raise CommandError('"%s" is no filter; they are: %s' % (kind, ", ".join(KINDS)))
            made = kept.made(kind, text, places)
            kept.keep(kept.with_filter(made))
            numbers.append(made.number)
        return kept.filters, tuple(numbers)

    def without(self, numbers: Sequence[int]) -> List[Filter]:
        """List all filters but some.

        :raises CommandError: There is none of such a number.
        """
        for number in numbers:
            if all(each.number != number for each in self.filters):
                raise CommandError('no filter %d; "etm filter list" shows them' % number)
        return [each for each in self.filters if each.number not in numbers]

    @property
    def text(self) -> str:
        """All of them in a line."""
        return "; ".join(str(each) for each in self.filters)

    def keep(self, filters: Sequence[Filter]) -> Callable[[], None]:
        """Make these the session's filters.

        :returns: What takes that back: the number of a filter that was refused is given to the next.
        """
        before, last = self.filters, self._last

        def undo() -> None:
            self.filters, self._last = before, last

        self.filters = list(filters)
        self._last = max([last, *(each.number for each in filters)])
        return undo

    def forget_places(self) -> None:
        """Look locations up again at next use: the symbols have changed."""
        self._stale = True

    def renew(self, places: Optional[Locations]) -> None:
        """Look locations up again if the symbols have changed.

        :raises CommandError: A filter's location is gone.
        """
        if not self._stale:
            return
        renewed = []
        for each in self.filters:
            try:
                renewed.append(_located(each, places))
            except CommandError as error:
                raise CommandError("filter %d (%s): %s" % (each.number, each, error))
        self.filters = renewed
        self._stale = False


class FilterRequest(NamedTuple):
    """What filters ask of a trace unit."""

    include: List[Range]
    exclude: List[Range]
    start_at: List[int]
    stop_at: List[int]
    data_include: List[Range]
    data_exclude: List[Range]
    # Exception levels, each with whether it is Non-secure.
    levels: Tuple[Tuple[int, bool], ...]
    contexts: Tuple[int, ...]
    # A value of :class:`~gdb_etm.traceunit.options.ExceptionTrace`.
    exceptions: str
    secure: bool
    nonsecure: bool


def wanted_of(filters: Sequence[Filter], is_padding: Callable[[int, int], bool]) -> FilterRequest:
    """Put filters together, by what they ask of a trace unit.

    :param is_padding: Tells whether nothing runs from one address up to, without it, another.
    """

    def of(kind: str) -> List[Filter]:
        return [each for each in filters if each.kind == kind]

    def ranges(kind: str) -> List[Range]:
        return [pair for each in of(kind) for pair in each.ranges]

    def word(kind: str, default: str) -> str:
        return next((each.text for each in of(kind)), default)

    return FilterRequest(
        _bridged(ranges("include"), is_padding),
        _bridged(ranges("exclude"), is_padding),
        [address for each in of("start") for address in each.points],
        [address for each in of("stop") for address in each.points],
        ranges("data-include"),
        ranges("data-exclude"),
        tuple(level for each in of(LEVEL) for level in each.levels),
        tuple(context for each in of(CONTEXT) for context in each.contexts),
        word("exceptions", "as others"),
        word("secure", "on") == "on",
        word("nonsecure", "on") == "on",
    )


def commas(text: str) -> List[str]:
    """Split at commas outside brackets, as in a C++ function's arguments."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]]]


def range_of(text: str) -> Optional[Range]:
    """Read ``FIRST-LAST``, also ``*FIRST-*LAST``; None for other words.

    :raises CommandError: The last address is below the first.
    """
    found = _RANGE.match(text)
    if found is None:
        return None
    first, last = int(found.group(1), 0), int(found.group(2), 0)
    if last < first:
        raise CommandError("the range %s ends before it begins" % text)
    return first, last


def _located(found: Filter, places: Optional[Locations]) -> Filter:
    if found.kind in STATES:
        if found.text not in STATES[found.kind]:
            raise CommandError(
                'etm filter %s takes %s, not "%s"' % (found.kind, " or ".join(STATES[found.kind]), found.text)
            )
        return found
    parts = commas(found.text)
    if not all(parts):
        raise CommandError(
            "etm filter %s needs %s"
            % (found.kind, {CONTEXT: "a Context ID", LEVEL: "an exception level"}.get(found.kind, "a location"))
        )
    if found.kind == LEVEL:
        return found._replace(levels=tuple(_level(part) for part in parts))
    if found.kind == CONTEXT:
        return found._replace(contexts=tuple(count(part) for part in parts))
    if found.kind in ("start", "stop"):
        return found._replace(points=tuple(at for part in parts for at in required(places).entries(part)))
    is_data = found.kind in DATA_PLACES
    return found._replace(ranges=tuple(pair for part in parts for pair in _ranges(part, places, is_data)))


def ranges_of(text: str, places: Optional[Locations]) -> List[Range]:
    """Find all the code of locations that are joined by commas.

    :raises CommandError: There is no such place.
    """
    return [pair for part in commas(text) for pair in _ranges(part, places)]


def _level(text: str) -> Tuple[int, bool]:
    found = _LEVEL.match(text)
    if found is None and text not in _MODES:
        raise CommandError('"%s" is no exception level; they are s0 to s3, ns0 to ns3, thread and handler' % text)
    return _MODES[text] if found is None else (int(found.group(2)), found.group(1) == "ns")


def _ranges(text: str, places: Optional[Locations], is_data: bool = False) -> Sequence[Range]:
    found = range_of(text)
    if found is not None:
        return [found]
    return required(places).data(text) if is_data else required(places).code(text)


def _bridged(ranges: Sequence[Range], is_padding: Callable[[int, int], bool]) -> List[Range]:
    # Between neighbouring functions lies what aligns the second; a comparator for both is one less.
    result: List[Range] = []
    for first, last in sorted(ranges):
        gap = first - result[-1][1] - 1 if result else _PADDING
        if gap < _PADDING and (gap <= 0 or is_padding(result[-1][1] + 1, first)):
            result[-1] = result[-1][0], max(last, result[-1][1])
        else:
            result.append((first, last))
    return result
