"""Builder of a segment's SSA form: conditions, IT blocks, events."""

from __future__ import annotations

from typing import Callable, Dict, Final, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.program.modes import failed
from gdb_etm.protocols.elements import Exception_, ExceptionReturn
from gdb_etm.protocols.profile import LOCKUP_ADDRESSES, is_m_profile
from gdb_etm.recovery.constraints.graph import DEAD, INPUT, START, Premise
from gdb_etm.recovery.execution.branch_targets import Arrival, BranchTargets, PendingBranch
from gdb_etm.recovery.execution.exception_semantics import is_asynchronous
from gdb_etm.recovery.execution.exceptions import Suspended, TraceExceptions
from gdb_etm.recovery.execution.stacking import Failures, Stacking
from gdb_etm.recovery.execution.thread_switches import Possible, ThreadSwitches
from gdb_etm.recovery.execution.traced_transfers import TracedTransfers
from gdb_etm.recovery.functions.calls import CallMatcher
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.functions.functions import Functions
from gdb_etm.recovery.functions.losses import NOTHING
from gdb_etm.recovery.lift.operations import CONTROL, FP_DEFAULT, FP_MODE, FPCA, HANDLER, LR, MASK, SP
from gdb_etm.recovery.lift.template import FLAGS, Template, Templates
from gdb_etm.recovery.pointers.points_to import PointsTo
from gdb_etm.recovery.ssa.exception_frames import Word
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.runs import (
    LOCKUP,
    Aside,
    Chained,
    Handling,
    InstructionRun,
    handlers_at_start,
    live_flags,
    parts,
    waiting_handlers,
)
from gdb_etm.recovery.ssa.segments import within
from gdb_etm.recovery.ssa.stack_limits import Limits
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.residences import LaterThreads
from gdb_etm.recovery.threads.saved_contexts import SavedContexts
from gdb_etm.recovery.threads.switching_instructions import SwitchingInstructions, may_leave_stack

_BIT: Final = 0xFFFFFFFE
_NO_MODE: Final = 0xFFFFFFE0


