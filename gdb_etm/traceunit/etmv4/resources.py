"""Event resources of an ETMv4.

Rules become event fields, counters, sequencer and single-shot controls.

IHI 0064, 4.2 (counters, sequencer, single-shot controls, external inputs), 4.4 (resource selectors and events), 7.3.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.actions import Action, Count, Counter, FirstState, NextState, Reload, Rule, Timestamp
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.comparators import Allotment
from gdb_etm.traceunit.etmv4.matches import Compared, Matches, allot_matches, compared, match_writes
from gdb_etm.traceunit.etmv4.slots import slots_of
from gdb_etm.traceunit.etmv4.terms import (
    CONTEXTS,
    DERIVED,
    EXTERNAL_INPUTS,
    MACHINES,
    PROCESSOR,
    RANGES,
    SINGLE_SHOTS,
    SINGLES,
    STATE_0,
    Joined,
    Selectors,
    Term,
    reduced,
)
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
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.window import WindowRules


class Etmv4Resources(NamedTuple):
    """How a unit's resources are programmed."""

    # Writes of the registers that have a use.
    writes: Tuple[RegisterWrite, ...] = ()
    # The event field of TRCVICTLR.
    view: int = etmv4.EVENT_TRUE
    # What the numbers of the event packets in the trace mean.
    marks: Tuple[Tuple[int, str], ...] = ()
    taken: Tuple[Taken, ...] = ()
    notes: Tuple[str, ...] = ()


def plan_resources(wanted: WindowRules, allotment: Allotment, capabilities: Capabilities) -> Etmv4Resources:
    """Give each rule its resources.

    :raises UnsupportedError: The unit has too few, or cannot do what is asked for.
    """
    if wanted == WindowRules():
        return Etmv4Resources()
    if not capabilities.selector_pairs:
        raise UnsupportedError(
            "events: this unit has no resource selectors (TRCIDR4.NUMRSPAIR is 0)", "TRCIDR4.NUMRSPAIR"
        )
    return _Packer(wanted, allotment, capabilities).packed()


