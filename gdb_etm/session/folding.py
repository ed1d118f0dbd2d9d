"""Lines of a history around a place in it, with calls folded."""

from __future__ import annotations

from itertools import accumulate
from typing import AbstractSet, Iterator, List, NamedTuple, Sequence, Tuple

from gdb_etm.history.calls import Break, Entry, Interrupt, Segment
from gdb_etm.history.folding import Fold, Item, Unfolded, folded
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.listing import event_rows, history_rows, with_switches
from gdb_etm.session.ranges import NumberRange
from gdb_etm.views.history import FoldRow, ListedLine, Row, listed_lines
from gdb_etm.views.text import exception_text, plural

# So many entries on each side are looked at first, and at most.
_FEW, _MOST = 32, 2048


class Around(NamedTuple):
    """Which lines are wanted."""

    # The position: an instruction's number, 0 before the first one, one more than there are at the end.
    here: int
    # The instruction in the middle.
    middle: int
    # How many lines on each side of it, if there are so many.
    lines: int
    # The first instructions of calls that are not to be folded.
    opened: AbstractSet[int]


class _Part(NamedTuple):
    # A part of the call history, folded.
    entries: Sequence[Entry]
    items: Sequence[Item]
    # Whether the history goes on before it, and after it.
    is_cut: Tuple[bool, bool]


def lines_around(debugger: Debugger, decoded: Decoded, wanted: Around) -> List[ListedLine]:
    """List what is around a place in a history."""
    length = len(decoded.history)
    if not length:
        return list(listed_lines(event_rows(debugger, decoded)))
    middle = min(max(wanted.middle, 1), length)
    reach = _FEW
    while True:
        part = _folded(debugger, decoded, wanted, middle, reach)
        if _reaches(part, middle, wanted.lines) or reach >= _MOST:
            return list(listed_lines(_rows(debugger, decoded, part, middle, wanted.lines), wanted.here))
        reach *= 4


def _folded(debugger: Debugger, decoded: Decoded, wanted: Around, middle: int, reach: int) -> _Part:
    calls = decoded.calls(debugger.function_at)
    here = min(max(wanted.here, 1), len(decoded.history))
    first = max(1, calls.at(min(here, middle)) - reach)
    last = min(len(calls), calls.at(max(here, middle)) + reach)
    entries = list(calls.entries(first, last))
    at = next(index for index, one in enumerate(entries) if isinstance(one, Segment) and one.last >= here)
    return _Part(entries, folded(entries, at, wanted.opened), (first > 1, last < len(calls)))


def _reaches(part: _Part, middle: int, lines: int) -> bool:
    # Whether there are enough lines, or no more; what is cut in two does not count.
    begin, end = part.is_cut
    before = sum([_lines(one, one.first, middle) for one in part.items[begin:]])
    after = sum([_lines(one, middle, one.last) for one in part.items[: len(part.items) - end]])
    return (before > lines or not begin) and (after > lines or not end)


def _lines(item: Item, first: int, last: int) -> int:
    # How many lines of an item at least are within some numbers.
    count = min(last, item.last) - max(first, item.first) + 1
    return max(0, count) if isinstance(item, Unfolded) else int(count > 0)


def _rows(debugger: Debugger, decoded: Decoded, part: _Part, middle: int, lines: int) -> Iterator[Row]:
    length = len(decoded.history)
    befores = [0, *accumulate([_lines(one, one.first, middle - 1) for one in part.items])]
    afters = [0, *accumulate([_lines(one, middle, one.last) for one in part.items])]
    for at, item in enumerate(part.items):
        # Lines between it and the middle.
        before, after = befores[-1] - befores[at + 1], afters[at]
        if before >= lines or after >= lines:
            continue
        if isinstance(item, Fold):
            is_cut = part.is_cut[0] and not at or part.is_cut[1] and at + 1 == len(part.items)
            yield _fold_row(decoded, part.entries, item, is_cut)
            continue
        first = max(item.first, min(item.last + 1, middle) - (lines - before))
        last = min(item.last, max(item.first - 1, middle) + (lines - after))
        rows = history_rows(debugger, decoded, NumberRange(first, last), "", no_trailing=last < length)
        yield from with_switches(debugger, decoded, NumberRange(first, last), rows)


def _fold_row(decoded: Decoded, entries: Sequence[Entry], fold: Fold, is_cut: bool) -> FoldRow:
    breaks = {one.after for one in entries if isinstance(one, Break) and fold.first - 1 <= one.after < fold.last}
    halts = sum(1 for after in breaks if after in decoded.halts)
    words = [plural(fold.last - fold.first + 1, "instruction") + (" and more" if is_cut else "")]
    words += [plural(halts, "halt")] if halts else []
    words += [plural(len(breaks) - halts, "gap")] if len(breaks) > halts else []
    return FoldRow(fold.first, _name(fold), ", ".join(words))


def _name(fold: Fold) -> str:
    entry = fold.entry
    if isinstance(entry, Interrupt):
        return "<%s>" % exception_text(entry.event)
    return entry.function.name if entry.function is not None else "?? at 0x%08x" % entry.address
