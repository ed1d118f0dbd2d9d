"""Events as columns of numbers, and back."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.history.columns import ColumnError, ColumnReader, Writer
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    DataGap,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Timestamp,
    TraceEvent,
)

_REASONS = tuple(GapReason)
# Of the columns: kind, which of the numbers are there, the offset, three numbers, the string.
_TYPES = "BBQQQQI"


class _Row(NamedTuple):
    # What an event holds beside its offset; None is a number that is not there.
    first: Optional[int] = None
    second: Optional[int] = None
    third: Optional[int] = None
    text: str = ""


def _gap(event: Event) -> _Row:
    assert isinstance(event, Gap)
    return _Row(_REASONS.index(event.reason), event.address, None, event.detail)


def _data_gap(event: Event) -> _Row:
    assert isinstance(event, DataGap)
    return _Row(_REASONS.index(event.reason), None, None, event.detail)


def _exception(event: Event) -> _Row:
    assert isinstance(event, Exception_)
    return _Row(event.number, event.vector, event.return_address, event.name)


def _context(event: Event) -> _Row:
    assert isinstance(event, Context)
    level = 0 if event.exception_level is None else 1 + event.exception_level
    packed = level << 2 | event.non_secure << 1 | event.sixty_four_bit
    return _Row(packed, event.context_id, event.vmid)


def _timestamp(event: Event) -> _Row:
    assert isinstance(event, Timestamp)
    return _Row(event.value, event.cycles)


def _cycles(event: Event) -> _Row:
    assert isinstance(event, Cycles)
    return _Row(event.cycles)


def _trace_event(event: Event) -> _Row:
    assert isinstance(event, TraceEvent)
    return _Row(event.number)


def _reason(number: Optional[int]) -> GapReason:
    if number is None or number >= len(_REASONS):
        raise ColumnError("a gap without a reason")
    return _REASONS[number]


def _read_context(offset: int, row: _Row) -> Context:
    packed = row.first or 0
    level = (packed >> 2) - 1 if packed >> 2 else None
    return Context(offset, level, bool(packed & 2), bool(packed & 1), row.second, row.third)


class _Kind(NamedTuple):
    # How events of a class become rows, and back.
    kind: type
    write: Callable[[Event], _Row]
    read: Callable[[int, _Row], Event]


_KINDS: Tuple[_Kind, ...] = (
    _Kind(Gap, _gap, lambda offset, row: Gap(offset, _reason(row.first), row.text, row.second)),
    _Kind(DataGap, _data_gap, lambda offset, row: DataGap(offset, _reason(row.first), row.text)),
    _Kind(
        Exception_,
        _exception,
        lambda offset, row: Exception_(offset, row.first or 0, row.text, row.second, row.third),
    ),
    _Kind(ExceptionReturn, lambda event: _Row(), lambda offset, row: ExceptionReturn(offset)),
    _Kind(Context, _context, _read_context),
    _Kind(Timestamp, _timestamp, lambda offset, row: Timestamp(offset, row.first or 0, row.second)),
    _Kind(Cycles, _cycles, lambda offset, row: Cycles(offset, row.first)),
    _Kind(TraceEvent, _trace_event, lambda offset, row: TraceEvent(offset, row.first or 0)),
)


def write_events(out: Writer, events: Iterable[Event]) -> None:
    """Write events.

    :raises OverflowError: An event holds a number of more than 64 bits.
    """
    numbers = {kind.kind: number for number, kind in enumerate(_KINDS)}
    texts: Dict[str, int] = {}
    rows: List[Tuple[int, ...]] = []
    for event in events:
        number = numbers[type(event)]
        first, second, third, text = _KINDS[number].write(event)
        given = (first is not None) | (second is not None) << 1 | (third is not None) << 2
        where = texts.setdefault(text, len(texts))
        rows.append((number, given, event.offset, first or 0, second or 0, third or 0, where))
    columns = zip(*rows) if rows else ((),) * len(_TYPES)
    for typecode, column in zip(_TYPES, columns):
        out.column(typecode, column)
    out.texts(texts)


def read_events(data: ColumnReader, offset_of: Callable[[int], int]) -> Iterator[Event]:
    """Read events.

    :param offset_of: Makes the offset of what was the offset.
    :raises ColumnError: They are malformed.
    """
    columns = data.columns(_TYPES)
    texts = data.texts()
    for number, given, offset, first, second, third, text in zip(*columns):
        if number >= len(_KINDS) or text >= len(texts):
            raise ColumnError("an event that is none")
        row = _Row(
            first if given & 1 else None, second if given & 2 else None, third if given & 4 else None, texts[text]
        )
        yield _KINDS[number].read(offset_of(offset), row)
