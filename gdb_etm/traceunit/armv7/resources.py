"""Event resources of an ETMv3 or PTM.

Trigger, outputs, timestamps, counters and the sequencer.

IHI 0014Q, 2.9 (counters), 2.10 (sequencer), 3.5; IHI 0035B, 3.5 and 3.16.  Counters and states are numbered from 0
here, and from 1 in the registers' names.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.registers import etmv3_comparators as comparators
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.actions import (
    Action,
    Count,
    Counter,
    FirstState,
    Mark,
    NextState,
    Output,
    Reload,
    Timestamp,
    Trigger,
)
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.armv7.plan import write
from gdb_etm.traceunit.armv7.terms import event_value
from gdb_etm.traceunit.events import (
    ALWAYS,
    AtZero,
    Committed,
    Constant,
    Event,
    InContext,
    InMachine,
    Input,
    InState,
    Watched,
    any_of,
    members,
)
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite
from gdb_etm.traceunit.window import Window, WindowMemory, WindowRules, plan_window

_STATES = 3
_STEPS: Dict[Tuple[int, int], Register] = {
    (0, 1): etmv3.ETMSQ12EVR,
    (1, 0): etmv3.ETMSQ21EVR,
    (1, 2): etmv3.ETMSQ23EVR,
    (2, 0): etmv3.ETMSQ31EVR,
    (2, 1): etmv3.ETMSQ32EVR,
    (0, 2): etmv3.ETMSQ13EVR,
}


def window_of(options: TraceOptions, capabilities: Armv7Capabilities) -> Window:
    """Find out what starts and stops the trace.

    :raises UnsupportedError: Nothing is left that can remember whether it is on.
    """
    has_sequencer = bool(capabilities.field("ETMCCR.Sequencer"))
    used = {counter.number + 1 for counter in options.counters}
    spare = next((n - 1 for n in capabilities.counters if n not in used), None)
    missing = "ETMCCR.Counters" if has_sequencer else "ETMCCR.Sequencer"
    return plan_window(options, WindowMemory(has_sequencer, spare, "%s is %d" % (missing, capabilities.field(missing))))


def leaves_of(wanted: WindowRules) -> Tuple[Event, ...]:
    """List what the rules wait for, each once."""
    events = [*(rule.when for rule in wanted.rules), wanted.view]
    found = (leaf for event in events for leaf in members(event) if not isinstance(leaf, Constant))
    return tuple(dict.fromkeys(found))


class Armv7Resources:
    """Gives events their resources, and rules their registers.

    :param wanted: The rules.
    :param compared: Resource numbers of events that comparators match.
    :param contexts: The Context IDs that have a comparator, in their order.
    :raises UnsupportedError: The unit has too few resources, or no resource for an event.
    """

    def __init__(
        self,
        wanted: WindowRules,
        compared: Mapping[Event, int],
        contexts: Sequence[int],
        capabilities: Armv7Capabilities,
    ) -> None:
        self._wanted = wanted
        self._compared = compared
        self._contexts = contexts
        self._unit = capabilities
        direct = capabilities.field("ETMCCR.ExtIn")
        leaves = leaves_of(wanted)
        self._selected = [leaf.number - direct for leaf in leaves if isinstance(leaf, Input) and leaf.number >= direct]
        self._check(leaves)

    @property
    def notes(self) -> Iterator[str]:
        """What the user should know."""
        if self._wanted.view != ALWAYS:
            yield "an event switches the trace: a few instructions more or less are traced where it does"

    def value(self, event: Event, register: Register) -> int:
        """Encode an event.

        :raises UnsupportedError: The unit has no resource for it.
        """
        return event_value(event, self._number, register.name)

    def writes(self) -> Iterator[RegisterWrite]:
        """Write what the rules use.

        :raises UnsupportedError: The unit cannot do it.
        """
        yield from self._actions()
        yield from self._sequencer()
        for counter in sorted(self._wanted.counters, key=lambda each: each.number):
            yield from self._counter(counter)
        yield from self._inputs()
        machines = [leaf.machine for leaf in leaves_of(self._wanted) if isinstance(leaf, InMachine)]
        if machines:
            yield self._write(comparators.ETMVMIDCVR, machines[0], "VMID 0x%x" % machines[0])

    # The resource of each event.

    def _number(self, event: Event) -> int:
        unit = self._unit
        if event in self._compared:
            return self._compared[event]
        if isinstance(event, Watched):
            inputs = unit.field("ETMCCER.WatchInputs")
            if event.number >= inputs:
                raise UnsupportedError(
                    "dwt %d: this unit has %d watchpoint inputs (ETMCCER.WatchInputs)" % (event.number, inputs),
                    "ETMCCER.WatchInputs",
                )
            return etmv3.RESOURCE_WATCHPOINT + event.number
        if isinstance(event, AtZero):
            return etmv3.RESOURCE_COUNTER + event.counter
        if isinstance(event, InState):
            return etmv3.RESOURCE_STATE + event.state
        if isinstance(event, InContext):
            return etmv3.RESOURCE_CONTEXT + self._contexts.index(event.context)
        if isinstance(event, InMachine):
            return etmv3.RESOURCE_VMID
        if isinstance(event, Input):
            direct = unit.field("ETMCCR.ExtIn")
            if event.number < direct:
                return etmv3.RESOURCE_INPUT + event.number
            return etmv3.RESOURCE_SELECTED_INPUT + self._selected.index(event.number - direct)
        raise UnsupportedError(
            '"%s": nothing that an ETMv3 or a PTM can detect (ETMIDR.Major)' % (event,), "ETMIDR.Major"
        )

    def _check(self, leaves: Sequence[Event]) -> None:
        unit = self._unit
        used = {leaf.counter for leaf in leaves if isinstance(leaf, AtZero)}
        used |= {counter.number for counter in self._wanted.counters}
        there = min(unit.field("ETMCCR.Counters"), 4)
        if used and max(used) >= there:
            raise unit.shortage("ETMCCR.Counters", "counter", there, max(used) + 1)
        moves = any(isinstance(rule.do, (NextState, FirstState)) for rule in self._wanted.rules)
        states = [leaf.state for leaf in leaves if isinstance(leaf, InState)]
        if moves or states:
            unit.require("ETMCCR.Sequencer", "sequencer")
        steps = [rule.do for rule in self._wanted.rules if isinstance(rule.do, NextState)]
        for state in [*states, self._wanted.first_state, *(n for step in steps for n in (step.source, step.target))]:
            if state >= _STATES:
                raise UnsupportedError(
                    "state %d: the sequencer of an ETMv3 or a PTM has states 0 to 2 (ETMSQR.State)" % state,
                    "ETMSQR.State",
                )
        machines = {leaf.machine for leaf in leaves if isinstance(leaf, InMachine)}
        if machines:
            unit.require("ETMCCER.Virtualization", "VMID")
        if len(machines) > 1:
            raise UnsupportedError(
                "this unit has 1 VMID comparator (ETMCCER.Virtualization); the events need %d" % len(machines),
                "ETMCCER.Virtualization",
            )
        if any(isinstance(leaf, Committed) for leaf in leaves):
            raise UnsupportedError(
                "once, each: an ETMv3 or a PTM has no single-shot controls (ETMIDR.Major)", "ETMIDR.Major"
            )
        self._check_inputs()

    def _check_inputs(self) -> None:
        direct, selectable = self._unit.field("ETMCCR.ExtIn"), self._unit.field("ETMCCER.ExtInSel")
        bus = self._unit.field("ETMCCER.ExtInBus") if selectable else 0
        for number in self._selected:
            if number >= bus:
                raise UnsupportedError(
                    "input %d: this unit has %d external inputs (ETMCCR.ExtIn) and %d to select from"
                    " (ETMCCER.ExtInBus)" % (number + direct, direct, bus),
                    "ETMCCR.ExtIn",
                )
        if len(self._selected) > selectable:
            raise UnsupportedError(
                "this unit selects %d of its external inputs at a time (ETMCCER.ExtInSel); the"
                " events need %d" % (selectable, len(self._selected)),
                "ETMCCER.ExtInSel",
            )

    # What rules do.

    def _when(self, action: Action) -> List[Event]:
        return [rule.when for rule in self._wanted.rules if rule.do == action]

    def _actions(self) -> Iterator[RegisterWrite]:
        unit, rules = self._unit, self._wanted.rules
        if any(isinstance(rule.do, Mark) for rule in rules):
            raise UnsupportedError(
                "mark: an ETMv3 or a PTM has no event packets (ETMIDR.Major); it traces a trigger", "ETMIDR.Major"
            )
        yield from self._joint(etmv3.ETMTRIGGER, self._when(Trigger()), "trigger")
        there = min(unit.field("ETMCCR.ExtOut"), 4)
        for number in sorted({rule.do.number for rule in rules if isinstance(rule.do, Output)}):
            if number >= there:
                raise UnsupportedError(
                    "output %d: this unit has %d external outputs (ETMCCR.ExtOut)" % (number, there), "ETMCCR.ExtOut"
                )
            yield from self._joint(etmv3.ETMEXTOUTEVR[number + 1], self._when(Output(number)), "output %d" % number)
        if self._when(Timestamp()):
            unit.require("ETMCCER.Timestamp", "timestamps at an event")
        yield from self._joint(etmv3.ETMTSEVR, self._when(Timestamp()), "timestamp")

    def _joint(self, register: Register, events: Sequence[Event], what: str) -> Iterator[RegisterWrite]:
        if events:
            event = any_of(events)
            yield self._write(register, self.value(event, register), "%s on %s" % (what, event))

    def _sequencer(self) -> Iterator[RegisterWrite]:
        restarts = self._when(FirstState())
        moves = any(isinstance(rule.do, NextState) for rule in self._wanted.rules)
        if not restarts and not moves:
            return
        for (source, target), register in _STEPS.items():
            events = self._when(NextState(source, target)) + (restarts if target == 0 else [])
            yield from self._joint(register, events, "state %d to %d" % (source, target))
        state = self._wanted.first_state
        yield self._write(etmv3.ETMSQR, etmv3.ETMSQR.encode(State=state), "begins in state %d" % state)

    def _counter(self, counter: Counter) -> Iterator[RegisterWrite]:
        n, number = counter.number + 1, counter.number
        counts, reloads = self._when(Count(number)), self._when(Reload(number))
        why = "counter %d reloads to %d" % (number, counter.reloaded)
        yield self._write(etmv3.ETMCNTRLDVR[n], counter.reloaded, why)
        if n not in self._unit.counters:
            _check_reduced(counter, counts, reloads)
            return
        # Counters neither reload by themselves nor chain: events do both.
        reloads += [AtZero(number)] if counter.is_periodic else []
        counts += [AtZero(self._before(counter))] if counter.is_chained else []
        enable, reload = etmv3.ETMCNTENR[n], etmv3.ETMCNTRLDEVR[n]
        value = self.value(any_of(counts), enable) | enable.encode(Source=1)
        yield self._write(enable, value, "counter %d counts on %s" % (number, any_of(counts)))
        yield self._write(
            reload, self.value(any_of(reloads), reload), "counter %d reloads on %s" % (number, any_of(reloads))
        )
        yield self._write(etmv3.ETMCNTVR[n], counter.value, "counter %d begins at %d" % (number, counter.value))

    def _before(self, counter: Counter) -> int:
        before = next((each for each in self._wanted.counters if each.number == counter.number - 1), None)
        if before is None or not before.is_periodic:
            raise UnsupportedError(
                "counter %d: what it goes on from, counter %d, must be periodic (ETMCNTENR%d.A)"
                % (counter.number, counter.number - 1, counter.number + 1),
                "ETMCNTENR%d.A" % (counter.number + 1),
            )
        return before.number

    def _inputs(self) -> Iterator[RegisterWrite]:
        if self._selected:
            fields = {"Input%d" % n: number for n, number in enumerate(self._selected, 1)}
            yield self._write(etmv3.ETMEXTINSELR, etmv3.ETMEXTINSELR.encode(**fields), "external inputs")

    def _write(self, register: Register, value: int, why: str) -> RegisterWrite:
        # What moves by itself cannot be compared with what was written.
        found = write(register, value, why, self._unit)
        return found._replace(mask=found.mask & ~register.moving)


def _check_reduced(counter: Counter, counts: Sequence[Event], reloads: Sequence[Event]) -> None:
    # It counts cycles, reloads by itself, and cannot be set.
    if any(event != ALWAYS for event in counts) or reloads or counter.is_chained or not counter.is_periodic:
        raise UnsupportedError(
            "counter 0 of this unit counts cycles and begins anew whenever it was at zero: it is"
            " periodic, without events of its own (ETMCCER.ReducedCounter is 1)",
            "ETMCCER.ReducedCounter",
        )


def with_uses(steps: Sequence[RegisterWrite], uses: Sequence[RegisterWrite]) -> Iterator[RegisterWrite]:
    """Replace the writes of unused resources by those with a use."""
    used = {each.name: each for each in uses}
    known = {each.name for each in steps}
    yield from (used.get(each.name, each) for each in steps)
    yield from (each for each in uses if each.name not in known)
