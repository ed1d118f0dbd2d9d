"""Solution of one segment, or piece: its SSA form, ends and tiers."""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, Dict, Iterable, List, Optional

from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, Range, breaks
from gdb_etm.protocols.profile import LOCKUP_ADDRESSES, is_m_profile
from gdb_etm.recovery.border import Border
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import DEAD, Premise
from gdb_etm.recovery.distrust import EVEN_STACKS, Claims, Distrust
from gdb_etm.recovery.execution.builder import SsaBuilder
from gdb_etm.recovery.execution.stacking import failures
from gdb_etm.recovery.functions.calls import ALIGNED, ARGUMENT, BLOCK, CONSTANT, FRAME
from gdb_etm.recovery.functions.calls import HANDLER as OF_HANDLER
from gdb_etm.recovery.functions.calls import LINK, PRIVATE, THREAD, Assumption
from gdb_etm.recovery.lift.operations import MASK, MSP, PSP, SLOTS, SP, slot_values
from gdb_etm.recovery.memory.object_bounds import ObjectBounds
from gdb_etm.recovery.memory.store_forwarding import Reader, StoreForwarding
from gdb_etm.recovery.pointers.points_to import PointsTo
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.solve.assumptions import Assumptions
from gdb_etm.recovery.solve.doubts import Doubts
from gdb_etm.recovery.solve.dropped import Dropped
from gdb_etm.recovery.solve.regained import Regained
from gdb_etm.recovery.solve.solver import Solver
from gdb_etm.recovery.solve.thread_trials import ThreadTrials
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.runs import LOCKUP
from gdb_etm.recovery.ssa.stack_limits import Limits
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.saved_contexts import SavedContexts
from gdb_etm.recovery.threads.switching_instructions import SwitchedBy
from gdb_etm.recovery.values import CoreState, Fact, Finding, Tier, word_reader

_IPSR = 0x1FF
# CPSR.T
_THUMB = 1 << 5

Progress = Callable[[float], None]


