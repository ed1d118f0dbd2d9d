"""DWT comparators whose matches drive inputs of the trace unit.

DDI 0403E, C1.8 (Armv7-M: aligned blocks whose sizes are powers of two); DDI 0553, B14 (Armv8-M: single addresses).
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import dwt, dwt_v8
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.events import Accessed, AccessType, Event, Executed, ExecutedIn
from gdb_etm.traceunit.options import AddressRange
from gdb_etm.traceunit.plan import RegisterWrite
from gdb_etm.traceunit.ranges import blocks

_FUNCTIONS = {
    AccessType.LOAD: dwt.FUNCTION_LOAD,
    AccessType.STORE: dwt.FUNCTION_STORE,
    AccessType.EITHER: dwt.FUNCTION_ACCESS,
}
_MATCHES = {
    AccessType.LOAD: dwt_v8.MATCH_LOAD,
    AccessType.STORE: dwt_v8.MATCH_STORE,
    AccessType.EITHER: dwt_v8.MATCH_ACCESS,
}
_MOST_BLOCKS = 16  # comparators; no DWT has more
_LARGEST_V8 = 4  # bytes of data; an instruction's address is one


class MatchTarget(NamedTuple):
    """What a comparator is to match."""

    first: int
    # In bytes: a power of two; the address is a multiple of it.
    size: int
    why: str
    access: AccessType = AccessType.EITHER
    is_data: bool = False

    @property
    def where(self) -> AddressRange:
        """Its addresses."""
        return AddressRange(self.first, self.first + self.size - 1)


class DwtComparators(NamedTuple):
    """The comparators of a DWT that are free for a trace unit."""

    # Their numbers, in the order in which they are taken: a debugger takes the first ones.
    free: Tuple[int, ...]
    is_v8: bool
    # Bytes of the largest block that each of them matches, of instructions.
    largest: int

    @property
    def words(self) -> str:
        """What they match."""
        return "single addresses" if self.is_v8 else "aligned powers of two of at most %d bytes" % self.largest

    def blocks_of(self, event: Event, field: str) -> Tuple[MatchTarget, ...]:
        """Find what has to be matched for an event.

        :param field: The identification field that says that there is nothing better, for the message.
        :raises UnsupportedError: The DWT cannot.
        """
        if isinstance(event, Executed):
            return (MatchTarget(event.address, 1, str(event)),)
        assert isinstance(event, (ExecutedIn, Accessed))
        if isinstance(event, Accessed) and event.value is not None:
            raise UnsupportedError(
                "%s: this unit has no comparators of values (%s), and the DWT's are not asked for it" % (event, field),
                field,
            )
        is_data = isinstance(event, Accessed)
        end = event.where.last + 1 if is_data else past(event.where)
        largest = self.largest if not self.is_v8 else _LARGEST_V8 if is_data else 2
        number = -(-(end - event.where.first) // max(largest, 1))
        if number > _MOST_BLOCKS:
            raise UnsupportedError(
                "this unit has no address comparators (%s), and of the DWT's, which match %s, %d are free:"
                " %s alone would need %d" % (field, self.words, len(self.free), event, number),
                field,
            )
        access = event.access if isinstance(event, Accessed) else AccessType.EITHER
        return tuple(
            MatchTarget(each.first, each.last - each.first + 1, str(event), access, is_data)
            for each in blocks(event.where.first, end, largest)
        )

    def writes(self, number: int, block: MatchTarget) -> Iterator[RegisterWrite]:
        """Write one comparator.

        :param number: Which one.
        """
        why = "tell the trace unit of it"
        if self.is_v8:
            function: Register = dwt_v8.DWT_FUNCTION[number]
            size = 1 if not block.is_data else block.size.bit_length() - 1
            match = _MATCHES[block.access] if block.is_data else dwt_v8.MATCH_INSTRUCTION
            mask = function.encode(MATCH=15, ACTION=3, DATAVSIZE=3)
            yield RegisterWrite(function.name, function.offset, 0, mask, "not used while it is programmed")
            yield _write(dwt.DWT_COMP[number], block.first, block.why)
            value = function.encode(MATCH=match, DATAVSIZE=size)
            yield RegisterWrite(function.name, function.offset, value, mask, why)
            return
        function, action = dwt.DWT_FUNCTION[number], dwt.FUNCTION_INSTRUCTION
        if block.is_data:
            action = _FUNCTIONS[block.access]
        mask = function.fields["FUNCTION"].mask
        yield RegisterWrite(function.name, function.offset, 0, mask, "not used while it is programmed")
        yield _write(dwt.DWT_COMP[number], block.first, block.why)
        yield _write(dwt.DWT_MASK[number], block.size.bit_length() - 1, block.why)
        yield RegisterWrite(function.name, function.offset, action, mask, why)


def comparators_of(registers: Mapping[str, int], inputs: int) -> DwtComparators:
    """Find the free DWT comparators that drive the unit's inputs.

    :param registers: DWT_CTRL, DWT_FUNCTIONn, and of an Armv7-M DWT_MASKn with the most it takes; empty without a DWT.
    :param inputs: How many inputs the trace unit has for them.
    """
    there = min(dwt.DWT_CTRL.get(registers.get("DWT_CTRL", 0), "NUMCOMP"), inputs)
    functions = {n: registers.get("DWT_FUNCTION%d" % n, 0) for n in range(there)}
    identities = {n: dwt_v8.DWT_FUNCTION[n].get(value, "ID") for n, value in functions.items()}
    is_v8 = any(identities.values())
    free = [
        n
        for n, value in functions.items()
        if not dwt.DWT_FUNCTION[n].get(value, "FUNCTION") and (not is_v8 or identities[n] & dwt_v8.ID_INSTRUCTION)
    ]
    largest = min((1 << registers.get("DWT_MASK%d" % n, 0) for n in free), default=0)
    return DwtComparators(tuple(reversed(free)), is_v8, 1 if is_v8 else largest)


def past(pair: AddressRange) -> int:
    """Return the address after a range.

    Its last address may be an instruction's first byte.
    """
    return min((pair.last | 1) + 1, 0xFFFFFFFF)


def note(used: Tuple[int, ...]) -> str:
    """Say which comparators are taken."""
    return "the filter takes comparators of the DWT (%s), which watchpoints cannot have meanwhile" % ", ".join(
        str(number) for number in used
    )


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, value, register.mask, why)
