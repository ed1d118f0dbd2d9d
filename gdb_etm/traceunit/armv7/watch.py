"""DWT comparators for an ETMv3 that has none of its own.

DDI 0403E, C1.8; IHI 0014Q, 2.8 (EmbeddedICE watchpoint inputs).
"""

from __future__ import annotations

from typing import Dict, List, Sequence

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.armv7.comparators import AddressMatches, Allotted, point
from gdb_etm.traceunit.dwt_match import MatchTarget, note
from gdb_etm.traceunit.events import Event, Executed, ExecutedIn
from gdb_etm.traceunit.plan import Taken

_MOST_IN_EVENT = 2  # resources in an event


def by_watchpoints(asked: AddressMatches, capabilities: Armv7Capabilities) -> Allotted:
    """Give each range and each address comparators of the DWT.

    :raises UnsupportedError: Too few are free, or they cannot compare what is asked for.
    """
    if asked.start or asked.stop:
        capabilities.require("ETMCCER.WatchStartStop", "start and stop addresses")
    there = capabilities.dwt
    parts = [block for pair in asked.ranges for block in there.blocks_of(ExecutedIn(pair), "ETMCCR.AddrPairs")]
    rows = [block._replace(why="range %s" % (block.where,)) for block in parts]
    rows += [_point(address, "start at") for address in asked.start]
    rows += [_point(address, "stop at") for address in asked.stop]
    rows += [_event(event, capabilities) for event in asked.events]
    if len(parts) > _MOST_IN_EVENT or len(rows) > len(there.free):
        raise UnsupportedError(_too_many(parts, len(rows), capabilities), "ETMCCR.AddrPairs")
    used = there.free[: len(rows)]
    masks = [1 << number for number in used]
    first, middle, last = len(parts), len(parts) + len(asked.start), len(parts) + len(asked.start) + len(asked.stop)
    numbers: Dict[Event, int] = {event: etmv3.RESOURCE_WATCHPOINT + n for event, n in zip(asked.events, used[last:])}
    watch = tuple(entry for number, row in zip(used, rows) for entry in there.writes(number, row))
    return Allotted(
        start=sum(masks[first:middle]),
        stop=sum(masks[middle:last]),
        numbers=numbers,
        watching=used[:first],
        dwt=watch,
        taken=tuple(_taken(asked, rows, used)),
        notes=(note(used),),
    )


def _point(address: int, verb: str) -> MatchTarget:
    return MatchTarget(address, 1, "%s 0x%08x" % (verb, address))


def _event(event: Event, capabilities: Armv7Capabilities) -> MatchTarget:
    found = capabilities.dwt.blocks_of(event, "ETMCCR.AddrPairs")
    if len(found) != 1:
        raise UnsupportedError(
            "%s: this unit has no address comparators, and one of the DWT's matches one aligned power of two of at most"
            " %d bytes: this is %d of these (ETMCCR.AddrPairs)" % (event, capabilities.dwt.largest, len(found)),
            "ETMCCR.AddrPairs",
        )
    return found[0]


def _too_many(parts: Sequence[MatchTarget], needed: int, capabilities: Armv7Capabilities) -> str:
    if len(parts) > _MOST_IN_EVENT:
        return (
            "this unit has no address comparators (ETMCCR.AddrPairs), and the DWT's match aligned powers of two of"
            " at most %d bytes: the filters need %d of these, an event has 2" % (capabilities.dwt.largest, len(parts))
        )
    return (
        "this unit has no address comparators (ETMCCR.AddrPairs), and of the DWT's %d are free:"
        " the filters need %d; watchpoints take them too" % (len(capabilities.dwt.free), needed)
    )


def _taken(asked: AddressMatches, rows: Sequence[MatchTarget], used: Sequence[int]) -> List[Taken]:
    names = iter(["DWT comparator %d" % number for number in used])
    parts = len(rows) - len(asked.start) - len(asked.stop) - len(asked.events)
    use = "exclude" if asked.excludes else "include"
    taken = [Taken(use, row.where, next(names)) for row in rows[:parts]]
    taken += [point(True, address, next(names)) for address in asked.start]
    taken += [point(False, address, next(names)) for address in asked.stop]
    places = rows[len(rows) - len(asked.events) :]
    taken += [
        Taken("event", row.where if not isinstance(event, Executed) else row.where, next(names))
        for event, row in zip(asked.events, places)
    ]
    return taken