class _Packer:
    # Packs one set of rules; everything that rules share is kept here.

    def __init__(self, wanted: WindowRules, allotment: Allotment, capabilities: Capabilities) -> None:
        self._wanted = wanted
        self._unit = capabilities
        self._known_contexts = len(allotment.contexts)
        rules = [Rule(compared(rule.when), rule.do, rule.text or str(rule.when)) for rule in wanted.rules]
        self._view = compared(wanted.view)
        self._rules = rules
        leaves = [leaf for event in (*(rule.when for rule in rules), self._view) for leaf in _leaves(event)]
        self._matches = self._matched(leaves, allotment)
        self._shots = tuple(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Committed)))
        self._inputs = tuple(dict.fromkeys(leaf.number for leaf in leaves if isinstance(leaf, Input)))
        self._selectors = Selectors()
        self._shot_numbers: Dict[Committed, int] = {}
        # Events whose parts may miss each other.
        self._missing: List[str] = []
        self._check(leaves)

    def packed(self) -> Etmv4Resources:
        """Pack all of them."""
        shots = list(self._single_shots())
        # What makes events first, then what they are for.
        writes = [*self._sequencer(), *self._counters(), *shots, *self._external_inputs(), *self._timestamps()]
        events, marks = self._events()
        writes += events
        view = self._field(self._view, "when to trace")
        self._selectors.check(self._unit)
        writes += self._selectors.writes()
        writes += match_writes(self._matches, self._known_contexts, self._unit)
        return Etmv4Resources(tuple(writes), view, tuple(marks), self._matches.taken, tuple(self._notes(view)))

    def _matched(self, leaves: Sequence[Event], allotment: Allotment) -> Matches:
        found = [
            each
            for leaf in leaves
            for each in (leaf.of if isinstance(leaf, Committed) else (leaf,))
            if isinstance(each, Compared)
        ]
        contexts = [each.context for each in leaves if isinstance(each, InContext)]
        machines = [each.machine for each in leaves if isinstance(each, InMachine)]
        contexts += [each.context for each in found if each.context is not None]
        machines += [each.machine for each in found if each.machine is not None]
        return allot_matches(found, contexts, machines, allotment, self._unit)

    def _check(self, leaves: Sequence[Event]) -> None:
        unit = self._unit
        used = {leaf.counter for leaf in leaves if isinstance(leaf, AtZero)}
        used |= {counter.number for counter in self._wanted.counters}
        there = min(unit.field("TRCIDR5.NUMCNTR"), 4)
        if used and max(used) >= there:
            raise unit.shortage("TRCIDR5.NUMCNTR", "counter", there, max(used) + 1)
        moves = any(isinstance(rule.do, (NextState, FirstState)) for rule in self._rules)
        if moves or any(isinstance(leaf, InState) for leaf in leaves):
            unit.require("TRCIDR5.NUMSEQSTATE", "sequencer")
        watched = max((leaf.number for leaf in _with_members(leaves) if isinstance(leaf, Watched)), default=-1)
        inputs = unit.field("TRCIDR4.NUMPC")
        if watched >= inputs:
            raise UnsupportedError(
                "dwt %d: this unit has %d inputs from the processor's comparators (TRCIDR4.NUMPC)" % (watched, inputs),
                "TRCIDR4.NUMPC",
            )

    # What fields select.

    def _field(self, event: Event, words: str) -> int:
        found = reduced(event, self._term, words)
        if isinstance(found, Joined) and found.both and self._is_brief(found.first) and self._is_brief(found.second):
            self._missing.append(words)
        return self._selectors.field(found, words)

    def _is_brief(self, term: Term) -> bool:
        # Whether it is so for one cycle each time (4.4.3).
        if term.inverted or term.group == DERIVED:
            periodic = sum(1 << each.number for each in self._wanted.counters if each.is_periodic)
            return not term.inverted and not term.members & ~periodic
        return term.group in (SINGLES, SINGLE_SHOTS, PROCESSOR)

    def _joint_field(self, events: Sequence[Event], words: str) -> int:
        return self._field(any_of(events), words) if events else etmv4.EVENT_FALSE

    def _term(self, event: Event) -> Term:
        if isinstance(event, Compared):
            number = self._matches.numbers[event]
            return Term(RANGES if event.is_range else SINGLES, 1 << number)
        if isinstance(event, Watched):
            return Term(PROCESSOR, 1 << event.number)
        if isinstance(event, AtZero):
            return Term(DERIVED, 1 << event.counter)
        if isinstance(event, InState):
            return Term(DERIVED, 1 << STATE_0 + event.state)
        if isinstance(event, Committed):
            return Term(SINGLE_SHOTS, 1 << self._shot_numbers[event])
        if isinstance(event, Input):
            selected = self._unit.field("TRCIDR5.NUMEXTINSEL")
            return Term(EXTERNAL_INPUTS, 1 << (self._inputs.index(event.number) if selected else event.number))
        if isinstance(event, InContext):
            return Term(CONTEXTS, 1 << self._matches.contexts.index(event.context))
        if isinstance(event, InMachine):
            return Term(MACHINES, 1 << self._matches.machines.index(event.machine))
        raise UnsupportedError(
            '"%s" is nothing that a trace unit can detect (TRCRSCTLRn.GROUP)' % (event,), "TRCRSCTLRn.GROUP"
        )

    def _when(self, action: Action) -> List[Event]:
        return [rule.when for rule in self._rules if rule.do == action]

    # The resources, one kind after the other.

    def _events(self) -> Tuple[List[RegisterWrite], List[Tuple[int, str]]]:
        slots = slots_of(self._rules, self._unit)
        if not slots:
            return [], []
        fields = {"EVENT%d" % n: self._joint_field(slot.events, slot.words) for n, slot in sorted(slots.items())}
        in_trace = sum(1 << n for n, slot in slots.items() if slot.in_trace)
        trigger = any(slot.triggers for slot in slots.values())
        in_data = any(slot.in_data for slot in slots.values())
        words = "; ".join("event %d: %s" % (n, slot.words) for n, slot in sorted(slots.items()))
        control = etmv4.TRCEVENTCTL1R.encode(INSTEN=in_trace, ATB=int(trigger), DATAEN=int(in_data))
        reported = ["events in the trace"] if in_trace else []
        reported += ["event 0 is a trigger on the trace bus"] if trigger else []
        marks = [(n, slot.words) for n, slot in sorted(slots.items()) if slot.in_trace]
        return [
            _write(etmv4.TRCEVENTCTL0R, etmv4.TRCEVENTCTL0R.encode(**fields), words),
            _write(etmv4.TRCEVENTCTL1R, control, ", ".join(reported) or "no events in the trace"),
        ], marks

    def _timestamps(self) -> Iterator[RegisterWrite]:
        events = self._when(Timestamp())
        if events:
            self._unit.require("TRCIDR0.TSSIZE", "timestamps")
            yield _write(etmv4.TRCTSCTLR, self._joint_field(events, "timestamp"), "a timestamp at an event")

    def _sequencer(self) -> Iterator[RegisterWrite]:
        steps = [rule.do for rule in self._rules if isinstance(rule.do, NextState)]
        restarts = self._when(FirstState())
        if not steps and not restarts:
            return
        for step in steps:
            if abs(step.source - step.target) != 1:
                raise UnsupportedError(
                    "from state %d to %d: this unit's sequencer goes to the next state or the one before (TRCSEQEVRn.F)"
                    % (step.source, step.target),
                    "TRCSEQEVRn.F",
                )
        for n, register in enumerate(etmv4.TRCSEQEVR):
            forward, back = self._when(NextState(n, n + 1)), self._when(NextState(n + 1, n))
            fields = {
                "F": self._joint_field(forward, "state %d to %d" % (n, n + 1)),
                "B": self._joint_field(back, "state %d to %d" % (n + 1, n)),
            }
            yield _write(register, register.encode(**fields), "between states %d and %d" % (n, n + 1))
        reset = self._joint_field(restarts, "back to state 0")
        yield _write(etmv4.TRCSEQRSTEVR, etmv4.TRCSEQRSTEVR.encode(RST=reset), "when back to state 0")
        state = self._wanted.first_state
        yield _write(etmv4.TRCSEQSTR, etmv4.TRCSEQSTR.encode(STATE=state), "begins in state %d" % state)

    def _counters(self) -> Iterator[RegisterWrite]:
        for counter in sorted(self._wanted.counters, key=lambda each: each.number):
            n = counter.number
            counts, reloads = self._when(Count(n)), self._when(Reload(n))
            value, control = etmv4.TRCCNTRLDVR[n], etmv4.TRCCNTCTLR[n]
            yield _write(value, counter.reloaded, "counter %d reloads to %d" % (n, counter.reloaded))
            if n == 0 and self._unit.field("TRCIDR5.REDFUNCNTR"):
                _check_reduced(counter, counts, reloads)
                continue
            if counter.is_chained and n % 2 == 0:
                raise UnsupportedError(
                    "counter %d: only counters 1 and 3 go on from the one before (TRCCNTCTLRn" ".CNTCHAIN)" % n,
                    "TRCCNTCTLRn.CNTCHAIN",
                )
            fields = {
                "CNTEVENT": self._joint_field(counts, "counter %d counts" % n),
                "RLDEVENT": self._joint_field(reloads, "counter %d reloads" % n),
                "RLDSELF": int(counter.is_periodic),
                "CNTCHAIN": int(counter.is_chained),
            }
            yield _write(control, control.encode(**fields), str(counter))
            yield _write(etmv4.TRCCNTVR[n], counter.value, "counter %d begins at %d" % (n, counter.value))

    def _single_shots(self) -> Iterator[RegisterWrite]:
        there = min(self._unit.field("TRCIDR4.NUMSSCC"), 8)
        if len(self._shots) > there:
            raise self._unit.shortage("TRCIDR4.NUMSSCC", "single-shot control", there, len(self._shots))
        free = list(range(there))
        for shot in self._shots:
            able = [n for n in free if not _lacking(shot, n, self._unit)]
            if not able:
                name = _lacking(shot, free[0], self._unit)
                raise UnsupportedError(
                    '"%s": not with the single-shot controls of this unit (%s is 0)' % (shot, name), name
                )
            n = able[0]
            free.remove(n)
            self._shot_numbers[shot] = n
            yield from self._single_shot(shot, n)

    def _single_shot(self, shot: Committed, n: int) -> Iterator[RegisterWrite]:
        control, status, inputs = etmv4.TRCSSCCR[n], etmv4.TRCSSCSR[n], etmv4.TRCSSPCICR[n]
        singles = ranges = watched = 0
        for each in shot.of:
            if isinstance(each, Watched):
                watched |= 1 << each.number
            elif isinstance(each, Compared) and each.is_range:
                ranges |= 1 << self._matches.numbers[each]
            elif isinstance(each, Compared):
                singles |= 1 << self._matches.numbers[each]
            else:
                raise UnsupportedError(
                    '"%s": a single-shot control waits for instructions, loads and stores' " (TRCSSCCRn.SAC)" % (shot,),
                    "TRCSSCCRn.SAC",
                )
        yield _write(control, control.encode(RST=int(shot.again), ARC=ranges, SAC=singles), str(shot))
        yield RegisterWrite(status.name, status.offset, 0, status.fields["STATUS"].mask, "not fired")
        if watched:
            yield _write(inputs, inputs.encode(PC=watched), str(shot))

    def _external_inputs(self) -> Iterator[RegisterWrite]:
        if not self._inputs:
            return
        unit = self._unit
        there, selected = unit.field("TRCIDR5.NUMEXTIN"), unit.field("TRCIDR5.NUMEXTINSEL")
        for number in self._inputs:
            if not 0 <= number < there:
                raise UnsupportedError(
                    "input %d: this unit has %d external inputs (TRCIDR5.NUMEXTIN)" % (number, there),
                    "TRCIDR5.NUMEXTIN",
                )
        if not selected:
            return
        if len(self._inputs) > selected:
            raise UnsupportedError(
                "this unit takes %d of its external inputs at a time (TRCIDR5.NUMEXTINSEL); the"
                " events need %d" % (selected, len(self._inputs)),
                "TRCIDR5.NUMEXTINSEL",
            )
        fields = {"SEL%d" % n: number for n, number in enumerate(self._inputs)}
        why = "external inputs " + ", ".join(map(str, self._inputs))
        yield _write(etmv4.TRCEXTINSELR, etmv4.TRCEXTINSELR.encode(**fields), why)

    # What the user should know.

    def _notes(self, view: int) -> Iterator[str]:
        if view != etmv4.EVENT_TRUE:
            yield "an event switches the trace: a few instructions more or less are traced where it does (4.1.2)"
        forward = [self._when(NextState(n, n + 1)) for n in range(3)]
        if any(first and set(first) & set(second) for first, second in zip(forward, forward[1:])):
            yield "one event takes the sequencer through several states at once"
        for words in dict.fromkeys(self._missing):
            yield (
                '"%s": each is so for one cycle, and they may miss each other; a state or a counter can remember one'
                % words
            )
        reduced_counter = any(counter.number == 0 for counter in self._wanted.counters) and self._unit.field(
            "TRCIDR5.REDFUNCNTR"
        )
        if reduced_counter:
            yield "counter 0 counts every cycle and begins anywhere (TRCIDR5.REDFUNCNTR is 1)"


