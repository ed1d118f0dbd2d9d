"""Follows a stretch of the history and makes a line of it: branches and their outcomes, IT blocks, exceptions."""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Transfer
from gdb_etm.protocols.profile import LOCKUP_ADDRESSES, is_m_profile, nothing_ran
from gdb_etm.recovery.constraints.graph import DEAD, INPUT, START, Premise
from gdb_etm.recovery.execution.exceptions import TraceExceptions, is_asynchronous, is_request
from gdb_etm.recovery.execution.stacking import Failures, Stacking
from gdb_etm.recovery.functions.calls import CallMatcher
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.functions.functions import Functions
from gdb_etm.recovery.lift.operations import CONTROL, FP_DEFAULT, FP_MODE, FPCA, HANDLER, LR, PSP, SP
from gdb_etm.recovery.lift.template import FLAGS, Template, Templates
from gdb_etm.recovery.ssa.exception_frames import Waiting, Word
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.runs import (
    LOCKUP,
    Aside,
    Chained,
    Handling,
    InstructionRun,
    Part,
    live_flags,
    parts,
    waiting_handlers,
)
from gdb_etm.recovery.ssa.segments import within
from gdb_etm.recovery.ssa.stack_limits import Limits
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa
from gdb_etm.recovery.threads.context_switch import ContextSwitches
from gdb_etm.recovery.threads.saved_contexts import SavedContexts
from gdb_etm.recovery.threads.scheduler import Handled, Scheduler
from gdb_etm.recovery.threads.threads import Later, Threads

_BIT = 0xFFFFFFFE
_NO_MODE = 0xFFFFFFE0


class _Branch(NamedTuple):
    # An instruction that computes the next one's address, or may be a return.
    target: Optional[int]
    # Bits of what it computes that do not matter.
    ignored: int
    interworks: bool
    call: bool
    # Whether it has the form of a return.
    returns: bool
    number: int
    # Variable of the T bit that an exception return loads.
    thumb: Optional[int] = None
    # Of an exception return, the branch that had not arrived yet when it was interrupted.
    arrives: Optional[_Arrival] = None


class _Arrival(NamedTuple):
    # Where a branch leads: with a T bit of 0 nothing runs there but a fault (INVSTATE).
    address: int
    # Variable of the T bit.
    thumb: int


