"""The DWT's first comparator, which halts the core in time.

Armv7-M Architecture Reference Manual (DDI 0403E), C1.8.1: DWT_FUNCTION0.CYCMATCH.  Armv8-M (DDI 0553), DWT_FUNCTIONn:
MATCH, cycle counter.  CYCCNT stands still while the core is halted; in many chips also while it sleeps.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.coresight.borrowed import Borrowed
from gdb_etm.coresight.components import Component
from gdb_etm.registers import dwt, dwt_v8

_COMP, _MASK, _FUNCTION = dwt.DWT_COMP[0], dwt.DWT_MASK[0], dwt.DWT_FUNCTION[0]
_FUNCTION_V8 = dwt_v8.DWT_FUNCTION[0]
_WRAP = 1 << 32
# The farthest match that can be told from one in the past.
MOST_CYCLES = (1 << 31) - 1


class CycleHalt:
    """What halts the core when CYCCNT reaches a value.

    :param component: The DWT.
    """

    # As what servers tell its halts.
    signals = ("SIGTRAP",)

    def __init__(self, component: Component) -> None:
        self.registers = Borrowed(component.port, component.address)
        self._is_v8 = False
        self._target = self._control = 0

    def take(self) -> Optional[str]:
        """Let CYCCNT count, if the comparator is there and free.

        :returns: Why it cannot be used; None where it can.
        """
        registers = self.registers
        control = self._control = registers.read(dwt.DWT_CTRL)
        if not dwt.DWT_CTRL.get(control, "NUMCOMP") or dwt.DWT_CTRL.get(control, "NOCYCCNT"):
            return "this core has no cycle counter that halts it (DWT_CTRL.NUMCOMP, NOCYCCNT)"
        function = registers.read(_FUNCTION)
        identity = _FUNCTION_V8.get(function, "ID")
        self._is_v8 = bool(identity)
        if self._is_v8 and not identity & dwt_v8.ID_CYCLES:
            return "this core's cycle counter does not halt it (DWT_FUNCTION0.ID)"
        if _FUNCTION_V8.get(function, "MATCH") if self._is_v8 else dwt.DWT_FUNCTION[0].get(function, "FUNCTION"):
            return "the DWT's first comparator is in use, by a filter or a watchpoint"
        registers.remember(each.offset for each in (_COMP, _FUNCTION, *(() if self._is_v8 else (_MASK,))))
        registers.write(dwt.DWT_CTRL, control | dwt.DWT_CTRL.encode(CYCCNTENA=1))
        if not dwt.DWT_CTRL.get(registers.read(dwt.DWT_CTRL), "CYCCNTENA"):
            # An Armv6-M says no more about it (DDI 0419, C1.8.3).
            return "this core has no cycle counter (DWT_CTRL.CYCCNTENA stays 0)"
        return None

    def count(self) -> int:
        """Read CYCCNT."""
        return self.registers.read(dwt.DWT_CYCCNT)

    def arm(self, cycles: int) -> int:
        """Halt the core when it has run for so many cycles.

        It is halted now.

        :returns: CYCCNT.
        """
        registers, now = self.registers, self.count()
        self._target = (now + min(max(cycles, 1), MOST_CYCLES)) % _WRAP
        registers.write(_FUNCTION, 0)
        registers.write(_COMP, self._target)
        if self._is_v8:
            value = _FUNCTION_V8.encode(MATCH=dwt_v8.MATCH_CYCLES, ACTION=dwt_v8.ACTION_HALT, DATAVSIZE=2)
        else:
            registers.write(_MASK, 0)
            value = _FUNCTION.encode(CYCMATCH=1, FUNCTION=dwt.FUNCTION_HALT)
        registers.write(_FUNCTION, value)
        return now

    def is_over(self, count: int) -> bool:
        """Tell whether the cycles that it was armed for have run.

        :param count: CYCCNT.
        """
        return (count - self._target) % _WRAP <= MOST_CYCLES

    @property
    def is_ours(self) -> bool:
        """Whether the comparator is still as it was armed."""
        return self.registers.read(_COMP) == self._target

    def release(self) -> None:
        """Put the registers back, unless a watchpoint has them."""
        if self.is_ours:
            self.registers.restore()
            # That there was a match is forgotten when it is read.
            self.registers.read(_FUNCTION)
        else:
            self.registers.command(dwt.DWT_CTRL, self._control)
