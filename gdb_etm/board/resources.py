"""Resources of an ETMv4 and their events (IHI 0064, 4.2 to 4.4).

One cycle of the unit is one executed instruction.  Within a cycle what happens spreads from the comparators through the
single-shot controls and the counters, in their order, to the sequencer and then to the events; what feeds back against
this order does so a cycle later.  An event occurs when its resources become active (4.4.3).
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Sequence, Tuple

from gdb_etm.board.comparators import (
    DERIVED,
    EXTERNAL,
    PE_INPUTS,
    RANGES,
    SINGLE_SHOTS,
    SINGLES,
    Registers,
)

CONFIGR, EVENTCTL0R, TSCTLR, VICTLR, VDCTLR = 0x010, 0x020, 0x030, 0x080, 0x0A0
SEQEVR, SEQRSTEVR, SEQSTR, EXTINSELR = 0x100, 0x118, 0x11C, 0x120
CNTRLDVR, CNTCTLR, CNTVR = 0x140, 0x150, 0x160
RSCTLR, SSCCR, SSCSR, SSPCICR = 0x200, 0x280, 0x2A0, 0x2C0

FALSE, TRUE = 0, 1
_STATES = DERIVED + 4
_STATUS = 1 << 31
# TRCCONFIGR: timestamps; addresses and values of data.
_TS, _DATA = 1 << 11, 3 << 16


class Counts(NamedTuple):
    """Numbers of a unit's resources (TRCIDR0, TRCIDR4 and TRCIDR5)."""

    pairs: int
    selectors: int
    single_shots: int
    counters: int
    # Whether counter 0 is a reduced function counter.
    is_reduced: bool
    states: int
    external_selectors: int
    events: int

    @classmethod
    def of(cls, idr0: int, idr4: int, idr5: int) -> Counts:
        """Read them from the identification registers."""
        return cls(
            pairs=idr4 & 0xF,
            selectors=2 * (idr4 >> 16 & 0xF) + 2,
            single_shots=idr4 >> 20 & 0xF,
            counters=idr5 >> 28 & 7,
            is_reduced=bool(idr5 >> 31),
            states=idr5 >> 25 & 7,
            external_selectors=idr5 >> 9 & 7,
            events=(idr0 >> 10 & 3) + 1,
        )


class _Event:
    """What an event field selects, decided from the resources that are active.

    :param field: The field.
    :param registers: The unit's registers.
    :param selectors: How many selectors the unit has.
    """

    def __init__(self, field: int, registers: Registers, selectors: int) -> None:
        # Selectors 0 and 1 are FALSE and TRUE and have no register.
        number = field & 0x1F
        is_pair = bool(field & 0x80)
        numbers = (2 * number, 2 * number + 1) if is_pair else (number,)
        self.constant = not is_pair and number <= TRUE
        self._terms: Tuple[Tuple[int, bool], ...] = ()
        self._inverted = False
        if self.constant:
            self._terms = ((0, number == TRUE),)
        elif numbers[0] >= 2 and numbers[-1] < selectors:
            controls = [registers(RSCTLR + 4 * each) for each in numbers]
            self._terms = tuple(
                ((control & 0xFFFF) << 16 * (control >> 16 & 0xF), bool(control >> 20 & 1)) for control in controls
            )
            self._inverted = is_pair and bool(controls[0] >> 21 & 1)
        else:
            self._terms = ((0, False),)
        self.wanted = 0
        for mask, _ in self._terms:
            self.wanted |= mask

    def __call__(self, active: int) -> bool:
        for mask, inverted in self._terms:
            if bool(active & mask) == inverted:
                return self._inverted
        return not self._inverted


