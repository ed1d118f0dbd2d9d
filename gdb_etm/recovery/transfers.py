"""Transfers of other masters, such as DMA: memory that a device writes.

The trace shows nothing of them but how they were started: an address of RAM that the program stored to a device's
register, and numbers beside it, one of which is the length.
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

_WORD = 4
# Where devices are that are not the core's own (Armv8-M ARM, B8.1).
DEVICES = range(0x40000000, 0x60000000)
# A channel's registers: their distance in bytes, and in instructions.
_NEAR, _REACH = 64, 40
# Lengths, and the units that they may count.
_LONGEST, _UNITS = 1 << 16, (1, 2, 4)
# Those that are tried where it is not known which.
GUESSES = (_UNITS[0], _UNITS[-1])
# A piece of memory, from its first address to just past its last.
Area = Tuple[int, int]
# More pieces of memory are as good as all of it.
_MOST = 64


class Length(NamedTuple):
    """A number beside the address of a transfer."""

    # The store's instruction.
    number: int
    # Of the device's register.
    register: int
    value: int


class Transfer(NamedTuple):
    """A store of an address to a device's register."""

    # The store's instruction.
    number: int
    # Of the device's register.
    register: int
    # The address that it was given.
    target: int
    lengths: Tuple[Length, ...]

    @property
    def longest(self) -> int:
        """The largest of its lengths, or a word where there is none."""
        return max([one.value for one in self.lengths], default=_WORD)

    def reaching(self, address: int, size: int) -> Optional[Tuple[Length, int]]:
        """Choose the length with which it reaches memory, and its bytes."""
        for unit in _UNITS:
            found = [one for one in self.lengths if address + size <= self.target + one.value * unit]
            if found and address >= self.target:
                best = min(found, key=lambda one: one.value)
                return best, best.value * unit
        return None


def started(stored: Sequence[Length], is_ram: Callable[[int], bool]) -> List[Transfer]:
    """List the transfers that stores to devices start, oldest first.

    :param stored: The words that were stored to devices' registers, oldest first.
    """
    found: List[Transfer] = []
    for one in stored:
        if is_ram(one.value):
            lengths = [other for other in stored if _is_beside(one, other) and 0 < other.value < _LONGEST]
            found.append(Transfer(one.number, one.register, one.value, tuple(lengths)))
    return found


def _is_beside(one: Length, other: Length) -> bool:
    is_near = 0 < abs(one.register - other.register) < _NEAR
    return is_near and abs(one.number - other.number) <= _REACH


def regions(found: Sequence[Transfer], unit: int = 1) -> Tuple[Area, ...]:
    """Join what transfers reach, as pieces of memory.

    :param unit: The bytes that a length counts.
    """
    pieces: List[List[int]] = []
    for low, high in sorted((one.target, one.target + one.longest * unit) for one in found):
        if pieces and low <= pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], high)
        else:
            pieces.append([low, high])
    return tuple([(low, high) for low, high in pieces])


def reached(ssa: TraceSsa, unit: int) -> Tuple[Area, ...]:
    """Give what devices may have written.

    There is nothing where that is in too many pieces.

    :param ssa: With what is known so far; its addresses and values need not be all.
    :param unit: One of ``GUESSES``.
    """
    mask, bits = ssa.domain.mask, ssa.domain.bits
    stored: List[Length] = []
    for access in ssa.accesses:
        if access.store and access.size == _WORD and mask[access.address] == mask[access.data] == MASK:
            if bits[access.address] in DEVICES:
                stored.append(Length(access.number, bits[access.address], bits[access.data]))
    found = regions(started(stored, lambda address: ssa.is_ram(address, 1)), unit)
    return found if len(found) <= _MOST else ()
