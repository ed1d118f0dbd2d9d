"""Counters, sequencer and external inputs of an ETMv3 or a PTM.

IHI 0014Q, 2.6 and 3.5; IHI 0035B, 2.5 and 3.16.

One cycle of the unit is one executed instruction.  Within a cycle the counters come first, in their order, then the
sequencer, and then the events that are not theirs; what feeds back against this order does so a cycle later.
"""

from __future__ import annotations

from typing import Callable, Container, Dict

CNTRLDVR, CNTENR, CNTRLDEVR, CNTVR = 0x140, 0x150, 0x160, 0x170
SQEVR, SQR, EXTOUTEVR, EXTINSELR, TSEVR = 0x180, 0x19C, 0x1A0, 0x1EC, 0x1F8

ALWAYS = 0x6F
_COUNTERS, _STATES, _INPUTS, _CHOSEN = range(0x40, 0x44), range(0x50, 0x53), range(0x60, 0x64), range(0x68, 0x6C)
# The resources of events that are here.
DYNAMIC = (*_COUNTERS, *_STATES, *_INPUTS, *_CHOSEN)
# ETMCNTENR: the event counts, and not every cycle.
_BY_EVENT = 1 << 17
_EVENT = 0x1FFFF
# Of ETMSQ12EVR and so on: from which state to which, in the order of their registers.
_STEPS = ((1, 2), (2, 1), (2, 3), (3, 1), (3, 2), (1, 3))

# Returns the value of a register by its offset.
Registers = Callable[[int], int]


def is_never(event: int) -> bool:
    """Tell whether an event is the constant FALSE."""
    return event >> 14 & 7 == 1 and event & 0x7F == ALWAYS


class Armv7ResourceLogic:
    """The resources as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param ccr: ETMCCR.
    :param ccer: ETMCCER.
    """

    def __init__(self, registers: Registers, ccr: int, ccer: int) -> None:
        # External inputs that are high, one bit each.
        self.levels = 0
        self._pulses = self._high = 0
        self._registers = registers
        self._counters = ccr >> 13 & 7
        self._is_reduced = bool(ccer >> 27 & 1)
        self._inputs = ccr >> 17 & 7
        self._selectors = ccer & 7
        self._outputs = ccr >> 20 & 7
        self._has_sequencer = bool(ccr >> 16 & 1)
        # The registers that show the state of the resources.
        self.state: Dict[int, int] = {CNTVR + 4 * n: registers(CNTVR + 4 * n) for n in range(self._counters)}
        if self._is_reduced and self._counters:
            # It counts every cycle and reloads itself; its value is not to be read.
            self._reduced = registers(CNTRLDVR)
            del self.state[CNTVR]
        if self._has_sequencer:
            self.state[SQR] = registers(SQR)
        self._zero = [self.state.get(CNTVR + 4 * n, 1) == 0 for n in range(self._counters)]

    def is_used(self, programmed: Container[int], timestamps: bool) -> bool:
        """Tell whether any event makes a resource, an output or a timestamp.

        :param programmed: Registers that have been written; what the others do is nobody's business unless an event
            that is asked for depends on them, and then all are stepped.
        :param timestamps: Whether timestamps are on.
        """
        offsets = [EXTOUTEVR + 4 * n for n in range(self._outputs)] + [SQEVR + 4 * n for n in range(len(_STEPS))]
        for n in range(self._is_reduced, self._counters):
            enable = CNTENR + 4 * n
            if enable in programmed and not self._registers(enable) & _BY_EVENT:
                return True
            offsets += [enable, CNTRLDEVR + 4 * n]
        used = [offset for offset in offsets if offset in programmed] + [TSEVR] * timestamps
        return not all(is_never(self._registers(offset) & _EVENT) for offset in used)

    def pulse(self, number: int) -> None:
        """Take a pulse of an external input, which the next cycle sees."""
        self._pulses |= 1 << number

    def is_active(self, resource: int) -> bool:
        """Tell whether a counter, state or external input is active now."""
        if resource in _COUNTERS:
            number = resource - _COUNTERS.start
            return number < self._counters and self._zero[number]
        if resource in _STATES:
            return self._has_sequencer and self.state[SQR] == resource - _STATES.start
        if resource in _INPUTS:
            number = resource - _INPUTS.start
            return number < self._inputs and bool(self._high >> number & 1)
        if resource in _CHOSEN:
            number = resource - _CHOSEN.start
            chosen = self._registers(EXTINSELR) >> 8 * number & 0x3F
            return number < self._selectors and bool(self._high >> chosen & 1)
        return False

    def step(self, holds: Callable[[int], bool]) -> None:
        """Spend a cycle.

        :param holds: Tells whether an event is active.
        """
        self._high, self._pulses = self.levels | self._pulses, 0
        for number in range(self._counters):
            if number == 0 and self._is_reduced:
                self._zero[0] = self._reduced == 0
                self._reduced = self._registers(CNTRLDVR) if self._zero[0] else self._reduced - 1
            else:
                self._count(number, holds)
        if self._has_sequencer:
            steps = [
                to
                for n, (state, to) in enumerate(_STEPS)
                if state == self.state[SQR] + 1 and holds(self._registers(SQEVR + 4 * n))
            ]
            # Two that are active at once keep each other from being made.
            if len(steps) == 1:
                self.state[SQR] = steps[0] - 1

    def _count(self, number: int, holds: Callable[[int], bool]) -> None:
        enable, register = self._registers(CNTENR + 4 * number), CNTVR + 4 * number
        counts = not enable & _BY_EVENT or holds(enable & _EVENT)
        if holds(self._registers(CNTRLDEVR + 4 * number)):
            self.state[register] = self._registers(CNTRLDVR + 4 * number)
        elif counts and self.state[register]:
            self.state[register] -= 1
        self._zero[number] = self.state[register] == 0
