"""A decoder's recording as bytes, and back, from another process.

Ranges, legs and runs are stored once each and referred to by number, as in memory; all else is columns.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Callable, Dict, Iterable, Iterator, List, Sequence, Tuple, TypeVar

from gdb_etm.history.columns import ColumnError, ColumnReader, Writer
from gdb_etm.history.event_columns import read_events, write_events
from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import Event, Range, Transfer
from gdb_etm.protocols.recorder import Chain, DataCounts, Foreseen, Leg, Outcomes, Recorder, Run, RunTable

_ROLES = tuple(TransferRole)
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
    out.column(recorder.marks.typecode, recorder.marks)
    out.column(recorder.mark_positions.typecode, recorder.mark_positions)
    out.column(recorder.event_entries.typecode, recorder.event_entries)
    write_events(out, map(recorder.placed, recorder.events))
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
    found = ColumnReader(data)
    _read_runs(found, recorder.table)
    recorder.order.extend(found.column(recorder.order.typecode, len(recorder.table.runs)))
    recorder.marks.extend(found.column(recorder.marks.typecode, len(recorder.order)))
    recorder.mark_positions.extend(found.column(recorder.mark_positions.typecode))
    entries = found.column(recorder.event_entries.typecode, len(recorder.order) + 1)
    recorder.events += before
    recorder.events += read_events(found, offset_of)
    recorder.event_entries.extend([0] * len(before))
    recorder.event_entries.extend(entries)
    if recorder.order and not (recorder.marks and recorder.marks[0] == 0):
        raise ColumnError("the first entry has no position")
    if len(recorder.marks) != len(recorder.mark_positions) or len(recorder.events) != len(recorder.event_entries):
        raise ColumnError("columns differ in length")
    for column in (entries, recorder.marks):
        if any(after < before for before, after in zip(column, column[1:])):
            raise ColumnError("a column is out of order")
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


def _write_runs(out: Writer, runs: Sequence[Run]) -> None:
    ranges: Dict[Range, int] = {}
    legs: Dict[Leg, int] = {}
    numbers = [[_number(legs, leg) for leg in run.legs] for run in runs]
    members = [[_number(ranges, executed) for executed in leg.ranges] for leg in legs]
    rows = [(one.start, one.end, one.instructions, one.isa << 1 | one.taken) for one in ranges]
    for typecode, column in zip("QQQB", zip(*rows) if rows else ((),) * 4):
        out.column(typecode, column)
    _write_groups(out, members)
    out.column("Q", [run.length for run in runs])
    _write_groups(out, numbers)
    out.column("q", [position for run in runs for position in run.positions])
    _write_groups(out, [run.numbers if isinstance(run, Chain) else () for run in runs])
    foreseen = [one for run in runs for one in run.foreseen]
    out.column("I", [len(run.foreseen) for run in runs])
    out.column("I", [one.leg for one in foreseen])
    out.column("q", [one.position for one in foreseen])
    write_events(out, [one.event._replace(offset=0) for one in foreseen])


def _read_runs(data: ColumnReader, table: RunTable) -> None:
    ranges = [_range(*row) for row in zip(*data.columns("QQQB"))]
    legs = [Leg(tuple(ranges[at] for at in members)) for members in _read_groups(data, len(ranges))]
    lengths = data.column("Q")
    numbers = list(_read_groups(data, len(legs)))
    positions = data.column("q")
    chains = list(_read_groups(data, len(lengths)))
    counts = data.column("I")
    entries, distances, events = data.column("I"), data.column("q"), list(read_events(data, _same))
    foreseen = [Foreseen(*row) for row in zip(entries, distances, events)]
    if not len(lengths) == len(numbers) == len(chains) == len(counts):
        raise ColumnError("columns differ in length")
    if sum(map(len, numbers)) != len(positions) or not sum(counts) == len(entries) == len(distances) == len(events):
        raise ColumnError("columns differ in length")
    ends = accumulate(map(len, numbers))
    event_ends = accumulate(counts)
    for length, group, chain, count, end, event_end in zip(lengths, numbers, chains, counts, ends, event_ends):
        members = [legs[at] for at in group]
        between = tuple(foreseen[event_end - count : event_end])
        if any(one.leg > len(members) for one in between):
            raise ColumnError("an event after no leg")
        if any(at >= len(table.runs) or isinstance(table.runs[at], Chain) for at in chain):
            raise ColumnError("a chain of what are no runs")
        run = Run(length, positions[end - len(group) : end], members, between)
        table.add(Chain(chain, table.runs) if len(chain) else run)


def _same(position: int) -> int:
    return position


def _range(start: int, end: int, instructions: int, flags: int) -> Range:
    isa = flags >> 1
    if isa >= len(Isa) or not 0 < 2 * instructions <= end - start <= 4 * instructions:
        raise ColumnError("a range that cannot be")
    return Range(start, end, instructions, Isa(isa), bool(flags & 1))


def _write_groups(out: Writer, groups: Iterable[Sequence[int]]) -> None:
    kept = list(groups)
    out.column("I", [len(group) for group in kept])
    out.column("I", [member for group in kept for member in group])


def _read_groups(data: ColumnReader, below: int) -> Iterator[Sequence[int]]:
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
    data: ColumnReader, below: int, offset_of: Callable[[int], int]
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
    _write_groups(out, [[index << 1 | passed for index, passed in found] for found in outcomes.values()])


def _read_outcomes(data: ColumnReader, below: int) -> List[Tuple[int, Outcomes]]:
    keys = data.column("Q", below)
    groups = list(_read_groups(data, 1 << 32))
    if len(keys) != len(groups):
        raise ColumnError("columns differ in length")
    return [(key, tuple((one >> 1, bool(one & 1)) for one in group)) for key, group in zip(keys, groups)]
