"""Which address comparators of an ETMv3 or a PTM do what.

IHI 0014Q, 2.7 and 3.5; IHI 0035B, 3.4.3.  A range ends before its second comparator's address.  Ranges take the last
pairs; single addresses take single comparators from the other end.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.registers import etmv3_comparators as comparators
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.armv7.plan import write
from gdb_etm.traceunit.dwt_match import past
from gdb_etm.traceunit.events import Accessed, AccessType, Event, Executed, ExecutedIn
from gdb_etm.traceunit.options import AddressRange
from gdb_etm.traceunit.plan import RegisterWrite, Taken

_ALL_BITS = 0xFFFFFFFF
_TYPES = {
    AccessType.EITHER: comparators.TYPE_TRANSFER,
    AccessType.LOAD: comparators.TYPE_TRANSFER + 1,
    AccessType.STORE: comparators.TYPE_TRANSFER + 2,
}
_EQUAL, _DIFFERS = 1, 3  # of ETMACTR.DataMatch
_WORD_BYTES = 4


class AddressMatches(NamedTuple):
    """What is to be compared with addresses."""

    ranges: Sequence[AddressRange]
    # Whether the ranges are those that are not traced.
    excludes: bool
    data: Sequence[AddressRange]
    data_exclude: Sequence[AddressRange]
    start: Tuple[int, ...]
    stop: Tuple[int, ...]
    # Events of addresses, whatever they do.
    events: Tuple[Event, ...]


class Allotted(NamedTuple):
    """Which comparators do what."""

    # To the unit's own comparators.
    writes: Tuple[RegisterWrite, ...] = ()
    # Mask of the pairs that say what is traced.
    pairs: int = 0
    # Numbers of the pairs, from 0, whose loads and stores are traced.
    data: Tuple[int, ...] = ()
    data_exclude: Tuple[int, ...] = ()
    # Mask of the single comparators that start the trace, of the unit's own or of the DWT's.
    start: int = 0
    stop: int = 0
    # Numbers of the resources that the events drive.
    numbers: Dict[Event, int] = {}
    # Comparators of the DWT that match where something is traced, or is not.
    watching: Tuple[int, ...] = ()
    # Writes to the DWT.
    dwt: Tuple[RegisterWrite, ...] = ()
    taken: Tuple[Taken, ...] = ()
    notes: Tuple[str, ...] = ()


class _Row(NamedTuple):
    address: int
    access: int
    size: int
    why: str
    data_match: int = 0


_UNUSED = _Row(0, comparators.TYPE_EXECUTE, 0, "address comparator unused")


def by_comparators(asked: AddressMatches, capabilities: Armv7Capabilities) -> Allotted:
    """Give each range and each address comparators of the unit.

    :raises UnsupportedError: It has too few, or cannot compare what is asked for.
    """
    events = list(asked.events)
    ranged = [event for event in events if not _is_single(event)]
    # A data value is compared beside the first comparator of a pair, so these come first.
    single = sorted((event for event in events if _is_single(event)), key=lambda event: not _has_value(event))
    of_data = [*asked.data, *asked.data_exclude]
    pairs = capabilities.pairs
    points = asked.start + asked.stop
    needed = len(asked.ranges) + len(of_data) + len(ranged) + _pairs_for(single, len(points))
    if needed > pairs:
        raise UnsupportedError(
            "this unit has %d pair%s of address comparators (ETMCCR.AddrPairs); the filters need %d"
            % (pairs, "" if pairs == 1 else "s", needed),
            "ETMCCR.AddrPairs",
        )
    _check_events(events, capabilities)
    last = iter(range(pairs - 1, -1, -1))
    own, data, others = ([next(last) for _ in rows] for rows in (asked.ranges, of_data, ranged))
    table = {n: _UNUSED for n in range(1, 2 * pairs + 1)}
    for index, pair in zip(own, asked.ranges):
        _put_range(table, index, pair, comparators.TYPE_EXECUTE, "range %s" % (pair,))
    for index, pair in zip(data, of_data):
        _put_range(table, index, pair, comparators.TYPE_TRANSFER, "loads and stores at %s" % (pair,))
    for index, event in zip(others, ranged):
        _put_range(table, index, _where(event), _type(event), str(event))
    numbers: Dict[Event, int] = {event: etmv3.RESOURCE_RANGE + index for event, index in zip(ranged, others)}
    free = _singles(single, 2 * pairs)
    values: List[RegisterWrite] = []
    for event in single:
        n = next(free)
        table[n] = _row_of(event)
        numbers[event] = n - 1
        values += _value_writes(event, n, capabilities)
    masks = [0, 0]
    taken = _taken(asked, own, data)
    for at, address in enumerate(points):
        starts, n = at < len(asked.start), next(free)
        table[n] = _Row(address, comparators.TYPE_EXECUTE, _size(address), "%s 0x%08x" % (_verb(starts), address))
        masks[not starts] |= 1 << n - 1
        taken.append(point(starts, address, "comparator %d" % n))
    taken += [Taken("event", _where(event), "comparator %d" % (numbers[event] + 1)) for event in single]
    taken += [Taken("event", _where(event), "pair %d" % (index + 1)) for event, index in zip(ranged, others)]
    writes = [entry for n, row in table.items() for entry in _comparator(n, row, capabilities)]
    count = len(asked.data)
    return Allotted(
        (*writes, *values),
        sum(1 << n for n in own),
        tuple(data[:count]),
        tuple(data[count:]),
        masks[0],
        masks[1],
        numbers,
        taken=tuple(taken),
    )


def point(starts: bool, address: int, name: str) -> Taken:
    """Say that a comparator starts or stops the trace."""
    return Taken("start" if starts else "stop", AddressRange(address, address), name)


def _verb(starts: bool) -> str:
    return "start at" if starts else "stop at"


def _is_single(event: Event) -> bool:
    where = _where(event)
    return (
        where.first == where.last
        or isinstance(event, Accessed)
        and event.value is not None
        and where.last < (where.first + event.value.size)
    )


def _has_value(event: Event) -> bool:
    return isinstance(event, Accessed) and event.value is not None


def _where(event: Event) -> AddressRange:
    if isinstance(event, Executed):
        return AddressRange(event.address, event.address)
    assert isinstance(event, (ExecutedIn, Accessed))
    return event.where


def _type(event: Event) -> int:
    return _TYPES[event.access] if isinstance(event, Accessed) else comparators.TYPE_EXECUTE


def _pairs_for(single: Sequence[Event], points: int) -> int:
    # A value takes the first comparator of a pair; the second is free for an address.
    values = sum(map(_has_value, single))
    return max(values, (len(single) + points + 1) // 2)


def _singles(single: Sequence[Event], there: int) -> Iterator[int]:
    values = sum(map(_has_value, single))
    first = [2 * n + 1 for n in range(values)]
    return iter(first + [n for n in range(1, there + 1) if n not in first])


def _check_events(events: Sequence[Event], capabilities: Armv7Capabilities) -> None:
    data = [event for event in events if isinstance(event, Accessed)]
    if not data:
        return
    if "DataComps" not in capabilities.page.by_name["ETMCCR"].fields:
        raise UnsupportedError("loads and stores: a PTM does not see them (ETMIDR.Major)", "ETMIDR.Major")
    if capabilities.field("ETMCCER.NoDataComp"):
        raise UnsupportedError(
            "addresses of loads and stores: this unit cannot compare them (ETMCCER.NoDataComp is 1)",
            "ETMCCER.NoDataComp",
        )
    valued = [event for event in data if event.value is not None]
    there = capabilities.field("ETMCCR.DataComps")
    if len(valued) > there:
        raise capabilities.shortage("ETMCCR.DataComps", "data value comparator", there, len(valued))
    for event in valued:
        if not _is_single(event) or event.value is not None and event.value.size != _WORD_BYTES:
            raise UnsupportedError(
                "%s: this unit compares a word at one address with a value (ETMDCVR1.Value)" % (event,),
                "ETMDCVR1.Value",
            )


def _row_of(event: Event) -> _Row:
    address = _where(event).first
    if not isinstance(event, Accessed):
        return _Row(address, comparators.TYPE_EXECUTE, _size(address), str(event))
    if event.value is None:
        return _Row(address, _type(event), comparators.SIZE_BYTE, str(event))
    match = _DIFFERS if event.value.differs else _EQUAL
    return _Row(address, _type(event), comparators.SIZE_WORD, str(event), match)


def _value_writes(event: Event, n: int, capabilities: Armv7Capabilities) -> List[RegisterWrite]:
    if not isinstance(event, Accessed) or event.value is None:
        return []
    index = (n + 1) // 2
    return [
        write(comparators.ETMDCVR[index], event.value.value & ~event.value.ignored, str(event), capabilities),
        write(comparators.ETMDCMR[index], event.value.ignored, str(event), capabilities),
    ]


def _put_range(table: Dict[int, _Row], index: int, pair: AddressRange, access: int, why: str) -> None:
    if access == comparators.TYPE_EXECUTE:
        ends = (pair.first, past(pair))
        size = _size(ends[0] | ends[1])
    else:
        ends, size = (pair.first, min(pair.last + 1, _ALL_BITS)), comparators.SIZE_BYTE
    for n, address in enumerate(ends, 2 * index + 1):
        table[n] = _Row(address, access, size, why)


def _size(address: int) -> int:
    return comparators.SIZE_HALFWORD if address & 3 else comparators.SIZE_WORD


def _comparator(n: int, row: _Row, capabilities: Armv7Capabilities) -> Iterator[RegisterWrite]:
    yield write(comparators.ETMACVR[n], row.address, row.why, capabilities)
    register = capabilities.page.by_name["ETMACTR%d" % n]
    sized = {"Size": row.size, "DataMatch": row.data_match} if "Size" in register.fields else {}
    what = "loads and stores" if row.access >= comparators.TYPE_TRANSFER else "instructions that ran"
    yield write(register, register.encode(Type=row.access, **sized), what, capabilities)


def _taken(asked: AddressMatches, own: Sequence[int], data: Sequence[int]) -> List[Taken]:
    use = "exclude" if asked.excludes else "include"
    taken = [Taken(use, where, "pair %d" % (n + 1)) for n, where in zip(own, asked.ranges)]
    uses = ["data"] * len(asked.data) + ["data-exclude"] * len(asked.data_exclude)
    taken += [
        Taken(what, where, "pair %d" % (n + 1))
        for what, n, where in zip(uses, data, [*asked.data, *asked.data_exclude])
    ]
    return taken