class Solution:
    """Solution of a segment, or of one piece.

    :param history: The executed instructions.
    :param first: Number of the first instruction that is worked on.
    :param last: Number of the last.
    :param begin: The state before the first, if known.
    :param end: The state after the last, if known.
    :param rules: What may be relied on.
    :param features: Of the core and the program.
    :param facts: What is known besides.
    :param progress: Called with the share of the work that is done.
    :param border: What is known after the last instruction, where a newer piece begins there.
    :param doubts: What contradicts something.
    :param distrust: What was found not to hold elsewhere; a border has its own.
    :param points_to: Which objects the program's stores may reach.
    """

    def __init__(
        self,
        history: ExecutionHistory,
        first: int,
        last: int,
        begin: Optional[CoreState],
        end: Optional[CoreState],
        rules: Rules,
        features: Features,
        facts: Iterable[Fact] = (),
        progress: Optional[Progress] = None,
        border: Optional[Border] = None,
        doubts: Doubts = Doubts(),
        distrust: Distrust = Distrust(),
        points_to: Optional[PointsTo] = None,
    ) -> None:
        self.history = history
        self.first = first
        self.last = last
        self.begin = begin
        self._read_words = word_reader(end)
        self.end = end = doubts.without(end)
        self.border = border
        self.points_to = points_to
        self._doubts = doubts
        self.rules = rules
        self.findings: List[Finding] = []
        self.ssa = TraceSsa(rules, history.program)
        doubts.withhold(self.ssa)
        # That of the facts; nothing is known then.
        self.contradiction: Optional[Contradiction] = None
        self.features = features
        self._words = word_reader(end)
        # What this and newer pieces have found out.
        self.distrust = border.distrust if border is not None else distrust
        # Of memory where the border is.
        self._readers: Dict[Tier, Reader] = {}
        self._saved: Optional[SavedContexts] = None
        # Whether the core is of M-profile.
        self.is_m_profile = is_m_profile(history.source.core)
        self.limits = Limits(self.ssa, (begin, end), self.features.psp, self.is_m_profile)
        later = border.threads if border is not None else None
        given = (self._words, self.limits, failures(end), later, points_to)
        self.flow = SsaBuilder(history, self.ssa, first, last, self.features, *given)
        self._progress = progress
        facts_at: Dict[int, List[Fact]] = {}
        for fact in facts:
            if first <= fact.number <= last + 1:
                facts_at.setdefault(fact.number, []).append(fact)
        self._build(facts_at)
        self.solver = self._make_solver()
        self._solve()

    def _make_solver(self) -> Solver:
        border, flow = self.border, self.flow
        readable = border.readable if border else None
        memory = StoreForwarding(self.ssa, word_reader(self.begin), self._left(), readable)
        assumptions = Assumptions(self.ssa, flow.calls.assumptions, self._entered, self._within)
        assumptions.by_block = flow.threads.by_block
        solver = Solver(self.ssa, memory, assumptions, self.address, self._count)
        solver.saved = self._saved
        solver.owned = flow.owned
        if flow.owned is not None:
            flow.owned.strange.update(self.distrust.strange)
        solver.scheduler = flow.threads.scheduler
        if self.points_to is not None:
            solver.object_bounds = ObjectBounds(self.ssa, self.points_to, self.first, self.last, self.address)
        if flow.threads.is_open:
            solver.trials = ThreadTrials(solver.propagation, assumptions, flow.choose, self._saved, flow.owned)
        solver.further = self._further if border is not None else None
        return solver

    @property
    def trusted_end(self) -> Optional[CoreState]:
        """The state after the last instruction, if it is that."""
        return self.end if self._end_fits else None

    def _build(self, facts_at: Dict[int, List[Fact]]) -> None:
        pc = None if self.end is None else self.end.registers.get("pc")
        self._end_fits = pc is None or self._reaches(pc)
        registers = {} if self.end is None else self.end.registers
        self.flow.threads.pointers = {one: registers[one.value] for one in SwitchedBy if one.value in registers}
        if not self._end_fits:
            self.flow.end_elsewhere()
        try:
            self.flow.begin()
            if self.begin is not None:
                self._anchor(self.begin, Premise.BEGIN)
            self._learn_facts(facts_at)
            for number in self.flow.follow():
                if self._progress is not None:
                    self._progress(0.3 * (number - self.first) / (self.last - self.first + 1))
            self._learn_facts(facts_at)
            self._end()
            self.limits.conclude(self.end, self.features.one_state)
        except Contradiction as contradiction:
            self.contradiction = contradiction

    def _learn_facts(self, facts_at: Dict[int, List[Fact]]) -> None:
        # Facts about registers at the segment's ends are taken as they come; those between when all is there.
        for number in list(facts_at):
            for fact in facts_at[number] if number <= self.ssa.number + 1 else ():
                self._learn_fact(fact)
            if number <= self.ssa.number + 1:
                del facts_at[number]

    def _learn_fact(self, fact: Fact) -> None:
        for slot, meant, value in slot_values(fact.name, fact.value):
            variable = self.variable(fact.number, slot)
            if variable is not None:
                self.ssa.learn(variable, meant, value, Premise.GIVEN)

    def variable(self, number: int, slot: int) -> Optional[int]:
        """Give a slot's variable before an instruction; None for a dead flag."""
        at = bisect_right(self.ssa.times[slot], number) - 1
        held = self.ssa.held[slot][at] if at >= 0 else DEAD
        return None if held == DEAD else held

    def _left(self) -> Optional[Reader]:
        # Memory at the end.
        if self.border is not None:
            return self._reader(Tier.EXACT)
        return self._words if self._end_fits else None

    @property
    def readable(self) -> Callable[[int], bool]:
        """Tells, even without this, whether memory is at an aligned address."""
        words = self._words
        if self.border is not None:
            return self.border.readable
        return lambda word: words is not None and words(word) is not None

    def _further(self, memory: StoreForwarding) -> None:
        # What is known of the end by assumption.
        if self.border is not None:
            self.ssa.number = self.last
            self._meet(self.border, Tier.ASSUMED)
            memory.reveal(self._reader(Tier.ASSUMED))

    def _reader(self, limit: Tier) -> Reader:
        if limit not in self._readers and self.border is not None:
            word, doubted = self.border.word(limit), self._doubts.words
            self._readers[limit] = lambda address: None if address in doubted else word(address)
        return self._readers[limit]

    def _meet(self, border: Border, limit: Tier) -> None:
        # The registers at the end, up to a tier.
        for slot, known in border.slots.items():
            if known.tier <= limit:
                self.ssa.learn(self.flow.current[slot], known.mask, known.bits, Premise.HALT)

    def _end(self) -> None:
        end = self.end
        if self.border is not None:
            self.flow.finish(self.border.address, self.border.isa)
            self._meet(self.border, Tier.EXACT)
            self._saved = self.flow.wait(self._reader(Tier.ASSUMED))
        if end is None:
            return
        ssa = self.ssa
        ssa.number = self.last
        pc = end.registers.get("pc")
        if not self._end_fits:
            text = "the trace ends before %#x, where the core halted; its state is not that after the last instruction"
            self.findings.append(Finding(text % pc, self.last, Tier.EXACT))
            return
        status = end.registers.get("cpsr")
        if status is not None:
            self.flow.finish(pc, Isa.T32 if status & _THUMB else Isa.A32)
        elif self.is_m_profile:
            self.flow.finish(pc, Isa.T32)
        self._anchor(end, Premise.HALT)
        if self._words is not None:
            self._saved = self.flow.wait(self._words)

    def _reaches(self, pc: int) -> bool:
        # Whether the program counter is where the last instruction leads.
        last: Optional[Range] = None
        events: List[Event] = []
        for item in self.history.spans(self.last, self.last):
            if isinstance(item, Span):
                last = item.range
            elif last is not None and isinstance(item, Gap):
                return False
            elif last is not None and isinstance(item, (Exception_, ExceptionReturn)) and not breaks(item):
                events.append(item)
        if any(_hides_what_ran(event) for event in events):
            return False
        if last is None or events:
            # A handler's first instruction, or where one returned to.
            return True
        if self._has_locked_up(pc):
            return True
        insn = self.flow.last_instruction()
        if insn is None or insn.target is not None:
            return True
        if insn.goes_to and pc == insn.goes_to:
            return True
        return pc == last.end

    def _has_locked_up(self, pc: int) -> bool:
        # Nothing runs in lockup.  Where it is not traced, the handler must be the one that the trace was in.
        status = None if self.end is None else self.end.registers.get("xpsr")
        is_lockup = is_m_profile(self.history.source.core) and pc in LOCKUP_ADDRESSES
        return is_lockup and status is not None and status & _IPSR == (self.flow.handler or 0)

    def _anchor(self, state: CoreState, why: int) -> None:
        # The registers of a state are those of the moment that the segment has come to.
        ssa, current = self.ssa, self.flow.current
        registers = state.registers
        for name, value in registers.items():
            for slot, meant, bits in slot_values(name, value) if name not in ("msp", "psp") else ():
                ssa.learn(current[slot], meant, bits, why)
        self.flow.learn_failed(registers, why)
        self.limits.anchor(registers, why)
        status, control = registers.get("xpsr"), registers.get("control")
        if status is None or control is None:
            return
        process = control >> 1 & 1 and not status & _IPSR
        for name, slot, active in (("msp", MSP, not process), ("psp", PSP, process)):
            if name in registers:
                ssa.learn(current[SP if active else slot], MASK, registers[name], why)

    def _count(self, constraints: int) -> None:
        self._done += constraints
        if self._progress is not None:
            share = self._done / (self._done + 3.0 * len(self.ssa.constraints) + 1)
            self._progress(0.3 + 0.7 * share)

    def _solve(self) -> None:
        self._done = 0
        if self.contradiction is not None:
            return
        solver = self.solver
        try:
            solver.exact()
        except Contradiction as contradiction:
            self.contradiction = contradiction
            return
        if self._doubts != Doubts():
            self._regain()
        if self.rules.limit >= Tier.ASSUMED:
            claims = Claims(solver.assumptions, self._entered, self._within)
            if self.flow.threads.has_odd_stacks:
                self.distrust = self.distrust._replace(claims=self.distrust.claims | {EVEN_STACKS})
            solver.assumed(claims.doubted(self.distrust))
            self._tell_fallen()
            self.distrust = claims.found(solver.fallen, self.distrust)

    @property
    def doubts(self) -> Doubts:
        """What contradicts something, with what was found to do so."""
        return self._doubts if self.contradiction is None else self._doubts.more(self.ssa, self.contradiction)

    def _regain(self) -> None:
        # What was withheld comes back as assumed.
        ssa, doubts = self.ssa, self._doubts
        dropped = Dropped(list(dict.fromkeys(ssa.withheld)), sorted(doubts.links), sorted(doubts.words))
        if self.rules.limit >= Tier.ASSUMED:
            regained = Regained(self.solver.propagation, doubts, self._read_words or _nothing)
            regained.offer()
            dropped = regained.dropped
        self.findings.append(Finding(dropped.text(ssa, sorted(doubts.void)), None, Tier.EXACT))

    def give_up(self) -> None:
        """Report that nothing is known, as all facts contradict each other."""
        text = "the facts contradict each other: nothing is shown of #{:,} to #{:,}".format(self.first, self.last)
        self.findings.append(Finding(text, None, Tier.EXACT))

    def _tell_fallen(self) -> None:
        is_refuted = self.solver.assumptions.is_refuted
        for fallen in self.solver.fallen:
            switches = {(one.kind, one.number): one for one in fallen.assumptions if one.kind >= THREAD}
            blocks = sorted([one for one in switches.values() if one.kind == BLOCK], key=lambda one: one.number)
            sure = blocks[-1:] or list(switches.values()) or [one for one in fallen.assumptions if is_refuted(one)]
            for one in sure or fallen.assumptions[-1:]:
                text = self._of_threads(one) if one.kind >= THREAD else self._of_functions(one)
                if not sure and len(fallen.assumptions) > 1:
                    text += ", or one of %d others before it" % (len(fallen.assumptions) - 1)
                self.findings.append(Finding(text, one.number, Tier.ASSUMED))

    def _of_threads(self, one: Assumption) -> str:
        # That it does not hold.
        if one.kind == THREAD:
            return "it was another thread than that left at #{:,} that went on".format(one.number)
        if one.kind == BLOCK:
            return "the scheduler's blocks do not show which threads ran up to #{:,}".format(one.number)
        if one.kind == PRIVATE:
            return "others write the frame of the function at %#x, which makes no address of it" % one.distance
        until = "" if self.border is not None else " at the end"
        return "the thread left at #{:,} does not wait{} as it was left".format(one.number, until)

    def _of_functions(self, one: Assumption) -> str:
        # The same.
        names = {slot: name for name, slot in SLOTS.items()}
        where = self.address(one.number)
        if one.kind == LINK:
            return "the function at %#x did not begin with LR as a reset, or its only call, leaves it" % where
        if one.kind == CONSTANT:
            what = "a word of the frame" if one.slot == SP else names[one.slot]
            return "%s at %#x is not what the function sets it to" % (what, where)
        if one.kind == ARGUMENT:
            return "%s was not what the call before %#x sets it to" % (names[one.slot], self.address(one.returned))
        if one.kind == FRAME:
            what = "main stack's frame" if self.solver.assumptions.is_placed(one) else "call frame information"
            return "the %s at %#x does not hold" % (what, where)
        if one.kind == ALIGNED:
            what = "the frame address" if one.distance == 7 else "what SP is set to"
            return "%s at %#x is no multiple of %d" % (what, where, one.distance + 1)
        what = "exception after" if one.kind == OF_HANDLER else "call at"
        return "the %s %#x did not preserve %s" % (what, where, names[one.slot])

    def _entered(self, number: int) -> int:
        return self.address(number + 1) if number < self.last else 0

    def _within(self, number: int) -> int:
        return self.address(number) if self.first <= number <= self.last else 0

    def address(self, number: int) -> int:
        """Give the address of an instruction of the segment."""
        return self.flow.executed[number - self.first].address


def _nothing(word: int) -> Optional[int]:
    return None


def _hides_what_ran(event: Event) -> bool:
    # The trace of an Armv7-M core in lockup has its address, not where execution came to (IHI 0064, table 5-5).
    return isinstance(event, Exception_) and event.name == LOCKUP and event.return_address == LOCKUP_ADDRESSES[1]
