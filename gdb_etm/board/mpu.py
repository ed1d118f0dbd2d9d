"""The memory protection unit, with eight regions.

PMSAv7: DDI 0403, B3.5; PMSAv8: DDI 0553, B8 and D1.2.

Attributes of memory are kept and mean nothing here.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional

REGIONS = 8
_ENABLE, _HFNMIENA, _PRIVDEFENA = 1, 2, 4
_PRIVATE_BUS = range(0xE0000000, 0xE0100000)
# Offsets in the System Control Space.
TYPE, CTRL, RNR, RBAR, SIZE, MAIR0, MAIR1 = 0xD90, 0xD94, 0xD98, 0xD9C, 0xDA0, 0xDC0, 0xDC4
OFFSETS = (TYPE, CTRL, RNR, RBAR, SIZE, MAIR0, MAIR1)
_SIZES = range(4, 32)
# Of RASR.AP what privileged and unprivileged code may do: read (1), and write (2).
_PRIVILEGED = (0, 3, 3, 3, 0, 1, 1, 1)
_UNPRIVILEGED = (0, 0, 1, 3, 0, 0, 1, 1)
READ, WRITE, EXECUTE = 1, 2, 4


class _Region(NamedTuple):
    low: int
    # The last address.
    high: int
    privileged: int
    unprivileged: int
    # Of its eight equal parts those that it does not cover (RASR.SRD).
    disabled: int = 0

    def covers(self, address: int) -> bool:
        if not self.low <= address <= self.high:
            return False
        part = (address - self.low) * 8 // (self.high + 1 - self.low)
        return not self.disabled >> part & 1


class Mpu:
    """A memory protection unit.

    :param has_limits: Whether regions have a limit (PMSAv8) rather than a size.
    """

    def __init__(self, has_limits: bool) -> None:
        self._has_limits = has_limits
        self.reset()

    def reset(self) -> None:
        """Take the values after a reset."""
        self._control = self._number = 0
        self._attributes = {MAIR0: 0, MAIR1: 0}
        self._bases = [0] * REGIONS
        self._sizes = [0] * REGIONS

    @property
    def enabled(self) -> bool:
        """Whether anything is checked (MPU_CTRL.ENABLE)."""
        return bool(self._control & _ENABLE)

    def read(self, offset: int) -> int:
        """Read a register by its offset in the System Control Space."""
        if offset == TYPE:
            return REGIONS << 8
        number = self._number
        known = {CTRL: self._control, RNR: number, RBAR: self._bases[number], SIZE: self._sizes[number]}
        return known[offset] if offset in known else self._attributes[offset]

    def write(self, offset: int, value: int) -> None:
        """Write a register by its offset in the System Control Space."""
        if offset == CTRL:
            self._control = value & 7
        elif offset == RNR:
            self._number = value % REGIONS
        elif offset == RBAR:
            if not self._has_limits and value & 0x10:
                self._number = value & 0xF & REGIONS - 1
            self._bases[self._number] = value if self._has_limits else value & ~0x1F | self._number
        elif offset == SIZE:
            self._sizes[self._number] = value
        elif offset in self._attributes and self._has_limits:
            self._attributes[offset] = value

    def allows(self, address: int, kind: int, privileged: bool, negative: bool) -> bool:
        """Tell whether an access may be made.

        :param kind: READ, WRITE or EXECUTE.
        :param privileged: Whether it is made by privileged code.
        :param negative: Whether the execution priority is that of HardFault, or above it.
        """
        off = not self.enabled or negative and not self._control & _HFNMIENA
        if off or address in _PRIVATE_BUS:
            return True
        regions = map(self._region, range(REGIONS))
        found = [region for region in regions if region is not None and region.covers(address)]
        if not found:
            return privileged and bool(self._control & _PRIVDEFENA)
        if self._has_limits and len(found) > 1:
            return False
        may = found[-1].privileged if privileged else found[-1].unprivileged
        return bool(may & kind)

    def _region(self, number: int) -> Optional[_Region]:
        base, size = self._bases[number], self._sizes[number]
        if not size & 1:
            return None
        if self._has_limits:
            data = 1 if base & 4 else 3
            may = data | (0 if base & 1 else EXECUTE)
            return _Region(base & ~0x1F, size | 0x1F, may, may if base & 2 else 0)
        if size >> 1 & 0x1F not in _SIZES:
            return None
        length = 2 << (size >> 1 & 0x1F)
        rights: List[int] = [table[size >> 24 & 7] for table in (_PRIVILEGED, _UNPRIVILEGED)]
        privileged, unprivileged = (may | (EXECUTE if may & READ and not size >> 28 & 1 else 0) for may in rights)
        low = base & ~(length - 1) & 0xFFFFFFE0
        return _Region(low, low + length - 1, privileged, unprivileged, size >> 8 & 0xFF if length >= 256 else 0)