class SsaBuilder:
    """Builds the SSA form of a segment, or of one piece.

    :param history: The executed instructions.
    :param ssa: Is filled.
    :param first: Number of the first instruction.
    :param last: Number of the last instruction.
    :param features: What is known of the core.
    :param word: Reads memory at the end.
    :param limits: The stack limits of the same segment; None when nothing is known of stack limits.
    :param failed: Which exceptions' frames may not have been stored.
    :param later: The threads that ran after the last instruction; None for those of the end.
    :param points_to: Which objects the program's stores may reach, if that is known.
    """

    def __init__(
        self,
        history: ExecutionHistory,
        ssa: TraceSsa,
        first: int,
        last: int,
        features: Features,
        word: Optional[Word] = None,
        limits: Optional[Limits] = None,
        failed: Failures = Failures(False, False),
        later: Optional[LaterThreads] = None,
        points_to: Optional[PointsTo] = None,
    ) -> None:
        self.ssa = ssa
        self.first, self.last = first, last
        self._m_profile = is_m_profile(history.source.core)
        objects = ssa.rules.objects
        given = (history.program, self._m_profile, objects, features.aspen)
        self._templates = points_to.templates if points_to else Templates(*given)
        self._runs = parts(within(history, first, last), self._templates)
        # The instructions.
        self.executed = [
            template for run in self._runs if isinstance(run, InstructionRun) for template in run.templates
        ]
        if any(FP_MODE in template.writes for template in self.executed):
            features = features._replace(fpu=True)
        self._outcomes = {outcome.number: outcome.passed for _, outcome in history.conditions()}
        # The variable of each slot; those of one instruction come after the others.
        self.current: List[int] = []
        self.calls = CallMatcher(ssa)
        self._switches = switches = SwitchingInstructions(history.program, objects)
        self._exceptions = TraceExceptions(ssa, self.calls, features, self._m_profile, switches.is_entry)
        self.threads = ThreadSwitches(
            *(ssa, history.program, switches, self._runs, self.calls, self._exceptions, self._address, word, later)
        )
        self._features, self._limits, self._failures = features, limits, failed
        # The slots in an IT block, if its condition fails and if it passes; and the variable of that bit.
        self._predicated: Tuple[List[int], List[int]] = ([], [])
        self._predicate = -1
        # Of each handler that runs, the branch that it came between.
        self._interrupted: List[Optional[Arrival]] = []
        self._handlers = waiting_handlers(self._runs)
        self._exceptions.outer = handlers_at_start(self._runs)
        self._last = self.executed[-1] if self.executed else None
        self._traced = TracedTransfers(ssa, history) if history.tells_transfers else None
        self._functions = self._make_functions(points_to)
        self._branches = BranchTargets(ssa, self.calls, self._functions, self._address)
        # Whether SP or a frame pointer has changed since call frame information was looked at.
        self._moved = True

    def _make_functions(self, points_to: Optional[PointsTo]) -> Optional[Functions]:
        frames = self.ssa.rules.frames
        if frames is None:
            return None
        frame_of = points_to.frame_of if points_to is not None else lambda address: None
        template, switches, resets_link = self._templates.at_address, self._switches.has, self._features.resets_link
        return Functions(self.ssa, self.calls, frames, template, frame_of, switches, resets_link)

    def begin(self) -> None:
        """Give every slot a variable."""
        ssa = self.ssa
        ssa.number = self.first - 1
        for slot in range(64):
            bit = slot in FLAGS or slot in (HANDLER, FPCA)
            variable = ssa.new(START, _BIT if bit else _NO_MODE if slot in (FP_MODE, FP_DEFAULT) else 0)
            self.current.append(variable)
            ssa.put(slot, variable)
        self.current += [0] * 128
        if not self._m_profile:
            return
        for slot in (13, 20, 21):
            ssa.learn(self.current[slot], 3, 0, Premise.MODE)
        if not self._features.psp:
            ssa.learn(self.current[CONTROL], 2, 0, Premise.MODE)
        if not self._features.fpu:
            ssa.learn(self.current[FPCA], 1, 0, Premise.MODE)

    def end_elsewhere(self) -> None:
        """Note that memory at the end is of a later moment."""
        self.threads.end_elsewhere()

    def follow(self) -> Iterator[int]:
        """Add all instructions; yields the number of the next one at times."""
        runs = self._runs
        needs = live_flags(runs)
        if self._m_profile:
            self.threads.match()
        at = 0
        for index, item in enumerate(runs):
            if isinstance(item, InstructionRun):
                yield item.number
                number = item.number
                for template, taken in zip(item.templates, item.taken):
                    self._step(template, number, needs[at], taken)
                    number += 1
                    at += 1
            else:
                self._event(item, index)

    def wait(self, word: Word) -> SavedContexts:
        """Assume that threads wait at the end with their frames in memory."""
        return self.threads.wait(self.last, word, self._finish_waiting)

    @property
    def owned(self) -> Optional[PrivateAccesses]:
        """Accesses to frames that nobody else can reach."""
        return None if self._functions is None else self._functions.owned

    @property
    def handler(self) -> Optional[int]:
        """The vector of the innermost handler that runs at the end.

        None if none runs, or its entry was not seen.
        """
        return list(self._handlers.values())[-1] if self._handlers else None

    def learn_failed(self, registers: Mapping[str, int], why: int) -> None:
        """Learn SP and LR of the code that has failed.

        :param registers: Of the core at the end, lower-case.
        """
        banked, found = failed(registers), self._exceptions.failed()
        for variable, value in zip(found, banked) if found is not None and banked is not None else ():
            self.ssa.learn(variable, MASK, value, why)

    def last_instruction(self) -> Optional[Template]:
        """Give the last instruction; None when there is none."""
        return self._last

    def finish(self, pc: Optional[int], isa: Isa) -> None:
        """Finish the segment.

        :param pc: Address of the instruction that would have been next, if known.
        :param isa: Its instruction set.
        """
        self.ssa.number = self.last
        if self._m_profile and pc in LOCKUP_ADDRESSES:
            self._branches.stop(None, self.current)
        elif pc is not None:
            self._branches.follow(pc, isa, self.current)
        calls = self.calls
        self._finish(Suspended(self.last, calls.activation, calls.stack, self.current[SP]))
        for suspended in self._exceptions.interrupted():
            self._finish(suspended)

    def choose(self, among: Callable[[Sequence[Possible]], Set[int]]) -> None:
        """Ask which of several threads went on; as :meth:`ThreadSwitches.choose`."""
        self.threads.choose(among, self._running)

    def _running(self, at: Suspended) -> Dict[Tuple[int, int], int]:
        # Functions that had not returned when code was left.
        if self._functions is None or at.number < self.first:
            return {}
        return self._functions.running(at.number, at.activation, at.stack, at.pointer, self._address)

    def _finish(self, at: Suspended) -> None:
        if self._functions is not None:
            self._functions.owned.finish(self._running(at))

    def _finish_waiting(self, at: Suspended) -> None:
        self._finish(at)
        if self._functions is not None and at.number >= self.first:
            self.calls.tie(at.number, [at.activation] + [call.activation for call in at.stack])

    def _step(self, template: Template, number: int, flags: int, taken: Optional[bool]) -> None:
        ssa = self.ssa
        ssa.number = number
        current = self.current
        branches = self._branches
        branches.has_run = True
        if branches.pending is not None and branches.follow(template.address, template.isa, current):
            self._moved = True
        if self._moved:
            self._moved = template.moves
            if self._functions is not None:
                self._functions.arrive(template, current)
        elif template.moves:
            self._moved = True
        executed, pointer = True, current[SP]
        accesses = len(ssa.accesses)
        if template.condition == ALWAYS:
            self._predicate = -1
            self._run(template, flags, current, taken)
        else:
            executed = self._conditionally(template, number, flags, taken)
        if not executed:
            return
        if len(ssa.accesses) > accesses and self._functions is not None:
            self._functions.access(template, accesses)
        if self._traced is not None:
            self._traced.take(number, accesses)
        if template.moves:
            self.threads.move(template, pointer, current)
        if template.call:
            lost = NOTHING.lost if self._functions is None else self._functions.lost(template)
            self.calls.call(number, template.address + template.size, current, lost)
        if template.target is not None:
            target = template.target
            ignored = 0 if template.interworks else 1 if template.isa is Isa.T32 else 3
            variable = current[target] if target >= 0 else None
            returns = target == LR or SP in template.writes
            branches.pending = PendingBranch(variable, ignored, template.interworks, template.call, returns, number)

    def _run(self, template: Template, flags: int, current: List[int], taken: Optional[bool]) -> None:
        ssa = self.ssa
        steps, written, dead = template.needed(flags)
        if steps:
            ssa.run(steps, current, ssa.one)
        for slot in written:
            ssa.put(slot, current[slot])
        for slot in dead:
            ssa.put(slot, DEAD)
        self._learn_effects(template, current, taken)

    def _learn_effects(self, template: Template, current: List[int], taken: Optional[bool]) -> None:
        ssa = self.ssa
        if template.rounds is not None:
            self.calls.align(current[template.rounds])
        if template.taken is not None and taken is not None:
            ssa.learn(current[template.taken], 1, int(taken), Premise.TAKEN if taken else Premise.NOT_TAKEN)
        for slot in template.aligned:
            ssa.learn(current[slot] if slot >= 0 else ssa.constant(~slot), 3, 0, Premise.ALIGNED)
        if may_leave_stack(template, current[HANDLER] == ssa.one):
            self.calls.lose_frames()
        if template.stack is not None and self._limits is not None:
            self._limits.take(template, current, True)

    def _conditionally(self, template: Template, number: int, flags: int, taken: Optional[bool]) -> bool:
        # Both outcomes of an IT block are followed: what is read in one was written in the same one.
        ssa, current = self.ssa, self.current
        code = template.condition
        bit = ssa.condition(code & ~1, [current[slot] for slot in FLAGS])
        passes = 1 - (code & 1)
        passed = (
            taken if template.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT) else self._outcomes.get(number)
        )
        if taken is False:
            passed = False
        if passed is not None:
            ssa.learn(bit, 1, passes if passed else 1 - passes, Premise.OUTCOME)
        if ssa.domain.mask[bit] & 1:
            if ssa.domain.bits[bit] != passes:
                return False
            self._run(template, flags, current, taken)
            if self._predicate == bit:
                self._predicated[passes][:] = current
            return True
        if self._predicate != bit:
            self._predicated = (list(current), list(current))
            self._predicate = bit
        slots = self._predicated[passes]
        steps, written, dead = template.needed(flags)
        ssa.run(steps, slots, bit if passes else ssa.invert(bit))
        for slot in dead:
            ssa.put(slot, DEAD)
        for slot in written:
            current[slot] = ssa.select(bit, self._predicated[1][slot], self._predicated[0][slot])
            ssa.put(slot, current[slot])
        if template.kills:
            self._predicate = -1
        if template.stack is not None and self._limits is not None:
            self._limits.take(template, current, False)
        return True

    def _address(self, number: int) -> int:
        return self.executed[number - self.first].address

    def _event(self, event: Union[Handling, Aside], index: int) -> None:
        self._predicate = -1
        self._moved = True
        if isinstance(event, Aside):
            if event.event.name == LOCKUP:
                self._branches.stop(event.event.return_address, self.current)
            return
        self._tell_limits(event)
        if isinstance(event, Exception_):
            self._enter(event, index)
            return
        branch, self._branches.pending = self._branches.pending, None
        target = branch.target if branch is not None else None
        if isinstance(event, Chained):
            self._branches.has_run = False
            self._exceptions.chain(event.event, target, self.current)
        else:
            accesses = len(self.ssa.accesses)
            resumed = self.threads.leave(index)
            goes_on = self._first(index + 1)
            loaded = self._exceptions.leave(target, self.current, goes_on, resumed, index)
            if self._traced is not None:
                self._traced.take_frame(event, accesses)
            arrives = self._interrupted.pop() if self._interrupted else None
            returned = PendingBranch(None, 1, False, True, True, self.ssa.number, None, arrives)
            if loaded is not None:
                returned = returned._replace(target=loaded.address, thumb=loaded.thumb)
                self.threads.popped[index] = loaded.frame
            self._branches.pending = returned

    def _enter(self, event: Exception_, index: int) -> None:
        address = event.return_address
        thumb = self._branches.stop(address, self.current)
        self._branches.has_run = False
        arrives = None
        if thumb is not None and address is not None and is_asynchronous(event):
            arrives = Arrival(address, thumb)
        self._interrupted.append(arrives)
        interrupted: Optional[Template] = None
        if address is not None and self._m_profile and self.executed:
            interrupted = self._templates.at_address(address, self.executed[0])
        stacking = Stacking(thumb=thumb)
        if index in self._handlers and self._failures.stacking:
            stacking = Stacking(False, self._limit() if self._failures.limit else None, thumb)
        accesses = len(self.ssa.accesses)
        self._exceptions.enter(event, self.current, index, interrupted, stacking)
        if self._traced is not None:
            self._traced.take_frame(event, accesses)

    def _limit(self) -> int:
        # The limit of the stack that is in use.
        found = None if self._limits is None else self._limits.limit(self.current)
        return self.ssa.new(INPUT, 7) if found is None else found

    def _first(self, index: int) -> Optional[int]:
        # The address that execution goes on at with a part, if that is known.
        part = self._runs[index] if index < len(self._runs) else None
        if isinstance(part, InstructionRun):
            return part.templates[0].address
        return part.return_address if isinstance(part, Exception_) else None

    def _tell_limits(self, event: Handling) -> None:
        if self._limits is None:
            return
        if not isinstance(event, Exception_):
            self._limits.leave()
        if not isinstance(event, ExceptionReturn):
            self._limits.enter(event.event.vector if isinstance(event, Chained) else event.vector)