class _Counter:
    """A down counter, active at zero (4.2.1).

    :param control: TRCCNTCTLRn.
    :param event: Makes an event of a field.
    """

    def __init__(self, control: int, reload: int, value: int, event: Callable[[int], _Event]) -> None:
        self.value = value
        self._reload = reload
        self.count_event, self.reload_event = event(control & 0xFF), event(control >> 8 & 0xFF)
        self._reloads_itself = bool(control >> 16 & 1)
        self._chained = bool(control >> 17 & 1)
        self.reloaded = False

    @property
    def is_used(self) -> bool:
        """Whether anything makes it count or reload."""
        constant = self.count_event.constant and self.reload_event.constant
        return not constant or self._chained or self.count_event(0) or self.reload_event(0)

    def step(self, active: int, carried: bool) -> bool:
        """Spend a cycle; return whether it is zero (tables 4-4, 4-5)."""
        reload = self.reload_event(active)
        count = self.count_event(active) or self._chained and carried
        at_zero = self.value == 0
        self.reloaded = reload or self._reloads_itself and count and at_zero
        if self._reloads_itself:
            at_zero = at_zero and count and not reload
        if self.reloaded:
            self.value = self._reload
        elif count and self.value:
            self.value -= 1
        return at_zero


class _Sequencer:
    """The sequencer (4.2.2).

    :param registers: The unit's registers.
    :param event: Makes an event of a field.
    """

    def __init__(self, registers: Registers, event: Callable[[int], _Event]) -> None:
        self.state = registers(SEQSTR) & 3
        steps = [registers(SEQEVR + 4 * n) for n in range(3)]
        self._forward = [event(step & 0xFF) for step in steps]
        self._back = [event(step >> 8 & 0xFF) for step in steps]
        self._reset = event(registers(SEQRSTEVR) & 0xFF)
        self.events = [*self._forward, *self._back, self._reset]

    def step(self, active: int) -> int:
        """Spend a cycle; return its states, one bit each."""
        if self._reset(active):
            self.state = 0
            return 1
        state, passed = self.state, 0
        while state < 3 and self._forward[state](active):
            state += 1
            passed |= 1 << state
        if state == self.state:
            while state > 0 and self._back[state - 1](active) and not self._forward[state - 1](active):
                state -= 1
                passed |= 1 << state
        self.state = state
        return passed | 1 << state


class Outcome(NamedTuple):
    """What a cycle amounts to."""

    # Whether ViewInst's enabling event is active.
    view: bool
    # Whether that of ViewData is.
    view_data: bool
    # Whether a timestamp is asked for.
    timestamp: bool
    # The external outputs: one bit for each numbered event that is active.
    levels: int
    # Of these, those that have just become active.
    started: int