class SsaBuilder:
    """Makes the line of a stretch, or of its newest part.

    :param history: The executed instructions.
    :param ssa: Is filled.
    :param first: Number of the first instruction.
    :param last: Number of the last instruction.
    :param features: What is known of the core.
    :param word: Reads memory at the end.
    :param limits: Of the same line; None when nothing is known of stack limits.
    :param failed: Which exceptions' frames may not have been stored.
    :param later: The threads that ran after the last instruction; None for those of the end.
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
        later: Optional[Later] = None,
    ) -> None:
        self.ssa = ssa
        self.first, self.last = first, last
        self._m_profile = is_m_profile(history.source.core)
        self._templates = Templates(history.program, ssa.constant, self._m_profile)
        self._runs = parts(within(history, first, last), self._templates)
        # The instructions.
        self.executed = [
            template for run in self._runs if isinstance(run, InstructionRun) for template in run.templates
        ]
        if any(FP_MODE in template.writes for template in self.executed):
            features = features._replace(fpu=True)
        self._features = features
        self._outcomes = {told.number: told.passed for _, told in history.conditions()}
        # The variable of each slot; those of one instruction come after the others.
        self.current: List[int] = []
        self.calls = CallMatcher(ssa)
        self._exceptions = TraceExceptions(ssa, self.calls, features)
        self._program = history.program
        self._later = later
        self._threads = self._new_threads()
        # By the index of an exception return the variable of its frame's address.
        self._popped: Dict[int, int] = {}
        self._word = word
        self._limits = limits
        # By the index of an exception return that of the exception that left the thread which goes on.
        self._resumed: Dict[int, int] = {}
        self._waiting: List[Tuple[int, Waiting]] = []
        # By the index of an exception return: that of the one before, that of the exception, what the handler did.
        self._handled: Dict[int, Tuple[Optional[int], int, Handled]] = {}
        # The last instructions before exception returns, by their indices.
        self._returned: Dict[Optional[int], int] = {None: 0}
        # What handlers did that changed between threads.
        self.scheduler = Scheduler(ssa, self.calls.assumptions, self._address, word)
        self._worlds: Tuple[List[int], List[int]] = ([], [])
        self._world_of = -1
        self._branch: Optional[_Branch] = None
        # Of each handler that runs, the branch that it came between.
        self._interrupted: List[Optional[_Arrival]] = []
        # Whether an instruction has run since a handler was entered.
        self._has_run = True
        self._failures = failed
        self._handlers = waiting_handlers(self._runs)
        self._last = self.executed[-1] if self.executed else None
        self._traced = history if history.tells_transfers else None
        frames = ssa.rules.frames
        self._functions = None if frames is None else Functions(ssa, self.calls, frames, self._templates.like)
        # Whether SP or a frame pointer has changed since call frame information was looked at.
        self._moved = True

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
        """Take it that memory at the end is not that after the last instruction."""
        self._word = None

    def follow(self) -> Iterator[int]:
        """Add all instructions; gives the number of the next one now and then."""
        runs = self._runs
        needs = live_flags(runs)
        self._match(runs)
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

    def _new_threads(self) -> Threads:
        switches = ContextSwitches(self.ssa.domain.bits.__getitem__, self._read_constant)
        return Threads(self._program, switches, self._later)

    def _match(self, runs: Sequence[Part]) -> None:
        # Which threads go on where handlers return that have set PSP.
        if not self._features.psp or not self._m_profile:
            return
        threads = self._threads
        self._run_threads(threads, 0)
        if threads.switches:
            word = self._word if self._later is None else self._later.word
            self._resumed, self._waiting = threads.match(self.ssa.rules.stacks, word)
            self._handled = {end: (since, begin, handled) for since, begin, end, handled in threads.handled()}

    def _run_threads(self, threads: Threads, number: int) -> None:
        # From an instruction on.
        begun = not number
        for index, item in enumerate(self._runs):
            begun = begun or isinstance(item, InstructionRun) and item.number >= number
            if not begun:
                continue
            if isinstance(item, InstructionRun):
                threads.execute(item.templates, item.taken[-1] is not False)
            elif isinstance(item, Exception_):
                threads.enter(index, item.return_address, is_request(item))
            elif isinstance(item, ExceptionReturn):
                threads.leave(index)
            elif isinstance(item, Chained):
                threads.chain()

    def threads_since(self, number: int, known: Callable[[int], Optional[int]]) -> Optional[Later]:
        """Tell which threads have run from an instruction on, up to the end of all; None where that is not known.

        :param known: Gives a variable's value, if it is known.
        """
        threads = self._new_threads()
        self._run_threads(threads, number)
        values = {index: known(variable) for index, variable in self._popped.items()}
        frames = {index: value for index, value in values.items() if value is not None}
        word = self._word if self._later is None else self._later.word
        return threads.handed(self._address(number), frames, word)

    def _read_constant(self, address: int) -> Optional[int]:
        return self.ssa.read_constant(address, 4)

    def wait(self, word: Word) -> SavedContexts:
        """Take it that threads wait at the end with the frames that memory holds then."""
        waits = [self._exceptions.wait(left, frame) for left, frame in self._waiting]
        for left, _ in self._waiting:
            number, activation, stack, pointer = self._exceptions.left(left)
            if self._functions is not None and number >= self.first:
                self._functions.finish(number, activation, stack, pointer, self._address)
                self.calls.tie(number, [activation] + [call.activation for call in stack])
        running = self._threads.running()
        if running is not None:
            block, current, resumed, left_to = running
            number = self.last if left_to is None else self._exceptions.left(left_to)[0]
            self.scheduler.run(block, current, self._returned[resumed], number)
        for address, left in self._threads.relied():
            self.scheduler.rely(address, self._exceptions.left(left)[0])
        matches = [self._exceptions.match(left, slots) for left, slots in self._threads.places.items()]
        return SavedContexts(
            self.ssa, [wait for wait in waits if wait is not None], matches, word, self.calls.assumptions
        )

    @property
    def by_block(self) -> Set[int]:
        """Threads of which nothing but their blocks tells what they did, by the numbers of the instructions before they
        were left."""
        return {self._exceptions.left(left)[0] for left in self._threads.by_block}

    @property
    def owned(self) -> Optional[PrivateAccesses]:
        """Accesses to frames that nobody else can reach."""
        return None if self._functions is None else self._functions.owned

    @property
    def handler(self) -> Optional[int]:
        """The vector of the handler that runs at the end, as far as its beginning was seen; None for none."""
        return list(self._handlers.values())[-1] if self._handlers else None

    def last_instruction(self) -> Optional[Template]:
        """Give the last instruction; None when there is none."""
        return self._last

    def finish(self, pc: Optional[int], isa: Isa) -> None:
        """End the line.

        :param pc: Address of the instruction that would have been next, if known.
        :param isa: Its instruction set.
        """
        self.ssa.number = self.last
        if self._m_profile and pc in LOCKUP_ADDRESSES:
            self._stops_at(None)
        elif pc is not None:
            self._goes_to(pc, isa)
        calls = self.calls
        now = [(self.last, calls.activation, calls.stack, self.current[SP])] + self._exceptions.interrupted()
        for number, activation, stack, pointer in now:
            if self._functions is not None and number >= self.first:
                self._functions.finish(number, activation, stack, pointer, self._address)

    def _step(self, template: Template, number: int, flags: int, taken: Optional[bool]) -> None:
        ssa = self.ssa
        ssa.number = number
        current = self.current
        self._has_run = True
        if self._branch is not None:
            self._goes_to(template.address, template.isa)
        if self._moved:
            self._moved = template.moves
            if self._functions is not None:
                self._functions.arrive(template, current)
        elif template.moves:
            self._moved = True
        executed = True
        accesses = len(ssa.accesses)
        if template.condition == ALWAYS:
            self._world_of = -1
            self._run(template, flags, current, taken)
        else:
            executed = self._conditionally(template, number, flags, taken)
        if not executed:
            return
        if len(ssa.accesses) > accesses and self._functions is not None:
            self._functions.access(template, accesses)
        if self._traced is not None:
            self._take(self._traced.transfers(number), accesses)
        if template.call:
            self.calls.call(number, template.address + template.size, current)
        if template.target is not None:
            target = template.target
            ignored = 0 if template.interworks else 1 if template.isa is Isa.T32 else 3
            variable = current[target] if target >= 0 else None
            returns = target == LR or SP in template.writes
            self._branch = _Branch(variable, ignored, template.interworks, template.call, returns, number)

    def _run(self, template: Template, flags: int, current: List[int], taken: Optional[bool]) -> None:
        ssa = self.ssa
        steps, written, dead = template.needed(flags)
        if steps:
            ssa.run(steps, current, ssa.one)
        put = ssa.put
        for slot in written:
            put(slot, current[slot])
        for slot in dead:
            put(slot, DEAD)
        self._told(template, current, taken)

    def _told(self, template: Template, current: List[int], taken: Optional[bool]) -> None:
        ssa = self.ssa
        if template.rounds is not None:
            self.calls.align(current[template.rounds])
        if template.taken is not None and taken is not None:
            ssa.learn(current[template.taken], 1, int(taken), Premise.TAKEN if taken else Premise.NOT_TAKEN)
        for slot in template.aligned:
            ssa.learn(current[slot] if slot >= 0 else ~slot, 3, 0, Premise.ALIGNED)
        if PSP in template.writes:
            self._exceptions.switch()
        if template.stack is not None and self._limits is not None:
            self._limits.take(template, current, True)

    def _conditionally(self, template: Template, number: int, flags: int, taken: Optional[bool]) -> bool:
        # An IT block is two worlds, of which one is real: what is read in it was written in the same one.
        ssa, current = self.ssa, self.current
        code = template.condition
        bit = ssa.condition(code & ~1, [current[slot] for slot in FLAGS])
        passes = 1 - (code & 1)
        told = (
            taken if template.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT) else self._outcomes.get(number)
        )
        if taken is False:
            told = False
        if told is not None:
            ssa.learn(bit, 1, passes if told else 1 - passes, Premise.OUTCOME)
        if ssa.domain.mask[bit] & 1:
            if ssa.domain.bits[bit] != passes:
                return False
            self._run(template, flags, current, taken)
            if self._world_of == bit:
                self._worlds[passes][:] = current
            return True
        if self._world_of != bit:
            self._worlds = (list(current), list(current))
            self._world_of = bit
        world = self._worlds[passes]
        steps, written, dead = template.needed(flags)
        ssa.run(steps, world, bit if passes else ssa.invert(bit))
        for slot in dead:
            ssa.put(slot, DEAD)
        for slot in written:
            current[slot] = ssa.select(bit, self._worlds[1][slot], self._worlds[0][slot])
            ssa.put(slot, current[slot])
        if template.kills:
            self._world_of = -1
        if PSP in template.writes:
            self._exceptions.switch()
        if template.stack is not None and self._limits is not None:
            self._limits.take(template, current, False)
        return True

    def _take(self, transfers: Sequence[Transfer], first: int) -> None:
        # Traced loads and stores are those of the instruction, if there are as many and of the same sizes.
        made = self.ssa.accesses[first:]
        told = [one for one in transfers if one.certain and one.role is TransferRole.DATA]
        if len(told) != len(made):
            return
        if any(one.store is not access.store or one.size != access.size for one, access in zip(told, made)):
            return
        for one, access in zip(told, made):
            self._measured(access, one)

    def _measured(self, access: MemoryAccess, transfer: Transfer) -> None:
        ssa = self.ssa
        if transfer.address is not None:
            ssa.learn(access.address, 0xFFFFFFFF, transfer.address & 0xFFFFFFFF, Premise.DATA)
        if transfer.value is not None:
            bits = (1 << 8 * access.size) - 1
            ssa.learn(access.data, bits, transfer.value & bits, Premise.DATA)

    def _take_frame(self, event: Union[Exception_, ExceptionReturn], first: int) -> None:
        # What an exception pushed or popped, as far as it is traced with addresses.
        made = self.ssa.accesses[first : first + 8]
        told = [] if self._traced is None else self._traced.event_transfers(event)
        known = [one for one in told if one.certain and one.address is not None and one.size == 4]
        if len(made) < 8 or len(known) < 8:
            return
        known.sort(key=lambda one: one.address or 0)
        for one, access in zip(known, made):
            if one.address == (known[0].address or 0) + 4 * known.index(one):
                self._measured(access, one)

    def _address(self, number: int) -> int:
        return self.executed[number - self.first].address

    def _goes_to(self, address: int, isa: Isa) -> None:
        # The next instruction's address is what the last one computed, if it did.
        branch = self._branch
        self._branch = None
        if branch is None:
            return
        if branch.target is not None:
            bits = address | int(isa is Isa.T32) if branch.interworks else address & ~branch.ignored
            self.ssa.learn(branch.target, 0xFFFFFFFF & ~branch.ignored, bits, Premise.TARGET)
        if branch.thumb is not None:
            self.ssa.learn(branch.thumb, 1, 1, Premise.MODE)
        if branch.arrives is not None and branch.arrives.address == address:
            self.ssa.learn(branch.arrives.thumb, 1, 1, Premise.MODE)
        self._arrive(branch, address)

    def _arrive(self, branch: _Branch, address: int) -> None:
        if branch.call:
            return
        self._moved = True
        stays = False
        if self._functions is not None and not branch.returns:
            stays = self._functions.stays(self._address(branch.number), address)
        self.calls.arrive(branch.number, address, stays, self.current)

    def _stops_at(self, address: Optional[int]) -> Optional[int]:
        """Take it that nothing runs where the last instruction leads, but an exception is taken there.

        :returns: Variable of the T bit; None when that is 1.
        """
        ssa = self.ssa
        branch, self._branch = self._branch, None
        if branch is None:
            return None if self._has_run else ssa.new(INPUT, _BIT)
        if branch.target is not None and address is not None and not nothing_ran(address):
            ssa.learn(branch.target, _BIT & ~branch.ignored, address, Premise.TARGET)
            self._arrive(branch, address)
        if branch.thumb is not None or not branch.interworks:
            return branch.thumb
        if branch.target is None:
            return ssa.new(INPUT, _BIT)
        return ssa.bit(branch.target, 0)

    def _event(self, event: Union[Handling, Aside], index: int) -> None:
        self._world_of = -1
        self._moved = True
        if isinstance(event, Aside):
            if event.event.name == LOCKUP:
                self._stops_at(event.event.return_address)
            return
        self._tell_limits(event)
        if isinstance(event, Exception_):
            self._enter(event, index)
            return
        branch, self._branch = self._branch, None
        target = branch.target if branch is not None else None
        if isinstance(event, Chained):
            self._has_run = False
            self._exceptions.chain(event.event, target, self.current, self._m_profile)
        else:
            accesses = len(self.ssa.accesses)
            self._returned[index] = self.ssa.number
            resumed = self._resumed.get(index)
            if index in self._handled:
                since, left, handled = self._handled[index]
                self.scheduler.handle(handled, self._returned[since], self._exceptions.left(left)[0])
            goes_on = self._first(index + 1)
            loaded = self._exceptions.leave(target, self.current, self._m_profile, goes_on, resumed)
            self._take_frame(event, accesses)
            arrives = self._interrupted.pop() if self._interrupted else None
            self._branch = _Branch(None, 1, False, True, True, self.ssa.number, None, arrives)
            if loaded is not None:
                self._branch = self._branch._replace(target=loaded.address, thumb=loaded.thumb)
                self._popped[index] = loaded.frame

    def _enter(self, event: Exception_, index: int) -> None:
        address = event.return_address
        thumb = self._stops_at(address)
        self._has_run = False
        arrives = None
        if thumb is not None and address is not None and is_asynchronous(event):
            arrives = _Arrival(address, thumb)
        self._interrupted.append(arrives)
        interrupted: Optional[Template] = None
        if address is not None and self._m_profile and self.executed:
            interrupted = self._templates.like(address, self.executed[0])
        stacking = Stacking(thumb=thumb)
        if index in self._handlers and self._failures.stacking:
            stacking = Stacking(False, self._limit() if self._failures.limit else None, thumb)
        accesses = len(self.ssa.accesses)
        self._exceptions.enter(event, self.current, self._m_profile, index, interrupted, stacking)
        self._take_frame(event, accesses)

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
