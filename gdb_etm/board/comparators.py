"""The comparators of an ETMv4 (IHI 0064, 4.2.5 and 7.3.1 to 7.3.4).

A match is a bit in a number, as are all resources of the unit: bit 16 * GROUP + n is member n of a group of TRCRSCTLRn
(table 7-8).
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Sequence

from gdb_etm.board.accesses import BusAccess

ACVR, ACATR, DVCVR, DVCMR = 0x400, 0x480, 0x500, 0x580

# The first bit of each group.
EXTERNAL, PE_INPUTS, DERIVED, SINGLE_SHOTS, SINGLES, RANGES = 0, 16, 32, 48, 64, 80

# Returns the value of a register by its offset.
Registers = Callable[[int], int]

# TRCACATRn.
_LEVELS = 8
_TYPE, _LOAD, _STORE = 3, 1, 2
_DATA_RANGE = 1 << 20
_EQUAL, _DIFFERENT = 1, 3


class AddressComparator(NamedTuple):
    """One address comparator, or a pair that makes a range."""

    first: int
    last: int
    # TRCACATRn.
    attributes: int = 0
    value: int = 0
    # The bits of the value that are not compared.
    ignored: int = 0

    @property
    def is_data(self) -> bool:
        """Whether it compares the addresses of loads or stores."""
        return bool(self.attributes & _TYPE)

    def matches(self, address: int, level: int) -> bool:
        """Tell whether an instruction at an exception level matches."""
        here = self.first <= address <= self.last and not self.is_data
        return here and not self.attributes >> _LEVELS >> level & 1

    def sees(self, access: BusAccess, level: int) -> bool:
        """Tell whether an access at an exception level matches (4.2.5)."""
        if not self.attributes & (_STORE if access.store else _LOAD) or self.attributes >> _LEVELS >> level & 1:
            return False
        touched = access.address <= self.last and self.first < access.address + access.size
        wanted = self.attributes >> 16 & 3
        if not touched or not wanted:
            return touched
        size = 1 << (self.attributes >> 18 & 3)
        fits = access.size == size if self.attributes & _DATA_RANGE else access.size >= size
        if not fits or access.address % access.size:
            return False
        lane = (max(self.first, access.address) - access.address) // size * size
        bits = (1 << 8 * size) - 1
        different = (access.value >> 8 * lane ^ self.value) & bits & ~self.ignored
        return bool(different) == (wanted == _DIFFERENT)


def range_comparator(registers: Registers, pair: int) -> AddressComparator:
    """Return an address range comparator; both ends are included (4.2.4)."""
    low = _comparator(registers, 2 * pair)
    return low._replace(last=registers(ACVR + 16 * pair + 8))


def single_comparator(registers: Registers, n: int) -> AddressComparator:
    """Return a single address comparator.

    Only the first of a pair compares values.
    """
    found = _comparator(registers, n)
    return found._replace(attributes=found.attributes & 0xFFFF) if n % 2 else found


def _comparator(registers: Registers, n: int) -> AddressComparator:
    address, pair = registers(ACVR + 8 * n), 0x10 * (n // 2)
    value, ignored = registers(DVCVR + pair), registers(DVCMR + pair)
    return AddressComparator(address, address, registers(ACATR + 8 * n), value, ignored)


class AddressComparators:
    """All address comparators of a unit as programmed when it was enabled.

    :param registers: Its registers.
    :param pairs: How many pairs it has.
    """

    def __init__(self, registers: Registers, pairs: int) -> None:
        self._all: Dict[int, AddressComparator] = {}
        for n in range(2 * pairs):
            self._all[1 << SINGLES + n] = single_comparator(registers, n)
        for pair in range(pairs):
            self._all[1 << RANGES + pair] = range_comparator(registers, pair)
        self._data: List[int] = [bit for bit, each in self._all.items() if each.is_data]

    def of_data(self, wanted: int) -> int:
        """Return which of the comparators with these bits compare loads or stores."""
        return sum(bit for bit in self._data if bit & wanted)

    def instruction(self, address: int, level: int) -> int:
        """Return the comparators that match an instruction."""
        return sum(bit for bit, each in self._all.items() if each.matches(address, level))

    def data(self, accesses: Sequence[BusAccess], level: int) -> int:
        """Return the comparators that match one of an instruction's loads and stores."""
        return sum(bit for bit in self._data if any(self._all[bit].sees(access, level) for access in accesses))