class ResourceLogic:
    """The resources as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param counts: How many it has.
    """

    def __init__(self, registers: Registers, counts: Counts) -> None:
        # External inputs that are high, one bit each.
        self.levels = 0
        self._pulses = 0
        self._counts = counts

        def event(field: int) -> _Event:
            return _Event(field, registers, counts.selectors)

        self._counters = [self._counter(registers, n, event) for n in range(counts.counters)]
        self._sequencer = _Sequencer(registers, event) if counts.states else None
        self._shots = [
            (registers(SSCCR + 4 * n), registers(SSPCICR + 4 * n) & 0xFF) for n in range(counts.single_shots)
        ]
        self.fired = [bool(registers(SSCSR + 4 * n) & _STATUS) for n in range(counts.single_shots)]
        self._view = event(registers(VICTLR) & 0xFF)
        # What is off asks for no event.
        configuration = registers(CONFIGR)
        self._timestamp = event(registers(TSCTLR) & 0xFF if configuration & _TS else FALSE)
        self._view_data = event(registers(VDCTLR) & 0xFF if configuration & _DATA else FALSE)
        self._events = [event(registers(EVENTCTL0R) >> 8 * n & 0xFF) for n in range(counts.events)]
        choice = registers(EXTINSELR)
        self._inputs = [choice >> 8 * n & 0xFF for n in range(counts.external_selectors)] or list(range(4))
        self._derived = 0 if self._sequencer is None else 1 << _STATES + self._sequencer.state
        self._outcome = Outcome(self._view(0), self._view_data(0), False, 0, 0)
        self._settled = -1
        # The resources that anything depends on.
        self.wanted = self._find_wanted()

    def _counter(self, registers: Registers, n: int, event: Callable[[int], _Event]) -> _Counter:
        reload = registers(CNTRLDVR + 4 * n)
        if n == 0 and self._counts.is_reduced:
            # It counts every cycle and reloads itself, from a value up to the reload value on (4.2.1).
            return _Counter(1 << 16 | TRUE, reload, reload, event)
        return _Counter(registers(CNTCTLR + 4 * n), reload, registers(CNTVR + 4 * n), event)

    def _find_wanted(self) -> int:
        events: List[_Event] = [self._view, self._view_data, self._timestamp, *self._events]
        for n, counter in enumerate(self._counters):
            if n or not self._counts.is_reduced:
                events += [counter.count_event, counter.reload_event]
        events += [] if self._sequencer is None else self._sequencer.events
        wanted = 0
        for event in events:
            wanted |= event.wanted
        for control, inputs in self._shots:
            wanted |= (control & 0xFFFF) << SINGLES | (control >> 16 & 0xFF) << RANGES | inputs << PE_INPUTS
        return wanted

    @property
    def is_used(self) -> bool:
        """Whether tracing, or any register's contents, depends on resources."""
        if self.wanted or any(event(0) for event in self._events):
            return True
        counting = self._counters[self._counts.is_reduced :]
        return any(counter.is_used for counter in counting) or self._timestamp(0)

    @property
    def outcome(self) -> Outcome:
        """What the last cycle amounted to."""
        return self._outcome

    @property
    def state(self) -> int:
        """The sequencer's state."""
        return 0 if self._sequencer is None else self._sequencer.state

    def counter(self, n: int) -> int:
        """Return the value of a counter."""
        return self._counters[n].value

    def pulse(self, number: int) -> None:
        """Take a pulse of an external input, which the next cycle sees."""
        self._pulses |= 1 << number

    def step(self, matches: int) -> Outcome:
        """Spend a cycle.

        :param matches: The comparators and PE comparator inputs that match in it.
        """
        high = self.levels | self._pulses
        if high:
            self._pulses = 0
            matches |= sum(1 << EXTERNAL + n for n, number in enumerate(self._inputs) if high >> number & 1)
        if matches == self._settled:
            return self._outcome
        before = self._state()
        active = matches | self._single_shots(matches)
        outcome = self._decide(active | self._derive(active))
        # The next cycle is as this one if nothing has changed and the same matches.
        self._settled = matches if outcome == self._outcome and before == self._state() else -1
        self._outcome = outcome
        return outcome

    def _state(self) -> Tuple[int, Sequence[int], Sequence[bool]]:
        return self._derived, [counter.value for counter in self._counters], list(self.fired)

    def _single_shots(self, matches: int) -> int:
        found = 0
        for n, (control, inputs) in enumerate(self._shots):
            wanted = (control & 0xFFFF) << SINGLES | (control >> 16 & 0xFF) << RANGES | inputs << PE_INPUTS
            if matches & wanted and (control >> 24 & 1 or not self.fired[n]):
                self.fired[n] = True
                found |= 1 << SINGLE_SHOTS + n
        return found

    def _derive(self, active: int) -> int:
        # Those that are not computed yet are as in the cycle before.
        derived = self._derived
        carried = False
        for n, counter in enumerate(self._counters):
            at_zero = counter.step(active | derived, carried and n % 2 == 1)
            carried = counter.reloaded
            derived = derived & ~(1 << DERIVED + n) | at_zero << DERIVED + n
        if self._sequencer is not None:
            states = self._sequencer.step(active | derived & ~(0xF << _STATES) | self._derived & 0xF << _STATES)
            derived = derived & ~(0xF << _STATES) | states << _STATES
        self._derived = derived
        return derived

    def _decide(self, active: int) -> Outcome:
        levels = sum(1 << n for n, event in enumerate(self._events) if event(active))
        started = levels & ~self._outcome.levels
        return Outcome(self._view(active), self._view_data(active), self._timestamp(active), levels, started)
