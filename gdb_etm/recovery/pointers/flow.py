"""A function's dataflow: its stores, and objects whose address leaves.

An address leaves a function when it is stored anywhere but in the frame, or passed to a function that lets it go.
What is stored in the frame stays, unless somebody else may load it: because an address of the frame leaves or is passed
to a function that loads through it, or because it is not known which word is loaded.  What is returned goes on in the
caller.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Callable, Dict, Final, FrozenSet, List, Optional, Sequence, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.lift.operations import LR, MSP, PSP, SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.pointers.arithmetic import Results
from gdb_etm.recovery.pointers.blocks import FLAG_SLOTS, SCRATCH, FlowBlock, Moves, blocks_of, moves_of
from gdb_etm.recovery.pointers.provenance import (
    ARGUMENT,
    IN_FRAME,
    INSIDE,
    NOTHING,
    UNKNOWN,
    Provenance,
    constant,
    is_constant,
)
from gdb_etm.recovery.pointers.states import ANY_WORD, BlockStates, State
from gdb_etm.recovery.pointers.summaries import ARGUMENTS, LEAKS_ALL, FrameUse, Given, Site, Summary

_STACK_POINTERS: Final = (SP, MSP, PSP)
# GCC passes the frame of the function around it to a nested one in r12.
_CHAIN: Final = 12
# Functions with a variable number of arguments save their registers just below those on the stack; so many bytes.
_SAVED: Final = 16
# A call passes further arguments in the lowest words of the frame; so many bytes are taken to be that.
_PASSED: Final = 32
# The slot of a word in the frame is this plus its distance from SP at the function's entry.
_WORDS: Final = 1 << 48
_WORD: Final = 4
# Times that a block is looked at, on the average.
_VISITS: Final = 16


class PointerFlow:
    """The dataflow of one function.

    :param bounds: Where the function begins and ends.
    :param results: Of operations in the program's lattice.
    :param template: Gives the instruction at an address.
    :param code: Follows the function's code.
    :param read: Reads memory that does not change.
    :param summary: Gives the summary of the function at an address; of None, of one that is not known.
    :param losses: Tells what functions do not keep.
    """

    def __init__(
        self,
        bounds: Tuple[int, int],
        results: Results,
        template: Callable[[int], Optional[Template]],
        code: FunctionCode,
        read: Callable[[int, int], Optional[int]],
        summary: Callable[[Optional[int]], Summary],
        losses: Losses,
    ) -> None:
        self._bounds = bounds
        self._results = results
        self._lattice = results.lattice
        self._template = template
        self._code = code
        self._read = read
        self._summary = summary
        self._losses = losses
        # Store instructions, by address.
        self.sites: Dict[int, Site] = {}
        # Objects whose address leaves; and arguments.
        self.escaped: Set[int] = set()
        # What functions get and store through, by their address and number of the argument.
        self.given: Dict[Tuple[int, int], Given] = {}
        # Arguments through which it, or a function that gets them, stores; and those through which it loads.
        self._stored: Set[int] = set()
        self._loaded: Set[int] = set()
        # Constants that it makes; and those from which it counts as it stores, or whose address leaves.
        self.constants: Set[int] = set()
        self.bases: Set[int] = set()
        # Addresses of words that are instructions, or constants that they load.
        self.covered: Set[int] = set()
        # Instructions that access a word of the frame that is known; and others, which may access anything.
        self._own: Set[int] = set()
        self._foreign: Set[int] = set()
        self._spilled: Set[int] = set()
        self._use = FrameUse()
        self._blocks = blocks_of(bounds, self._successors)
        self._known = BlockStates(self._lattice)
        # Slots that the block that is followed uses or writes.
        self._touching: Set[int] = set()
        self._on_stack = False
        self._returned: Set[int] = set()

    def run(self) -> Summary:
        """Follow the function.

        If not all of it is found, all of its constants leave.
        """
        known = None
        while known != self._use:
            known = self._use
            if not self._follow():
                self._sweep()
                self._use = FrameUse(leaks=True)
                return LEAKS_ALL
        use = self._use
        if use.leaks or use.shown:
            self.escaped |= self._spilled
            self._use = use = use._replace(leaks=use.leaks or use.spilled)
        on_stack = self._on_stack or use.variadic and (use.leaks or use.shown or use.changed)
        stores, loads = self.escaped | self._stored, self.escaped | self._loaded
        return Summary(
            frozenset([one for one in ARGUMENTS if ARGUMENT - one in self.escaped]),
            frozenset([one for one in ARGUMENTS if ARGUMENT - one in stores]),
            frozenset([one for one in ARGUMENTS if ARGUMENT - one in loads]),
            on_stack,
            frozenset(self._returned),
        )

    @property
    def keeps_frame(self) -> bool:
        """Whether the frame's address is only in it and in arguments."""
        return not self._use.leaks

    def own_accesses(self) -> Set[int]:
        """List the instructions that access the frame and nothing else."""
        return self._own - self._foreign

    def _entry(self) -> State:
        state = {number: Provenance(objects=frozenset((ARGUMENT - number,)), other=True) for number in ARGUMENTS}
        state[SP] = Provenance(frame=0)
        return {slot: self._lattice.keep(value) for slot, value in state.items()}

    def _follow(self) -> bool:
        # Block by block, until nothing changes any more; the first ones of those that have changed come first.
        if self._blocks is None:
            return False
        order = list(self._blocks)
        places = {head: place for place, head in enumerate(order)}
        # What was found out of the frame's use counts everywhere: each block runs again.
        self._known.begin_again()
        self._known.states.setdefault(order[0], self._entry())
        todo = sorted([places[head] for head in self._known.states])
        left = _VISITS * len(order)
        while todo:
            head = order[heappop(todo)]
            left -= 1
            if not left:
                return False
            for address in self._advance(head, self._blocks[head]):
                if places[address] not in todo:
                    heappush(todo, places[address])
        return True

    def _advance(self, head: int, block: FlowBlock) -> Sequence[int]:
        # Gives the blocks after one before which there is something new.
        known = self._known
        state, changed = known.states[head], known.take(head)
        if changed is None or known.is_used(head, changed):
            state = dict(state)
            self._touching = set()
            for moves in block.moves:
                self._execute(moves, state)
                if moves.leaves:
                    self._leave(moves.template, state, moves.after)
            changed = known.followed(head, self._touching, state, changed)
        return known.meet(block.after, state, changed)

    def _successors(self, address: int) -> Optional[Tuple[Template, List[int]]]:
        template = self._template(address)
        after = self._after(template) if template is not None else None
        if template is None or after is None:
            return None
        self._cover(address, template.size)
        return template, after

    def _after(self, template: Template) -> Optional[List[int]]:
        if template.asks:
            return [template.address + template.size]
        after = self._code.after(template, self._bounds)
        is_bx = template.interworks and all([op != Op.LOAD for op, _, _, _ in template.steps])
        # BX leaves a function: compilers branch within one by tables.
        return [] if after is None and is_bx else after

    def _cover(self, address: int, size: int) -> None:
        self.covered.update((address & ~3, address + size - 1 & ~3))

    def _execute(self, moves: Moves, state: State) -> None:
        template = moves.template
        self._touching.update(moves.slots)
        before = {slot: state.get(slot, UNKNOWN) for slot in moves.unsure}
        temporary: State = {}
        lattice = self._lattice
        for step in moves.steps:
            op, outputs, inputs, detail = step
            read = [
                lattice.constant(~slot) if slot < 0 else (state if slot < TEMPORARY else temporary).get(slot, UNKNOWN)
                for slot in inputs
            ]
            value = UNKNOWN
            if op == Op.STORE:
                self._store(template.address, state, read, detail[0], template.condition == ALWAYS)
            elif op == Op.LOAD:
                value = lattice.keep(self._load(template.address, state, read[0], detail[0]))
            elif op in (Op.UNKNOWN, Op.CLOBBER):
                self._let_go(read)
            elif outputs:
                value, made = self._results.of(step, read)
                self.constants.update(made)
            for slot in outputs:
                if slot not in FLAG_SLOTS:
                    (state if slot < TEMPORARY else temporary)[slot] = value
                if slot in _STACK_POINTERS and value.frame is None:
                    self._let_go((value,))
        for slot, value in before.items():
            state[slot] = lattice.join(value, state.get(slot, UNKNOWN))

    def _load(self, where: int, state: State, address: Provenance, size: int) -> Provenance:
        self._loaded.update([one for one in address.objects if one < 0])
        if is_constant(address) and len(address.parts) == 1:
            at = next(iter(address.parts))
            value = self._read(at, size)
            if value is not None:
                self._cover(at, size)
                self.constants.add(value)
                return constant(value)
        frame = self._access(where, address)
        if frame is None:
            if address.frame is not None:
                self._use = self._use._replace(shown=True)
            return UNKNOWN
        self._on_stack = self._on_stack or frame + size > 0
        self._touching.update(range(_WORDS + frame, _WORDS + frame + size, _WORD))
        words = [state.get(_WORDS + at, UNKNOWN) for at in range(frame, frame + size, _WORD)]
        if size != _WORD:
            self._let_go(words if size > _WORD else ())
            return UNKNOWN
        return self._lattice.join(words[0], UNKNOWN) if self._use.leaks or self._use.changed else words[0]

    def _access(self, where: int, address: Provenance) -> Optional[int]:
        # Gives the place of an access in the frame, if it is known and there.
        if address.frame is None or address.frame == INSIDE or address.other:
            self._foreign.add(where)
            return None
        self._own.add(where)
        return address.frame

    def _store(self, where: int, state: State, read: List[Provenance], size: int, always: bool) -> None:
        address, data = read
        lattice = self._lattice
        objects = lattice.touched(address, size)
        arguments = {one for one in objects if one < 0}
        self._stored |= arguments
        known = self.sites.get(where, Site(frozenset(), False))
        in_frame = known.frame or address.frame is not None
        other = known.other or address.frame is not None or lattice.is_elsewhere(address)
        found = known.objects | {one for one in objects if one >= 0}
        self.sites[where] = Site(found, other, known.arguments | {ARGUMENT - one for one in arguments}, in_frame)
        self.bases.update(address.parts if address.reach else ())
        frame = self._access(where, address)
        if frame is None or size > _WORD:
            self._let_go((data,))
        if frame is None:
            if address.frame is not None:
                self._touching.add(ANY_WORD)
                for slot in [slot for slot in state if slot >= TEMPORARY]:
                    state[slot] = lattice.join(state[slot], UNKNOWN)
            return
        slot = _WORDS + frame
        self._touching.update(range(slot - _WORD + 1, slot + size))
        for other_slot in range(slot - _WORD + 1, slot + size):
            if other_slot != slot and other_slot in state:
                state[other_slot] = lattice.join(state[other_slot], UNKNOWN)
        value = data if size == _WORD else UNKNOWN
        state[slot] = value if always and size >= _WORD else lattice.join(state.get(slot, UNKNOWN), value)
        self._spilled |= lattice.objects_of(data)
        variadic = -_SAVED <= frame < 0 and ARGUMENT - (frame + _SAVED) // _WORD in data.objects
        use = self._use
        if data.frame is not None and not use.spilled or variadic and not use.variadic:
            self._use = use._replace(spilled=use.spilled or data.frame is not None, variadic=use.variadic or variadic)

    def _let_go(self, values: Sequence[Provenance]) -> None:
        for value in values:
            self.escaped |= self._lattice.objects_of(value)
            self.bases |= value.parts
            if value.frame is not None and not self._use.leaks:
                self._use = self._use._replace(leaks=True)

    def _leave(self, template: Template, state: State, after: Sequence[int]) -> None:
        # What a call, a jump to another function or a return does.
        start, end = self._bounds
        # An SVC is a call; after a barrier an exception comes that gives all registers back.
        is_svc = template.asks and (self._read(template.address, 2) or 0) & 0xFF00 == 0xDF00
        if template.call or is_svc:
            result = self._call(None if is_svc else self._callee(template, state), state)
            for slot in SCRATCH:
                state[slot] = self._lattice.join(state.get(slot, UNKNOWN), UNKNOWN)
            state.update({0: result, LR: UNKNOWN})
            self._share(state, *self._losses.of_call(template))
        if template.call or template.asks:
            return
        for address in after:
            if not start <= address < end:
                if state[SP].frame and address == template.goes_to:
                    # It goes on in another part of the function.  What follows a call that does not return is no code.
                    self._let_go((IN_FRAME,))
                self._returned |= self._call(address, state).objects
        if template.kind is InstructionKind.INDIRECT:
            if template.target == LR or SP in template.writes:
                self._returned |= self._lattice.objects_of(state.get(0, UNKNOWN))
            elif not any(start <= address < end for address in after):
                self._returned |= self._call(self._callee(template, state), state).objects

    def _share(self, state: State, lost: FrozenSet[int], used: FrozenSet[int]) -> None:
        # What is called may be a part of the function.
        self._touching |= lost | used
        self._let_go([state[slot] for slot in used if slot in state and slot != SP] + [IN_FRAME] * (SP in used))
        state.update({slot: UNKNOWN for slot in lost if slot != SP})

    def _callee(self, template: Template, state: State) -> Optional[int]:
        if template.target is None:
            return template.goes_to
        target = state.get(template.target, UNKNOWN) if template.target >= 0 else UNKNOWN
        return next(iter(target.parts)) & ~1 if is_constant(target) and len(target.parts) == 1 else None

    def _call(self, function: Optional[int], state: State) -> Provenance:
        # Gives what the function returns.
        summary = self._summary(function)
        self._let_go([state.get(number, UNKNOWN) for number in summary.leaks])
        if function is not None:
            self._pass(function, summary, state)
        if state.get(_CHAIN, UNKNOWN).frame is not None:
            self._let_go((IN_FRAME,))
        pointer = state[SP].frame
        if summary.on_stack and pointer is not None and pointer != INSIDE:
            slots = range(_WORDS + pointer, _WORDS + pointer + _PASSED, _WORD)
            self._touching.update(slots)
            self._let_go([state[slot] for slot in slots if slot in state])
        elif summary.on_stack:
            self._let_go((IN_FRAME,))
        objects = {one for one in summary.returned if one >= 0}
        frame: Optional[int] = None
        for number in ARGUMENTS:
            if ARGUMENT - number in summary.returned:
                value = state.get(number, UNKNOWN)
                objects |= self._lattice.objects_of(value)
                frame = INSIDE if value.frame is not None else frame
        return self._lattice.keep(Provenance(objects=frozenset(objects), other=True, frame=frame))

    def _pass(self, function: int, summary: Summary, state: State) -> None:
        # What a function may do through its arguments.
        use = self._use
        for number in summary.stores:
            value = state.get(number, UNKNOWN)
            objects, in_frame = self._lattice.objects_of(value), value.frame is not None
            arguments = frozenset([ARGUMENT - one for one in objects if one < 0])
            given = Given(frozenset([one for one in objects if one >= 0]), arguments, in_frame)
            self.given[function, number] = given.joined(self.given.get((function, number), Given()))
            self._stored.update([one for one in objects if one < 0])
            if in_frame and not use.changed:
                use = use._replace(changed=True)
        for number in summary.loads:
            value = state.get(number, UNKNOWN)
            self._loaded.update([one for one in value.objects if one < 0])
            if value.frame is not None and not use.shown:
                use = use._replace(shown=True)
        self._use = use

    def _sweep(self) -> None:
        # Of code that cannot be followed all constants leave; its stores may go anywhere.
        state = self._entry()
        self.sites = {}
        gone: Set[int] = set()
        at, end = self._bounds
        while at < end:
            template = self._template(at)
            if template is None:
                at += 2
                continue
            self._execute(moves_of(self._bounds, template, ()), state)
            # Of what was let go before nothing is left to do.
            fresh = [(slot, value) for slot, value in state.items() if id(value) not in gone]
            self._let_go([value for _, value in fresh if value is not NOTHING])
            for slot, value in fresh:
                state[slot] = self._lattice.keep(value._replace(frame=None, other=True))
                gone.add(id(state[slot]))
            self.sites.pop(template.address, None)
            at += template.size
        self.covered = set()
