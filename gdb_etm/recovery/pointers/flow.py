"""A function's dataflow: its stores, and objects whose address leaves.

An address leaves a function when it is stored anywhere but in the frame, or passed to a function that lets it go.
What is stored in the frame stays, unless somebody else may load it: because an address of the frame leaves or is passed
to a function that loads through it, or because it is not known which word is loaded.  What is returned goes on in the
caller.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import FLAGS, LR, MSP, PSP, SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Step, Template
from gdb_etm.recovery.pointers.provenance import (
    ARGUMENT,
    IN_FRAME,
    INSIDE,
    NOTHING,
    UNKNOWN,
    Lattice,
    Provenance,
    constant,
    is_constant,
)
from gdb_etm.recovery.pointers.summaries import ARGUMENTS, LEAKS_ALL, FrameUse, Site, Summary

# What a call need not keep (AAPCS32, 6.1.1).
_SCRATCH = (*ARGUMENTS, 12)
_STACK_POINTERS = (SP, MSP, PSP)
# GCC passes the frame of the function around it to a nested one in r12.
_CHAIN = 12
# Functions with a variable number of arguments save their registers just below those on the stack; so many bytes.
_SAVED = 16
# A call passes further arguments in the lowest words of the frame; so many bytes are taken to be that.
_PASSED = 32
# The slot of a word in the frame is this plus its distance from SP at the function's entry.
_WORDS = 1 << 48
_WORD = 4
_FLAG_SLOTS = tuple([slot for slot, _ in FLAGS])
# Times that an instruction is looked at, on the average of all bytes.
_VISITS = 16

State = Dict[int, Provenance]


class PointerFlow:
    """The dataflow of one function.

    :param bounds: Where the function begins and ends.
    :param lattice: Of the program.
    :param template: Gives the instruction at an address.
    :param code: Follows the function's code.
    :param read: Reads memory that does not change.
    :param summary: Gives the summary of the function at an address; of None, of one that is not known.
    """

    def __init__(
        self,
        bounds: Tuple[int, int],
        lattice: Lattice,
        template: Callable[[int], Optional[Template]],
        code: FunctionCode,
        read: Callable[[int, int], Optional[int]],
        summary: Callable[[Optional[int]], Summary],
    ) -> None:
        self._bounds = bounds
        self._lattice = lattice
        self._template = template
        self._code = code
        self._read = read
        self._summary = summary
        # Store instructions, by address.
        self.sites: Dict[int, Site] = {}
        # Objects whose address leaves; and arguments.
        self.escaped: Set[int] = set()
        # Those that functions get as arguments and store through; and arguments through which it loads.
        self.passed: Set[int] = set()
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
        groups = (self.escaped, self.escaped | self.passed, self.escaped | self._loaded)
        found = [frozenset([one for one in ARGUMENTS if ARGUMENT - one in group]) for group in groups]
        return Summary(*found, on_stack, frozenset(self._returned))

    @property
    def keeps_frame(self) -> bool:
        """Whether the frame's address is only in it and in arguments."""
        return not self._use.leaks

    def own_accesses(self) -> Set[int]:
        """List the instructions that access the frame and nothing else."""
        return self._own - self._foreign

    def _entry(self) -> State:
        state = {slot: UNKNOWN for slot in range(TEMPORARY)}
        for number in ARGUMENTS:
            state[number] = Provenance(objects=frozenset((ARGUMENT - number,)), other=True)
        state[SP] = Provenance(frame=0)
        return state

    def _follow(self) -> bool:
        start, end = self._bounds
        states: Dict[int, State] = {start: self._entry()}
        todo = [start]
        left = _VISITS * (end - start)
        while todo:
            at = todo.pop()
            left -= 1
            template = self._template(at)
            after = self._after(template) if template is not None else None
            if template is None or after is None or not left:
                return False
            self._cover(at, template.size)
            state = dict(states[at])
            self._execute(template, state)
            self._leave(template, state, after)
            for address in after:
                if start <= address < end and self._meet(states, address, state):
                    todo.append(address)
        return True

    def _after(self, template: Template) -> Optional[List[int]]:
        if template.asks:
            return [template.address + template.size]
        after = self._code.after(template, self._bounds)
        is_bx = template.interworks and all([op != Op.LOAD for op, _, _, _ in template.steps])
        # BX leaves a function: compilers branch within one by tables.
        return [] if after is None and is_bx else after

    def _meet(self, states: Dict[int, State], address: int, state: State) -> bool:
        # Join what is known where ways meet; gives whether that is new.
        known = states.get(address)
        if known is None:
            states[address] = state
            return True
        join = self._lattice.join
        changed: State = {}
        for slot, value in known.items():
            met = join(value, state.get(slot, UNKNOWN))
            if met != value:
                changed[slot] = met
        for slot in state.keys() - known.keys():
            changed[slot] = join(state[slot], UNKNOWN)
        if changed:
            states[address] = {**known, **changed}
        return bool(changed)

    def _cover(self, address: int, size: int) -> None:
        self.covered.update((address & ~3, address + size - 1 & ~3))

    def _execute(self, template: Template, state: State) -> None:
        always = template.condition == ALWAYS
        before = None if always else dict(state)
        for step in template.steps:
            op, outputs, inputs, detail = step
            read = [state.get(slot, UNKNOWN) if slot >= 0 else constant(~slot) for slot in inputs]
            if op == Op.STORE:
                self._store(template.address, state, read, detail[0], always)
            elif op in (Op.UNKNOWN, Op.CLOBBER):
                self._let_go(read)
            value = UNKNOWN
            if outputs and outputs[0] not in _FLAG_SLOTS:
                is_load = op == Op.LOAD
                value = self._load(template.address, state, read[0], detail[0]) if is_load else self._result(step, read)
            for slot in outputs:
                state[slot] = value
                if slot in _STACK_POINTERS and value.frame is None:
                    self._let_go((value,))
        for slot in [slot for slot in state if TEMPORARY <= slot < _WORDS >> 1]:
            del state[slot]
        if before is not None:
            for slot in template.writes:
                state[slot] = self._lattice.join(before.get(slot, UNKNOWN), state[slot])

    def _result(self, step: Step, read: List[Provenance]) -> Provenance:
        op, _, _, detail = step
        if op == Op.COPY:
            return read[0]
        if op in IMPURE:
            return UNKNOWN
        if all([is_constant(value) and len(value.parts) == 1 for value in read]):
            self.constants.add(made := apply(Op(op), detail, [next(iter(value.parts)) for value in read]))
            return constant(made)
        if op in (Op.ADD, Op.SUB) and is_constant(read[2]) and len(read[2].parts) == 1:
            carry = next(iter(read[2].parts))
            if op == Op.ADD:
                made_of = self._lattice.add(read[0], read[1])
                return self._lattice.add(made_of, constant(carry)) if carry else made_of
            if carry:
                return self._lattice.add(read[0], read[1], -1)
        if op == Op.SELECT:
            return self._lattice.join(read[1], read[2])
        if op == Op.BITS and detail == (2, 2, 30) and read[0].frame is not None:
            return read[0]
        if op in (Op.AND, Op.OR) or op == Op.BITS and detail[0] == detail[1]:
            return self._lattice.masked(read)
        return self._lattice.mixed(read)

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
        arguments = [one for one in objects if one < 0]
        self.passed.update(arguments)
        known = self.sites.get(where, Site(frozenset(), False))
        in_frame = known.frame or address.frame is not None
        other = known.other or address.frame is not None or lattice.is_elsewhere(address)
        found = known.objects | {one for one in objects if one >= 0}
        self.sites[where] = Site(found, other, known.argument or bool(arguments), in_frame)
        self.bases.update(address.parts if address.reach else ())
        frame = self._access(where, address)
        if frame is None or size > _WORD:
            self._let_go((data,))
        if frame is None:
            for slot in [slot for slot in state if slot > _WORDS >> 1] if address.frame is not None else ():
                state[slot] = lattice.join(state[slot], UNKNOWN)
            return
        slot = _WORDS + frame
        for other_slot in range(slot - _WORD + 1, slot + size):
            if other_slot != slot and other_slot in state:
                state[other_slot] = lattice.join(state[other_slot], UNKNOWN)
        value = data if size == _WORD else UNKNOWN
        state[slot] = value if always and size >= _WORD else lattice.join(state.get(slot, UNKNOWN), value)
        self._spilled |= lattice.objects_of(data)
        variadic = -_SAVED <= frame < 0 and ARGUMENT - (frame + _SAVED) // _WORD in data.objects
        use = self._use
        self._use = use._replace(spilled=use.spilled or data.frame is not None, variadic=use.variadic or variadic)

    def _let_go(self, values: Sequence[Provenance]) -> None:
        for value in values:
            self.escaped |= self._lattice.objects_of(value)
            self.bases |= value.parts
            if value.frame is not None:
                self._use = self._use._replace(leaks=True)

    def _leave(self, template: Template, state: State, after: List[int]) -> None:
        # What a call, a jump to another function or a return does.
        start, end = self._bounds
        # An SVC is a call; after a barrier an exception comes that gives all registers back.
        is_svc = template.asks and (self._read(template.address, 2) or 0) & 0xFF00 == 0xDF00
        if template.call or is_svc:
            result = self._call(None if is_svc else self._callee(template, state), state)
            for slot in _SCRATCH:
                state[slot] = self._lattice.join(state[slot], UNKNOWN)
            state[0] = result
            state[LR] = UNKNOWN
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
                self._returned |= self._lattice.objects_of(state[0])
            elif not any(start <= address < end for address in after):
                self._returned |= self._call(self._callee(template, state), state).objects

    def _callee(self, template: Template, state: State) -> Optional[int]:
        if template.target is None:
            return template.goes_to
        target = state.get(template.target, UNKNOWN) if template.target >= 0 else UNKNOWN
        return next(iter(target.parts)) & ~1 if is_constant(target) and len(target.parts) == 1 else None

    def _call(self, function: Optional[int], state: State) -> Provenance:
        # Gives what the function returns; None is one that is not known.
        summary = self._summary(function)
        self._let_go([state[number] for number in summary.leaks])
        self._pass(summary, state)
        pointer = state[SP].frame
        if summary.on_stack and pointer is not None and pointer != INSIDE:
            slots = range(_WORDS + pointer, _WORDS + pointer + _PASSED, _WORD)
            self._let_go([state[slot] for slot in slots if slot in state])
        elif summary.on_stack:
            self._let_go((IN_FRAME,))
        objects = {one for one in summary.returned if one >= 0}
        frame: Optional[int] = None
        for number in ARGUMENTS:
            if ARGUMENT - number in summary.returned:
                objects |= self._lattice.objects_of(state[number])
                frame = INSIDE if state[number].frame is not None else frame
        return Provenance(objects=frozenset(objects), other=True, frame=frame)

    def _pass(self, summary: Summary, state: State) -> None:
        # What a function may do through its arguments.
        use = self._use
        for number in summary.stores:
            self.passed |= self._lattice.objects_of(state[number])
            use = use._replace(changed=use.changed or state[number].frame is not None)
        for number in summary.loads:
            self._loaded.update([one for one in state[number].objects if one < 0])
            use = use._replace(shown=use.shown or state[number].frame is not None)
        self._use = use
        if state[_CHAIN].frame is not None:
            self._let_go((IN_FRAME,))

    def _sweep(self) -> None:
        # Of code that cannot be followed all constants leave; its stores may go anywhere.
        state = self._entry()
        self.sites = {}
        at, end = self._bounds
        while at < end:
            template = self._template(at)
            if template is None:
                at += 2
                continue
            self._execute(template, state)
            self._let_go([value for value in state.values() if value is not NOTHING])
            for slot in state:
                state[slot] = state[slot]._replace(frame=None, other=True)
            self.sites.pop(template.address, None)
            at += template.size
        self.covered = set()
