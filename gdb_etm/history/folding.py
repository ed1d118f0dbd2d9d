"""Calls folded: each of a function's calls as one line.

Open are the function that the position is in and its callers, as far as they are seen.
"""

from __future__ import annotations

from itertools import groupby
from typing import AbstractSet, Iterator, List, NamedTuple, Sequence, Tuple, Union

from gdb_etm.history.calls import Entry, Interrupt, Segment, ThreadSwitch
from gdb_etm.history.entries import Entered

# More than any level.
_DEEPEST = 1 << 30


class Unfolded(NamedTuple):
    """Instructions that are listed."""

    # The numbers of the first one and of the last one.
    first: int
    last: int


class Fold(NamedTuple):
    """A call, or an exception with its handler, as one line."""

    # The numbers of its first instruction and of its last one.
    first: int
    last: int
    # What it begins with.
    entry: Union[Segment, Interrupt]


# What has a line, or lines.
Item = Union[Unfolded, Fold]
_Numbered = Union[Segment, Interrupt]


def folded(entries: Sequence[Entry], at: int, opened: AbstractSet[int]) -> List[Item]:
    """Fold the calls in a part of a call history.

    :param entries: The part.
    :param at: Index of the entry that the position is in.
    :param opened: The first instructions of calls that are open all the same.
    """
    open_ones = {at, *_outward(entries, range(at, -1, -1)), *_outward(entries, range(at, len(entries)))}
    numbered = [(one, index in open_ones) for index, one in enumerate(entries) if isinstance(one, (Segment, Interrupt))]
    joined: List[Item] = []
    for item in _items(numbered, opened):
        if joined and isinstance(item, Unfolded) and isinstance(joined[-1], Unfolded):
            item = Unfolded(joined.pop().first, item.last)
        joined.append(item)
    return joined


def _outward(entries: Sequence[Entry], order: range) -> Iterator[int]:
    # Those that are as far out as all between them and the position.
    level = entries[order[0]].level
    for index in order[1:]:
        entry = entries[index]
        if isinstance(entry, ThreadSwitch):
            # In the thread before it the handler that switched is a fold.
            level = entries[index - 1].level - 1 if order.step < 0 and index else _DEEPEST
        elif entry.level <= level:
            level = entry.level
            yield index


def _items(entries: Sequence[Tuple[_Numbered, bool]], opened: AbstractSet[int]) -> Iterator[Item]:
    for is_open, group in groupby(entries, key=lambda one: one[1]):
        found = [entry for entry, _ in group]
        if is_open:
            yield from (Unfolded(entry.first, entry.last) for entry in found if isinstance(entry, Segment))
            continue
        outermost = min(entry.level for entry in found)
        # Calls that follow each other are folds of their own.
        begins = [0, *(at for at in range(1, len(found)) if found[at].level == outermost and _is_begin(found[at]))]
        for begin, end in zip(begins, [*begins[1:], len(found)]):
            yield from _fold(found[begin:end], outermost, opened)


def _is_begin(entry: _Numbered) -> bool:
    return isinstance(entry, Interrupt) or entry.entered in (Entered.CALL, Entered.TAIL_CALL)


def _fold(entries: Sequence[_Numbered], outermost: int, opened: AbstractSet[int]) -> Iterator[Item]:
    segments = [entry for entry in entries if isinstance(entry, Segment)]
    if segments and segments[0].first in opened:
        yield from _items([(entry, entry.level == outermost) for entry in entries], opened)
    elif segments:
        yield Fold(segments[0].first, segments[-1].last, entries[0])
