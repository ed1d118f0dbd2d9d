"""Thread switches of a segment: which thread resumes at an exception return."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Exception_, ExceptionReturn
from gdb_etm.recovery.execution.exception_semantics import is_request
from gdb_etm.recovery.execution.exceptions import Suspended, TraceExceptions
from gdb_etm.recovery.functions.calls import NO_FRAME, THREAD, WAITING, Assumption, CallMatcher
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, Waiting, Word, can_search, reached
from gdb_etm.recovery.ssa.runs import Chained, InstructionRun, Part, handlers_at_start
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.context_switch import ContextSwitches
from gdb_etm.recovery.threads.matching import Sequel, ThreadMatcher, Turn
from gdb_etm.recovery.threads.plain_turns import PlainMatches, match_turns, return_word
from gdb_etm.recovery.threads.residences import LaterThreads, ThreadTracker
from gdb_etm.recovery.threads.saved_contexts import BEFORE, SavedContexts, Wait
from gdb_etm.recovery.threads.scheduler import Handled, Scheduler
from gdb_etm.recovery.threads.switching_instructions import SwitchedBy, SwitchingInstructions


class Possible(NamedTuple):
    """What may have come of a thread that was left."""

    # What holds then.
    assumptions: List[Assumption]
    # Where it waits at the end, if it does.
    wait: Optional[Wait]
    # Functions of it that have not returned then, as PrivateAccesses has them.
    active: Dict[Tuple[int, int], int]
    # Called when it is taken to be so.
    chosen: Callable[[], None]


class ThreadSwitches:
    """Ties each thread that goes on to where it was left.

    :param ssa: The segment's variables.
    :param switches: Where SP becomes another stack's.
    :param runs: What the segment consists of.
    :param calls: The open calls of the same segment.
    :param exceptions: The exceptions of the same segment.
    :param address: Gives the address of an instruction by its number.
    :param word: Reads memory at the end; None when that is not known.
    :param later: The threads that ran after the last instruction; None for those of the end.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        program: Program,
        switches: SwitchingInstructions,
        runs: Sequence[Part],
        calls: CallMatcher,
        exceptions: TraceExceptions,
        address: Callable[[int], int],
        word: Optional[Word],
        later: Optional[LaterThreads],
    ) -> None:
        self._ssa = ssa
        self._program = program
        self._switches = switches
        self._runs = runs
        self._calls = calls
        self._exceptions = exceptions
        self._address = address
        self._word = word
        self._later = later
        # PSP and MSP at the end, as far as they are known.
        self.pointers: Dict[SwitchedBy, int] = {}
        self._matcher = ThreadMatcher(self._new_tracker(()))
        # By the index of an exception return the variable of its frame's address.
        self.popped: Dict[int, int] = {}
        # By the index of an exception return that of the exception that left the thread which goes on.
        self._resumed: Dict[int, int] = {}
        self._waiting: List[Tuple[int, Waiting]] = []
        # Whether a thread waits on a stack whose frames are no multiples of 8.
        self.has_odd_stacks = False
        # What plain functions switched, and the threads that they left, by their instructions.
        self._turns = PlainMatches({}, [])
        self._changed: Dict[int, Tuple[Suspended, int]] = {}
        # By the index of an exception return: that of the one before, that of the exception, what the handler did.
        self._handled: Dict[int, Tuple[Optional[int], int, Handled]] = {}
        # The last instructions before exception returns, by their indices.
        self._returned: Dict[Optional[int], int] = {None: 0}
        # What handlers did that changed between threads.
        self.scheduler = Scheduler(ssa, calls.assumptions, address, word)

    def end_elsewhere(self) -> None:
        """Note that memory at the end is of a later moment."""
        self._word = None

    def match(self) -> None:
        """Match threads where something has set a stack pointer."""
        tracker = self._track(0)
        ways = tracker.switched_by.union(() if self._later is None else self._later.switched_by)
        # Where there are two, nothing is said.
        by = next(iter(tracker.switched_by), None) if len(ways) == 1 else None
        if by is None:
            return
        word, pointer = self._last_word, self._last_pointers.get(by)
        stacks = self._ssa.rules.stacks
        if stacks and word is not None:
            stacks = tuple(reached(stacks, self._ssa.rules.ram, word, pointer))
        if by is SwitchedBy.FUNCTION:
            residences, goes_on = tracker.residences, tracker.last_goes_on
            searched = stacks if can_search(stacks) else ()
            self._turns = match_turns(residences, goes_on, return_word(tracker.after_change), searched, word)
        else:
            self._matcher = matcher = ThreadMatcher(tracker)
            self._resumed, self._waiting = matcher.match(stacks, word, pointer)
            self._handled = {end: (since, begin, handled) for since, begin, end, handled in matcher.handled()}

    def leave(self, index: int) -> Optional[int]:
        """Note an exception return, and give the thread that goes on.

        The result is the index of the exception that left it, if known.
        """
        self._returned[index] = self._ssa.number
        if index in self._handled:
            since, left, handled = self._handled[index]
            self.scheduler.handle(handled, self._returned[since], self._exceptions.left(left).number)
        resumed = self._resumed.get(index)
        if resumed is not None:
            self._calls.assumptions += self.scheduler.same(self._exceptions.left(resumed).number, self._ssa.number)
        return resumed

    def move(self, template: Template, pointer: int, current: Sequence[int]) -> None:
        """Take an instruction that has set SP.

        It may go over to another thread.

        :param template: The instruction, which has just run.
        :param pointer: The variable of SP before it.
        :param current: The variable of each slot after it.
        """
        calls = self._calls
        if self._exceptions.is_active:
            by, is_either = self._switches.in_handler(template), self._switches.is_either(template)
            if by is not None:
                self._exceptions.switch(by, is_either)
            if by is SwitchedBy.MAIN_STACK or is_either:
                calls.change_stack()
        elif template.rounds is not None and self._switches.has(template):
            self._change(Suspended(self._ssa.number, calls.activation, calls.stack, pointer), current)

    def _change(self, at: Suspended, current: Sequence[int]) -> None:
        # A plain function goes over to another thread.
        calls = self._calls
        function = calls.function
        at = at._replace(pointer=self._saved(at))
        self._changed[at.number] = at, function
        calls.change_stack()
        left = self._turns.resumed.get(at.number)
        if left is None or left not in self._changed:
            return
        before, calls.function = self._changed[left]
        # Nothing but assumptions that fall with the thread's may tie what was before to what comes now.
        calls.stack, calls.activation = [call._replace(frame=NO_FRAME) for call in before.stack], before.activation
        calls.tie(left, [before.activation] + [call.activation for call in before.stack])
        calls.assumptions.append(Assumption(THREAD, SP, before.pointer, current[SP], left, at.number))

    def _saved(self, at: Suspended) -> int:
        # The variable of the stack pointer that is saved; it may be a little above or below SP where that is changed.
        ssa = self._ssa
        base = ssa.base(at.pointer)
        for access in reversed(ssa.accesses[ssa.first_access(at.number - BEFORE) :]):
            if access.store and ssa.base(access.data) == base != ssa.base(access.address):
                return access.data
        return at.pointer

    def since(self, number: int, known: Callable[[int], Optional[int]]) -> Optional[LaterThreads]:
        """List the threads that ran from an instruction to the end.

        None where that is not known.

        :param known: Gives a variable's value, if it is known.
        """
        tracker = self._track(number)
        if SwitchedBy.FUNCTION in tracker.switched_by:
            return None
        values = {index: known(variable) for index, variable in self.popped.items()}
        frames = {index: value for index, value in values.items() if value is not None}
        return tracker.handed(self._address(number), frames, self._last_word, self._last_pointers)

    def wait(self, last: int, word: Word, finish: Callable[[Suspended], None]) -> SavedContexts:
        """Assume that threads wait at the end with their frames in memory.

        :param last: Number of the last instruction.
        :param word: Reads memory at the end.
        :param finish: Called with where each of them was left.
        """
        left_at = self._exceptions.left
        waits = [self._exceptions.waits(left, frame) for left, frame in self._waiting]
        self.has_odd_stacks = self._has_odd_stacks(word)
        for left, _ in self._waiting:
            finish(left_at(left))
        for saved in self._turns.waiting:
            at, _ = self._changed[saved.left]
            finish(at)
            constant = self._ssa.constant(saved.address)
            known = [Assumption(WAITING, SP, constant, at.pointer, at.number, last)]
            waits.append((Wait(at.number, at.pointer, saved.address, saved.size), known))
        running = self._matcher.running()
        if running is not None:
            block, current, resumed, left_to = running
            number = last if left_to is None else left_at(left_to).number
            self.scheduler.run(block, current, self._returned[resumed], number)
        for address, left in self._matcher.relied():
            self.scheduler.rely(address, left_at(left).number)
        for _, assumptions in waits:
            self._calls.assumptions += assumptions
        found = [wait for wait, _ in waits if wait is not None]
        return SavedContexts(self._ssa, found, word, self._calls.assumptions)

    def _has_odd_stacks(self, word: Word) -> bool:
        exceptions, pointer = self._exceptions, self.pointers.get(SwitchedBy.PROCESS_STACK)
        frames: List[Tuple[Optional[int], Waiting]] = list(self._waiting)
        # PSP leads to no stack where no thread uses it.
        if pointer is not None and self._ssa.is_ram(pointer, 32) and exceptions.interrupted_at is not None:
            if word(pointer + 24) == exceptions.interrupted_at:
                frames.append((None, ExceptionFrames((), word, set()).read(pointer)))
        return any(exceptions.is_odd(left, frame) for left, frame in frames)

    @property
    def is_open(self) -> bool:
        """Whether several threads may have gone on somewhere."""
        return self._matcher.is_open

    def choose(
        self,
        among: Callable[[Sequence[Possible]], Set[int]],
        running: Callable[[Suspended], Dict[Tuple[int, int], int]],
    ) -> None:
        """Ask which of several threads went on, from the end backwards.

        :param among: Gets what may have come of a thread that was left; gives which of that it can have been.
        :param running: Lists the functions that had not returned when a thread was left.
        """
        known = {*self._resumed.values(), *[left for left, _ in self._waiting]}

        def possible(turn: Turn, sequels: Sequence[Sequel]) -> Set[int]:
            every = set(range(len(sequels)))
            found = [self._possible(turn, one, running) for one in sequels] if turn.left not in known else []
            there = [one for one in found if one is not None]
            return among(there) if there and len(there) == len(every) else every

        self._matcher.choose(possible)

    def _possible(
        self, turn: Turn, sequel: Sequel, running: Callable[[Suspended], Dict[Tuple[int, int], int]]
    ) -> Optional[Possible]:
        wait: Optional[Wait] = None
        active: Dict[Tuple[int, int], int] = {}
        if sequel.frame is not None:
            wait, assumptions = self._exceptions.waits(turn.left, sequel.frame)
            known = None if wait is None else assumptions
            active = {} if wait is None else running(self._exceptions.left(turn.left))
        else:
            known = None if sequel.resumed is None else self._exceptions.went_on(turn.left, sequel.resumed)
        if known is None:
            return None
        if sequel.resumed is not None:
            known += self.scheduler.same(self._exceptions.left(turn.left).number, self._returned[sequel.resumed])
        if turn.switch is None or sequel.block is None or turn.after is None:
            return Possible(known, wait, active, lambda: None)
        handled, since = Handled(turn.switch, sequel.block, None), self._returned[turn.resumed]
        number, end = self._exceptions.left(turn.left).number, self._returned[turn.after]
        known += self.scheduler.of(handled, since, number, end)
        if turn.chosen_by is not None and turn.before is not None:
            chosen = Handled(turn.chosen_by, None, sequel.block)
            known += self.scheduler.of(chosen, since, self._exceptions.left(turn.before).number, since)
        return Possible(known, wait, active, lambda: self.scheduler.choose(handled, since))

    @property
    def by_block(self) -> Set[int]:
        """Threads whose block alone shows what they did.

        Each is the number of the instruction before it was left.
        """
        return {self._exceptions.left(left).number for left in self._matcher.by_block}

    @property
    def _last_word(self) -> Optional[Word]:
        # Reads memory at the end of all.
        return self._word if self._later is None else self._later.word

    @property
    def _last_pointers(self) -> Mapping[SwitchedBy, int]:
        # At the end of all.
        return self.pointers if self._later is None else self._later.pointers

    def _new_tracker(self, runs: Sequence[Part]) -> ThreadTracker:
        switches = ContextSwitches(lambda address: self._ssa.read_constant(address, 4))
        return ThreadTracker(self._program, switches, self._switches, handlers_at_start(runs), self._later)

    def _track(self, number: int) -> ThreadTracker:
        # Follows what ran from an instruction on.
        runs = self._runs
        numbers = [item.number if isinstance(item, InstructionRun) else -1 for item in runs]
        first = next((at for at, one in enumerate(numbers) if one >= number), len(runs)) if number else 0
        tracker = self._new_tracker(runs[first:])
        for index, item in enumerate(runs[first:], first):
            if isinstance(item, InstructionRun):
                tracker.execute(item.number, item.templates, item.taken[-1] is not False)
            elif isinstance(item, Exception_):
                tracker.enter(index, item.return_address, is_request(item))
            elif isinstance(item, ExceptionReturn):
                tracker.leave(index)
            elif isinstance(item, Chained):
                tracker.chain()
        return tracker
