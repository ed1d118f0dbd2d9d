"""ViewInst of an ETMv4: the filter of instructions (IHI 0064, 4.1.2).

All four controls are here, and which exceptions are traced whatever they say: include and exclude ranges, start and
stop points (address comparators or the core's DWT comparators), the exception-level mask and the enabling event.
"""

from __future__ import annotations

from gdb_etm.board.comparators import PE_INPUTS, RANGES, SINGLES, Registers

VICTLR = 0x080
VIIECTLR = 0x084
VISSCTLR = 0x088
VIPCSSCTLR = 0x08C

SSSTATUS = 1 << 9
_RESET = 1 << 10
_ERRORS = 1 << 11
# Exceptions 1 and, of system errors, HardFault, MemManage, BusFault and SecureFault (7.3.7).
_RESETS, _SYSTEM_ERRORS = (1,), (3, 4, 5, 7)
_EVENT = 0xFF
_TRUE = 0x01
# EXLEVEL_S has a bit for each level, 0 is Thread mode and 3 Handler mode; a bit that is set suppresses.
_LEVELS = 16


class ViewInst:
    """The filter as programmed when the unit was enabled.

    :param registers: The unit's registers.
    """

    def __init__(self, registers: Registers) -> None:
        control = registers(VICTLR)
        self.started = bool(control & SSSTATUS)
        self._levels = control >> _LEVELS & 0xF
        self._event = control & _EVENT
        self._forced = (_RESETS if control & _RESET else ()) + (_SYSTEM_ERRORS if control & _ERRORS else ())
        # Whether a lockup is traced whatever was traced before it.
        self.forces_lockup = bool(control & _ERRORS)
        ranges = registers(VIIECTLR)
        self._include, self._exclude = ((ranges >> shift & 0xFF) << RANGES for shift in (0, 16))
        singles, inputs = registers(VISSCTLR), registers(VIPCSSCTLR)
        self._start, self._stop = (
            (singles >> shift & 0xFFFF) << SINGLES | (inputs >> shift & 0xFF) << PE_INPUTS for shift in (0, 16)
        )

    @property
    def wanted(self) -> int:
        """The comparators and PE comparator inputs that it depends on."""
        return self._include | self._exclude | self._start | self._stop

    @property
    def is_open(self) -> bool:
        """Whether every instruction is traced."""
        return self.started and self._event == _TRUE and not self._levels and not self.wanted

    def forces(self, number: int) -> bool:
        """Tell whether an exception is traced whatever was traced before it (4.1.3)."""
        return number in self._forced

    def traces(self, matches: int, level: int, enabled: bool) -> bool:
        """Tell whether an instruction is traced.

        :param matches: The comparators and PE comparator inputs that match it.
        :param level: Its exception level.
        :param enabled: Whether the enabling event is active.
        """
        if matches & self._start:
            self.started = True
        included = not self._include or matches & self._include
        traced = self.started and enabled and bool(included) and not matches & self._exclude
        if matches & self._stop:
            self.started = False
        return traced and not self._levels >> level & 1
