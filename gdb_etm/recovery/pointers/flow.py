"""A function's dataflow: its stores, and objects whose address leaves.

An address leaves a function when it is stored anywhere but in the frame, or passed to a function that lets it go or
stores through it.  What is stored in the frame stays, unless an address of the frame leaves.  What is returned goes on
in the caller.
"""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

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

# Argument registers, and what else a call need not keep (AAPCS32, 6.1.1).
_ARGUMENTS = (0, 1, 2, 3)
_SCRATCH = (*_ARGUMENTS, 12)
_STACK_POINTERS = (SP, MSP, PSP)
# A call passes further arguments in the lowest words of the frame; so many bytes are taken to be that.
_PASSED = 32
# The slot of a word in the frame is this plus its distance from SP at the function's entry.
_WORDS = 1 << 48
_WORD = 4
_FLAG_SLOTS = tuple([slot for slot, _ in FLAGS])
# Times that an instruction is looked at, on the average of all bytes.
_VISITS = 16

State = Dict[int, Provenance]


class Summary(NamedTuple):
    """What a function does with its arguments."""

    # Argument registers whose object's address it lets go, or through which it stores.
    leaks: FrozenSet[int]
    # Whether it has arguments on the stack.
    on_stack: bool
    # What r0 may be made from when it returns.
    returned: FrozenSet[int] = frozenset()


# Of a function that is not known.
LEAKS_ALL = Summary(frozenset(_ARGUMENTS), True)


class Site(NamedTuple):
    """The addresses that a store instruction may have."""

    objects: FrozenSet[int]
    # Whether there are others.
    other: bool


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
        # Constants that it makes; and those from which it counts as it stores, or whose address leaves.
        self.constants: Set[int] = set()
        self.bases: Set[int] = set()
        # Addresses of words that are instructions, or constants that they load.
        self.covered: Set[int] = set()
        self._spilled: Set[int] = set()
        self._leaks_frame = self._on_stack = False
        self._returned: Set[int] = set()

    def run(self) -> Summary:
        """Follow the function.

        If not all of it is found, all of its constants leave.
        """
        if not self._follow() or self._leaks_frame and not self._follow():
            self._sweep()
            return LEAKS_ALL
        if self._leaks_frame:
            self.escaped |= self._spilled
        leaks = [number for number in _ARGUMENTS if ARGUMENT - number in self.escaped]
        return Summary(frozenset(leaks), self._on_stack, frozenset(self._returned))

    def _entry(self) -> State:
        state = {slot: UNKNOWN for slot in range(TEMPORARY)}
        for number in _ARGUMENTS:
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
                value = self._load(state, read[0], detail[0]) if op == Op.LOAD else self._result(step, read)
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

    def _load(self, state: State, address: Provenance, size: int) -> Provenance:
        if is_constant(address) and len(address.parts) == 1:
            at = next(iter(address.parts))
            value = self._read(at, size)
            if value is not None:
                self._cover(at, size)
                self.constants.add(value)
                return constant(value)
        frame = address.frame
        if frame is None or frame == INSIDE or address.other:
            return UNKNOWN
        self._on_stack = self._on_stack or frame >= 0
        value_of = state.get(_WORDS + frame, UNKNOWN) if size == _WORD else UNKNOWN
        return self._lattice.join(value_of, UNKNOWN) if self._leaks_frame else value_of

    def _store(self, where: int, state: State, read: List[Provenance], size: int, always: bool) -> None:
        address, data = read
        lattice = self._lattice
        objects = lattice.touched(address, size)
        self.escaped.update([one for one in objects if one < 0])
        known = self.sites.get(where, Site(frozenset(), False))
        other = known.other or address.frame is not None or lattice.is_elsewhere(address)
        self.sites[where] = Site(known.objects | {one for one in objects if one >= 0}, other)
        self.bases.update(address.parts if address.reach else ())
        frame = address.frame
        if frame is None or frame == INSIDE or address.other:
            self._let_go((data,))
        if frame is None:
            return
        if frame == INSIDE:
            for slot in [slot for slot in state if slot > _WORDS >> 1]:
                state[slot] = UNKNOWN
            return
        slot = _WORDS + frame
        for other_slot in range(slot - _WORD + 1, slot + size):
            if other_slot != slot and other_slot in state:
                state[other_slot] = UNKNOWN
        value = data if size == _WORD else UNKNOWN
        state[slot] = value if always else lattice.join(state.get(slot, UNKNOWN), value)
        self._spilled |= lattice.objects_of(data)

    def _let_go(self, values: Sequence[Provenance]) -> None:
        for value in values:
            self.escaped |= self._lattice.objects_of(value)
            self.bases |= value.parts
            self._leaks_frame = self._leaks_frame or value.frame is not None

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
        pointer = state[SP].frame
        if summary.on_stack and pointer is not None and pointer != INSIDE:
            slots = range(_WORDS + pointer, _WORDS + pointer + _PASSED, _WORD)
            self._let_go([state[slot] for slot in slots if slot in state])
        elif summary.on_stack:
            self._let_go((IN_FRAME,))
        objects = {one for one in summary.returned if one >= 0}
        for number in _ARGUMENTS:
            if ARGUMENT - number in summary.returned:
                objects |= self._lattice.objects_of(state[number])
        return Provenance(objects=frozenset(objects), other=True)

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
