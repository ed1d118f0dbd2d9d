"""What the comparators of a Cortex-M's DWT do for an ETMv3 that has none of its own.

DDI 0403E, C1.8; IHI 0014Q, 2.8 (EmbeddedICE watchpoint inputs).
"""

from __future__ import annotations

from typing import Dict, List, Sequence

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import dwt, etmv3
from gdb_etm.traceunit.capabilities_armv7 import Armv7Capabilities
from gdb_etm.traceunit.dwt_match import Block, block_writes
from gdb_etm.traceunit.events import Access, Accessed, Event, Executed, ExecutedIn
from gdb_etm.traceunit.options import AddressRange
from gdb_etm.traceunit.plan import Taken
from gdb_etm.traceunit.plan_armv7_comparators import Allotted, Asked, past, point
from gdb_etm.traceunit.ranges import blocks

_MOST_IN_EVENT = 2  # resources in an event
_FUNCTIONS = {Access.LOAD: dwt.FUNCTION_LOAD, Access.STORE: dwt.FUNCTION_STORE, Access.EITHER: dwt.FUNCTION_ACCESS}


def by_watchpoints(asked: Asked, capabilities: Armv7Capabilities) -> Allotted:
    """Give each range and each address comparators of the DWT.

    :raises UnsupportedError: Too few are free, or they cannot compare what is asked for.
    """
    if asked.start or asked.stop:
        capabilities.require("ETMCCER.WatchStartStop", "start and stop addresses")
    free = list(reversed(capabilities.watchpoints))  # a debugger takes the first ones
    largest = min((capabilities.watched_bytes(n) for n in free), default=0)
    parts = [part for pair in asked.ranges for part in blocks(pair.first, past(pair), largest)]
    rows = [Block(part.first, _ignored(part), dwt.FUNCTION_INSTRUCTION, "range %s" % (part,)) for part in parts]
    rows += [_point(address, "start at") for address in asked.start]
    rows += [_point(address, "stop at") for address in asked.stop]
    rows += [_event(event, largest) for event in asked.events]
    if len(parts) > _MOST_IN_EVENT or len(rows) > len(free):
        raise UnsupportedError(_too_many(parts, len(rows), len(free), largest), "ETMCCR.AddrPairs")
    used = free[:len(rows)]
    masks = [1 << number for number in used]
    first, middle, last = len(parts), len(parts) + len(asked.start), len(parts) + len(asked.start) + len(asked.stop)
    numbers: Dict[Event, int] = {
        event: etmv3.RESOURCE_WATCHPOINT + n for event, n in zip(asked.events, used[last:])}
    watch = tuple(entry for number, row in zip(used, rows) for entry in block_writes(number, row))
    return Allotted(
        start=sum(masks[first:middle]), stop=sum(masks[middle:last]), numbers=numbers, watching=tuple(used[:first]),
        dwt=watch, taken=tuple(_taken(asked, parts, used)), notes=(_note(used),))


def _ignored(part: AddressRange) -> int:
    return (part.last - part.first + 1).bit_length() - 1


def _point(address: int, verb: str) -> Block:
    return Block(address, 0, dwt.FUNCTION_INSTRUCTION, "%s 0x%08x" % (verb, address))


def _event(event: Event, largest: int) -> Block:
    if isinstance(event, Executed):
        return Block(event.address, 0, dwt.FUNCTION_INSTRUCTION, str(event))
    assert isinstance(event, (ExecutedIn, Accessed))
    if isinstance(event, Accessed) and event.value is not None:
        raise UnsupportedError("%s: the DWT's comparators of this unit's inputs compare no values"
                               " (ETMCCR.DataComps is 0)" % (event,), "ETMCCR.DataComps")
    end = past(event.where) if isinstance(event, ExecutedIn) else event.where.last + 1
    found = blocks(event.where.first, end, largest)
    if len(found) != 1:
        raise UnsupportedError(
            "%s: this unit has no address comparators, and one of the DWT's matches one aligned power of two of at most"
            " %d bytes: this is %d of these (ETMCCR.AddrPairs)" % (event, largest, len(found)), "ETMCCR.AddrPairs")
    function = _FUNCTIONS[event.access] if isinstance(event, Accessed) else dwt.FUNCTION_INSTRUCTION
    return Block(found[0].first, _ignored(found[0]), function, str(event))


def _too_many(parts: Sequence[AddressRange], needed: int, free: int, largest: int) -> str:
    if len(parts) > _MOST_IN_EVENT:
        return ("this unit has no address comparators (ETMCCR.AddrPairs), and the DWT's match aligned powers of two of"
                " at most %d bytes: the filters need %d of these, an event has 2" % (largest, len(parts)))
    return ("this unit has no address comparators (ETMCCR.AddrPairs), and of the DWT's %d are free:"
            " the filters need %d; watchpoints take them too" % (free, needed))


def _note(used: Sequence[int]) -> str:
    return "the filter takes comparators of the DWT (%s), which watchpoints cannot have meanwhile" % ", ".join(
        str(number) for number in used)


def _taken(asked: Asked, parts: Sequence[AddressRange], used: Sequence[int]) -> List[Taken]:
    names = iter(["DWT comparator %d" % number for number in used])
    use = "exclude" if asked.excludes else "include"
    taken = [Taken(use, part, next(names)) for part in parts]
    taken += [point(True, address, next(names)) for address in asked.start]
    taken += [point(False, address, next(names)) for address in asked.stop]
    for event in asked.events:
        where = AddressRange(event.address, event.address) if isinstance(event, Executed) else None
        if isinstance(event, (ExecutedIn, Accessed)):
            where = event.where
        assert where is not None
        taken.append(Taken("event", where, next(names)))
    return taken
