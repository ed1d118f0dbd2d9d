"""ViewInst: which executed instructions are traced (IHI 0064, 4.1.2), decided from the unit's filter registers.

All four controls are here, and which exceptions are traced whatever they say: include and exclude ranges, start and
stop points (address comparators or the core's DWT comparators), the exception-level mask and the enabling event.  Of
the events only TRUE is active: nothing on the board drives the other resources.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional

VICTLR = 0x080
VIIECTLR = 0x084
VISSCTLR = 0x088
VIPCSSCTLR = 0x08C
ACVR = 0x400
ACATR = 0x480

SSSTATUS = 1 << 9
_RESET = 1 << 10
_ERRORS = 1 << 11
# Exceptions 1 and, of system errors, HardFault, MemManage, BusFault and SecureFault (7.3.7).
_RESETS, _SYSTEM_ERRORS = (1,), (3, 4, 5, 7)
_EVENT = 0xFF
_TRUE = 0x01
# EXLEVEL_S has a bit for each level, 0 is Thread mode and 3 Handler mode; a bit that is set suppresses.
_VICTLR_LEVELS = 16
_ACATR_LEVELS = 8
_HANDLER_LEVEL = 3

Registers = Callable[[int], int]
"""Returns the value of a register by its offset."""
PeInputs = Callable[[int], Optional[int]]
"""Returns the instruction address that a DWT comparator watches, or None."""


class Comparator(NamedTuple):
    """One address comparator, or a pair that makes a range."""

    first: int
    last: int
    suppressed: int
    """Exception levels at which it does not compare, one bit each."""

    def matches(self, address: int, level: int) -> bool:
        """Tell whether an instruction at an exception level matches."""
        return self.first <= address <= self.last and not self.suppressed >> level & 1


class _Verdict(NamedTuple):
    included: bool
    start: bool
    stop: bool


class ViewInst:
    """The filter as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param pe_inputs: The core's DWT comparators.
    """

    def __init__(self, registers: Registers, pe_inputs: PeInputs) -> None:
        self.handler = False
        control = registers(VICTLR)
        self.started = bool(control & SSSTATUS)
        self._levels = control >> _VICTLR_LEVELS & 0xF
        self._enabled = control & _EVENT == _TRUE
        self._forced = (_RESETS if control & _RESET else ()) + (_SYSTEM_ERRORS if control & _ERRORS else ())
        self.forces_lockup = bool(control & _ERRORS)
        """Whether a lockup is traced whatever was traced before it."""
        ranges = registers(VIIECTLR)
        self._include = [range_comparator(registers, n) for n in range(8) if ranges >> n & 1]
        self._exclude = [range_comparator(registers, n) for n in range(8) if ranges >> 16 >> n & 1]
        singles, inputs = registers(VISSCTLR), registers(VIPCSSCTLR)
        self._start = _points(registers, singles, pe_inputs, inputs)
        self._stop = _points(registers, singles >> 16, pe_inputs, inputs >> 16)
        self._verdicts: Dict[int, _Verdict] = {}

    @property
    def is_open(self) -> bool:
        """Whether every instruction is traced."""
        filters = (self._include, self._exclude, self._start, self._stop)
        return self.started and self._enabled and not self._levels and not any(filters)

    def forces(self, number: int) -> bool:
        """Tell whether an exception is traced whatever was traced before it (4.1.3)."""
        return number in self._forced

    def __call__(self, address: int) -> bool:
        """Tell whether an executed instruction is traced; start and stop points take effect (4.1.2)."""
        key = address | self.handler
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._judge(address)
        if verdict.start:
            self.started = True
        traced = self.started and verdict.included
        if verdict.stop:
            self.started = False
        return traced

    def _judge(self, address: int) -> _Verdict:
        level = _HANDLER_LEVEL if self.handler else 0
        included = not self._include or _any(self._include, address, level)
        included &= not _any(self._exclude, address, level)
        included &= self._enabled and not self._levels >> level & 1
        return _Verdict(included, _any(self._start, address, level), _any(self._stop, address, level))


def range_comparator(registers: Registers, pair: int) -> Comparator:
    """Return the address range comparator of a pair of comparators; both ends are included (4.2.4)."""
    first, last = registers(ACVR + 16 * pair), registers(ACVR + 16 * pair + 8)
    return Comparator(first, last, registers(ACATR + 16 * pair) >> _ACATR_LEVELS & 0xF)


def _points(registers: Registers, singles: int, pe_inputs: PeInputs, inputs: int) -> List[Comparator]:
    points = []
    for n in range(16):
        if singles >> n & 1:
            address = registers(ACVR + 8 * n)
            points.append(Comparator(address, address, registers(ACATR + 8 * n) >> _ACATR_LEVELS & 0xF))
    for n in range(8):
        watched = pe_inputs(n) if inputs >> n & 1 else None
        if watched is not None:
            points.append(Comparator(watched, watched, 0))
    return points


def _any(comparators: List[Comparator], address: int, level: int) -> bool:
    return any(comparator.matches(address, level) for comparator in comparators)