def _check_reduced(counter: Counter, counts: Sequence[Event], reloads: Sequence[Event]) -> None:
    # It counts cycles, reloads by itself, and cannot be set (4.2.1).
    if any(event != ALWAYS for event in counts) or reloads or counter.is_chained:
        raise UnsupportedError(
            "counter 0 of this unit counts cycles and nothing else (TRCIDR5.REDFUNCNTR is 1)", "TRCIDR5.REDFUNCNTR"
        )
    if not counter.is_periodic:
        raise UnsupportedError(
            "counter 0 of this unit begins anew whenever it was at zero: it is periodic" " (TRCIDR5.REDFUNCNTR is 1)",
            "TRCIDR5.REDFUNCNTR",
        )


def _lacking(shot: Committed, n: int, unit: Capabilities) -> str:
    # The field that says that a single-shot control cannot, or nothing.
    kinds = set()
    for each in shot.of:
        if isinstance(each, Watched):
            kinds.add("PC")
        elif isinstance(each, Compared):
            kinds.add("INST" if each.access is None else "DA" if each.value is None else "DV")
    fields = ("TRCSSCSR%d.%s" % (n, kind) for kind in sorted(kinds))
    return next((field for field in fields if not unit.field(field)), "")


def _leaves(event: Event) -> Iterator[Event]:
    for each in members(event):
        if not isinstance(each, Constant):
            yield each


def _with_members(leaves: Iterable[Event]) -> Iterator[Event]:
    for leaf in leaves:
        yield from leaf.of if isinstance(leaf, Committed) else (leaf,)


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    # What moves by itself cannot be compared with what was written.
    return RegisterWrite(register.name, register.offset, value, register.mask & ~register.moving, why)


def counter_to_spare(counters: Sequence[Counter], unit: Capabilities) -> Optional[int]:
    """Find an unused counter that can count events, or None."""
    used = {counter.number for counter in counters}
    first = 1 if unit.field("TRCIDR5.REDFUNCNTR") else 0
    return next((n for n in range(first, min(unit.field("TRCIDR5.NUMCNTR"), 4)) if n not in used), None)
