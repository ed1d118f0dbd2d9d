"""ViewData of an ETMv4: the filter of accesses.

Which loads and stores of traced instructions are traced (IHI 0064, 4.1.4, table 4-4).
"""

from __future__ import annotations

from typing import List, Sequence

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.comparators import RANGES, SINGLES, AddressComparators, Registers

VDCTLR, VDSACCTLR, VDARCCTLR = 0x0A0, 0x0A4, 0x0A8


class ViewData:
    """The filter as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param comparators: Its address comparators.
    """

    def __init__(self, registers: Registers, comparators: AddressComparators) -> None:
        singles, ranges = registers(VDSACCTLR), registers(VDARCCTLR)
        self._comparators = comparators
        self._include, self._exclude = (
            (singles >> shift & 0xFFFF) << SINGLES | (ranges >> shift & 0xFF) << RANGES for shift in (0, 16)
        )
        # A range is of instructions or of data by its type.
        self._data_include = comparators.of_data(self._include)
        self._code_include = self._include & ~self._data_include & 0xFF << RANGES

    @property
    def is_open(self) -> bool:
        """Whether all accesses are traced while the enabling event is active."""
        return not (self._include | self._exclude)

    def select(self, address: int, accesses: Sequence[BusAccess], level: int, enabled: bool) -> Sequence[BusAccess]:
        """Return which of an instruction's loads and stores are traced.

        :param address: Of the instruction.
        :param level: Its exception level.
        :param enabled: Whether the enabling event is active.
        """
        if not enabled or self.is_open:
            return accesses if enabled else ()
        at = self._comparators.instruction(address, level)
        if at & self._exclude & ~0 << RANGES or self._code_include and not at & self._code_include:
            return ()
        return self.select_data(accesses, level)

    def select_data(self, accesses: Sequence[BusAccess], level: int) -> Sequence[BusAccess]:
        """Return which accesses are traced by their own addresses alone."""
        found: List[BusAccess] = []
        for access in accesses:
            matches = self._comparators.data((access,), level)
            if not matches & self._exclude and (not self._data_include or matches & self._data_include):
                found.append(access)
        return found
