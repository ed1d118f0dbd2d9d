"""A decoder's recording as bytes, and back: how one made by another process comes here.

Ranges, legs and runs are stored once each and referred to by number, as in memory; all else is columns.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Callable, Dict, Iterable, Iterator, List, Sequence, Tuple, TypeVar

from gdb_etm.history.columns import ColumnError, Reader, Writer
from gdb_etm.history.event_columns import read_events, write_events
from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import Role
from gdb_etm.protocols.elements import Event, Range, Transfer
from gdb_etm.protocols.recorder import DataCounts, Leg, Outcomes, Recorder, Run

_ROLES = tuple(Role)
_STORES = (False, True, None)
_UNSIZED = 0xFF
_WORD = (1 << 64) - 1

T = TypeVar("T")


def write_recording(recorder: Recorder) -> bytes:
    """Write a recording.

    :raises OverflowError: It holds a number of more than 64 bits.
    """
    out = Writer()
    _write_runs(out, recorder.table.runs)
    out.column(recorder.order.typecode, recorder.order)
    out.column(recorder.positions.typecode, recorder.positions)
    out.column("Q", recorder.event_places)
    write_events(out, recorder.events)
    _write_transfers(out, recorder.transfers)
    _write_transfers(out, recorder.event_transfers)
    out.column("Q", recorder.data_counts or ())
    _write_outcomes(out, recorder.outcomes)
    return out.written()


def read_recording(data: bytes, recorder: Recorder, before: Sequence[Event], offset_of: Callable[[int], int]) -> None:
    """Read a recording into an empty recorder with an empty table.

    :param data: What :func:`write_recording` made.
    :param before: Events that come before those of the recording.
    :param offset_of: Makes offsets in the capture's buffer of the offsets in the recording.
    :raises ColumnError: It is malformed.
    """
    found = Reader(data)
    runs = _read_runs(found)
    recorder.table.runs += runs
    recorder.order.extend(found.column(recorder.order.typecode, len(runs)))
    recorder.positions.extend(found.column(recorder.positions.typecode))
    places = found.column("Q", len(recorder.order) + 1)
    recorder.events += before
    recorder.events += read_events(found, offset_of)
    recorder.event_places += [0] * len(before)
    recorder.event_places += places
    if len(recorder.positions) != len(recorder.order) or len(recorder.events) != len(recorder.event_places):
        raise ColumnError("columns differ in length")
    if any(after < place for place, after in zip(places, places[1:])):
        raise ColumnError("events are out of order")
    recorder.transfers.update(_read_transfers(found, len(recorder.order), offset_of))
    moved = _read_transfers(found, len(recorder.events) - len(before), offset_of)
    recorder.event_transfers.update((at + len(before), kept) for at, kept in moved)
    counts = found.column("Q")
    if len(counts) not in (0, len(DataCounts._fields)):
        raise ColumnError("columns differ in length")
    recorder.data_counts = DataCounts(*counts) if len(counts) else None
    recorder.outcomes.update(_read_outcomes(found, len(recorder.order)))
    found.end()


def _number(things: Dict[T, int], thing: T) -> int:
    return things.setdefault(thing, len(things))


def _write_runs(out: Writer, runs: Iterable[Run]) -> None:
    ranges: Dict[Range, int] = {}
    legs: Dict[Leg, int] = {}
    counts: List[int] = []
    positions: List[int] = []
    numbers: List[int] = []
    for run in runs:
        counts.append(len(run.legs))
        positions += run.positions
        numbers += [_number(legs, leg) for leg in run.legs]
    members = [[_number(ranges, executed) for executed in leg.ranges] for leg in legs]
    rows = [(one.start, one.end, one.instructions, one.isa << 1 | one.taken) for one in ranges]
    for typecode, column in zip("QQQB", zip(*rows) if rows else ((),) * 4):
        out.column(typecode, column)
    _write_groups(out, members)
    out.column("I", counts)
    out.column("Q", positions)
    out.column("I", numbers)


def _read_runs(data: Reader) -> List[Run]:
    ranges = [_range(*row) for row in zip(*data.columns("QQQB"))]
    legs = [Leg(tuple(ranges[at] for at in members)) for members in _read_groups(data, len(ranges))]
    counts = data.column("I")
    positions = data.column("Q")
    numbers = data.column("I", len(legs))
    if not sum(counts) == len(positions) == len(numbers):
        raise ColumnError("columns differ in length")
    ends = list(accumulate(counts))
    return [
        Run(tuple(positions[end - count : end]), tuple([legs[at] for at in numbers[end - count : end]]))
        for count, end in zip(counts, ends)
    ]


def _range(start: int, end: int, instructions: int, flags: int) -> Range:
    isa = flags >> 1
    if isa >= len(Isa) or not 0 < 2 * instructions <= end - start <= 4 * instructions:
        raise ColumnError("a range that cannot be")
    return Range(start, end, instructions, Isa(isa), bool(flags & 1))


def _write_groups(out: Writer, groups: Iterable[Sequence[int]]) -> None:
    kept = list(groups)
    out.column("I", [len(group) for group in kept])
    out.column("I", [member for group in kept for member in group])


def _read_groups(data: Reader, below: int) -> Iterator[Sequence[int]]:
    counts = data.column("I")
    members = data.column("I", below)
    if sum(counts) != len(members):
        raise ColumnError("columns differ in length")
    for count, end in zip(counts, accumulate(counts)):
        yield members[end - count : end]


def _write_transfers(out: Writer, transfers: Dict[int, Tuple[Transfer, ...]]) -> None:
    out.column("Q", transfers)
    out.column("I", [len(found) for found in transfers.values()])
    rows = [_transfer_row(one) for found in transfers.values() for one in found]
    for typecode, column in zip("QBBBQQQ", zip(*rows) if rows else ((),) * 7):
        out.column(typecode, column)


def _transfer_row(transfer: Transfer) -> Tuple[int, ...]:
    known = (transfer.address is not None) | (transfer.value is not None) << 1 | transfer.certain << 2
    value = transfer.value or 0
    return (
        transfer.offset,
        _STORES.index(transfer.store),
        _UNSIZED if transfer.size is None else transfer.size,
        known | _ROLES.index(transfer.role) << 3,
        transfer.address or 0,
        value & _WORD,
        value >> 64,
    )


def _read_transfers(
    data: Reader, below: int, offset_of: Callable[[int], int]
) -> List[Tuple[int, Tuple[Transfer, ...]]]:
    keys, counts = data.column("Q", below), data.column("I")
    rows = [_transfer(offset_of, *row) for row in zip(*data.columns("QBBBQQQ"))]
    if len(keys) != len(counts) or sum(counts) != len(rows):
        raise ColumnError("columns differ in length")
    ends = accumulate(counts)
    return [(key, tuple(rows[end - count : end])) for key, count, end in zip(keys, counts, ends)]


def _transfer(
    offset_of: Callable[[int], int], offset: int, store: int, size: int, flags: int, address: int, low: int, high: int
) -> Transfer:
    if store >= len(_STORES) or flags >> 3 >= len(_ROLES):
        raise ColumnError("a transfer that is none")
    return Transfer(
        offset_of(offset),
        _STORES[store],
        None if size == _UNSIZED else size,
        address if flags & 1 else None,
        high << 64 | low if flags & 2 else None,
        bool(flags & 4),
        _ROLES[flags >> 3],
    )


def _write_outcomes(out: Writer, outcomes: Dict[int, Outcomes]) -> None:
    out.column("Q", outcomes)
    _write_groups(out, [[place << 1 | passed for place, passed in found] for found in outcomes.values()])


def _read_outcomes(data: Reader, below: int) -> List[Tuple[int, Outcomes]]:
    keys = data.column("Q", below)
    groups = list(_read_groups(data, 1 << 32))
    if len(keys) != len(groups):
        raise ColumnError("columns differ in length")
    return [(key, tuple((one >> 1, bool(one & 1)) for one in group)) for key, group in zip(keys, groups)]
