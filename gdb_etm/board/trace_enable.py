"""TraceEnable: which executed instructions a PTM traces (IHI 0035B, 3.16), decided from its filter registers.

The enabling event, include and exclude ranges and the start/stop block are here, with the address comparators and the
start/stop block as resources of the event; nothing on the board drives others.
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple

SR, TSSCR, TEEVR, TECR1, ACVR1 = 0x010, 0x018, 0x020, 0x024, 0x040

SR_START_STOP = 1 << 2
_EXCLUDE = 1 << 24
_START_STOP = 1 << 25
_RANGES = 0xFF
_ALWAYS = 0x6F
_STARTED = 0x5F
_SINGLE, _PAIR = 0, 1

Registers = Callable[[int], int]
"""Returns the value of a register by its offset."""


class _Event(NamedTuple):
    """An event: a function of two resources (3.16, event resources)."""

    a: int
    b: int
    function: int

    def holds(self, active: Callable[[int], bool]) -> bool:
        """Tell whether it is active.

        :param active: Tells whether a resource is.
        """
        a, b = active(self.a), active(self.b)
        return (a, not a, a and b, not a and b, not a and not b, a or b, not a or b, not a or not b)[self.function]


class TraceEnable:
    """The filter as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param pairs: How many pairs of address comparators it has.
    """

    def __init__(self, registers: Registers, pairs: int) -> None:
        event = registers(TEEVR)
        self._event = _Event(event & 0x7F, event >> 7 & 0x7F, event >> 14 & 7)
        control = registers(TECR1)
        self._excludes = bool(control & _EXCLUDE)
        self._uses_block = bool(control & _START_STOP)
        self._pairs = [n for n in range(pairs) if (control & _RANGES) >> n & 1]
        self._addresses: List[int] = [registers(ACVR1 + 4 * n) for n in range(2 * pairs)]
        points = registers(TSSCR)
        self._starts = {address for n, address in enumerate(self._addresses) if points >> n & 1}
        self._stops = {address for n, address in enumerate(self._addresses) if points >> 16 + n & 1}
        # It begins with what was written to it while the unit was programmed (ETMSR, bit 2).
        self.started = bool(registers(SR) & SR_START_STOP)
        self._address = 0

    @property
    def is_open(self) -> bool:
        """Whether everything is traced, whatever its address."""
        always = self._event.function == 0 and self._event.a == _ALWAYS
        return always and self._excludes and not self._pairs and not self._uses_block

    def __call__(self, address: int) -> bool:
        """Tell whether an instruction is traced; to be asked for each that executed, in order."""
        self._address = address
        if address in self._starts:
            self.started = True
        included = self._excludes != any(self._in_range(n) for n in self._pairs)
        traced = included and (self.started or not self._uses_block) and self._event.holds(self._is_active)
        if address in self._stops:
            # The instruction at a stop address is traced still.
            self.started = False
        return traced

    def _in_range(self, pair: int) -> bool:
        # The second address is the first that is not in the range.
        return self._addresses[2 * pair] <= self._address < self._addresses[2 * pair + 1]

    def _is_active(self, resource: int) -> bool:
        kind, index = resource >> 4, resource & 0xF
        if kind == _SINGLE:
            return index < len(self._addresses) and self._addresses[index] == self._address
        if kind == _PAIR:
            return 2 * index < len(self._addresses) and self._in_range(index)
        return resource == _ALWAYS or resource == _STARTED and self.started
