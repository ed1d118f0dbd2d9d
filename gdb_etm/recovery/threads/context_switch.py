"""Context switches: where handlers save PSP, how they find the next.

A scheduler keeps a block for each thread, with PSP in one word of it while the thread waits, and a variable that points
to the block of the one that runs.  Only the handler's accesses are looked at, none of its names and no layout: a store
of what PSP was, a little lower, through a pointer that was loaded from a fixed address; and a load of what PSP becomes
through a pointer that is there at the end.  Where threads use MSP, that is said of the handler's SP.
"""

from __future__ import annotations

from itertools import product
from typing import Callable, Dict, Final, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from gdb_etm.program.conditions import ALWAYS, holds
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import CONTROL, HANDLER, LR, MASK, PSP, SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import FLAGS, Step, Template

# A base and what is added to it, modulo 2**32.
Term = Tuple[int, int]
# Bases: none, so that it is a constant; the threads' stack pointer as the handler finds it.
_FIXED: Final = 0
_POINTER: Final = 1
# BITS with this sets bits 1:0 to 0; a stack pointer has none there.
_ALIGNING: Final = (2, 2, 30)

# EXC_RETURN with a basic frame on PSP, and with an extended one; bit 2 is 0 on MSP.
_BASIC: Final = 0xFFFFFFFD
_EXTENDED: Final = 0xFFFFFFED
_ON_PROCESS: Final = 4

# Gives the word at an aligned address, if known.
Reader = Callable[[int], Optional[int]]

# What happens within a handler: another one's begin, one instead of its return, another one's return.
ENTERED: Final = 0
CHAINED: Final = 1
LEFT: Final = 2
# Of what a handler did: one of these, or instructions that ran one after the other.
Part = Union[int, Sequence[Template]]


class HandlerAccess(NamedTuple):
    """An access of a handler."""

    # How many instructions ran after it.
    before_last: int
    # Which of its instruction's accesses it is.
    which: int
    # How many that one makes.
    of: int


class Switch(NamedTuple):
    """What a handler does on one way through it."""

    # Where the pointer to the block is of the thread that runs.
    current: int
    # Where the stack pointer is in a block.
    member: int
    # By how much it is lower than the frame, and the same if that has floating-point registers.
    lowered: int
    extended: int
    # The new pointer.
    chosen: Term
    # The base that is the old pointer.
    old: int
    # By base, where it was loaded from, if it was.
    loads: Tuple[Optional[Term], ...]
    # Those through pointers to blocks, and their addresses.
    accesses: Tuple[Tuple[HandlerAccess, Term], ...]

    def follow(self, block: int, word: Reader, read: List[int]) -> Optional[int]:
        """Give the new block's address; None unless the old one decides it.

        :param block: The old one.
        :param word: Reads memory.
        :param read: Gets the addresses of the words that it depends on.
        """
        return self.value(self.chosen, block, word, read)

    def value(self, term: Term, block: int, word: Reader, read: List[int]) -> Optional[int]:
        """Give the value of a term; as :meth:`follow`."""
        base, distance = term
        if base == self.old:
            return (block + distance) & MASK
        at = self.loads[base]
        address = None if at is None else self.value(at, block, word, read)
        if address is None or address & 3:
            return None
        read.append(address)
        found = word(address)
        return None if found is None else (found + distance) & MASK


class ContextSwitches:
    """Works out what handlers do, each way through them once.

    :param program: Reads a word that does not change.
    """

    def __init__(self, program: Reader) -> None:
        self._program = program
        self._known: Dict[Tuple[object, ...], Optional[Switch]] = {}

    def of(self, parts: Sequence[Part], ended: bool, is_process: bool = True) -> Optional[Switch]:
        """Give what a whole handler does; None if it switches no threads.

        :param ended: Whether it returned.
        :param is_process: Whether threads use PSP.
        """
        key = (ended, is_process, *[part if isinstance(part, int) else (part[0].address, len(part)) for part in parts])
        if key not in self._known:
            self._known[key] = self._work_out(parts, ended, is_process)
        return self._known[key]

    def keeps(self, parts: Sequence[Part], pointer: int, is_process: bool = True) -> bool:
        """Check that a part of a handler has not written a pointer.

        :param pointer: Its address.
        :param is_process: Whether threads use PSP.
        """
        walk = _Walk(self._program, _BASIC, is_process)
        walk.follow(parts, False)
        return walk.keeps((_FIXED, pointer))

    def _work_out(self, parts: Sequence[Part], ended: bool, is_process: bool) -> Optional[Switch]:
        basic = _Walk(self._program, _BASIC, is_process).follow(parts, ended)
        extended = _Walk(self._program, _EXTENDED, is_process).follow(parts, ended)
        if basic is None or extended is None or basic[:2] != extended[:2]:
            return basic
        return basic._replace(extended=extended.lowered)


class _Walk:
    # Executes a handler with terms instead of values.

    def __init__(self, program: Reader, returns: int, is_process: bool) -> None:
        self._program = program
        # The threads' stack pointer.
        self._pointer = PSP if is_process else SP
        returns = returns if is_process else returns & ~_ON_PROCESS
        # EXC_RETURN; what matters of it is which frame there is.
        self._returns = (_FIXED, returns)
        self._slots: Dict[int, Term] = {LR: self._returns}
        self._memory: Dict[Term, Term] = {}
        # By address, what was stored there last.
        self._written: Dict[Term, Term] = {}
        self._loads: List[Optional[Term]] = [None, None]
        self._of_load: Dict[Term, int] = {}
        # Stores of what PSP was: address and data.
        self._saved: List[Tuple[Term, Term]] = []
        # The instructions counted from the beginning.
        self._accesses: List[Tuple[HandlerAccess, Term]] = []
        self._interrupted: List[Dict[int, Term]] = []
        self._count = 0

    def follow(self, parts: Sequence[Part], ended: bool) -> Optional[Switch]:
        self._enter(self._slots)
        self._slots[self._pointer] = (_POINTER, 0)
        for part in parts:
            if isinstance(part, int):
                self._event(part)
            else:
                for template in part:
                    self._step(template)
        return self._switch(ended)

    def keeps(self, address: Term) -> bool:
        # Whether a word has not been written, or again what it was.
        base, distance = self._written.get(address, (_FIXED, 0))
        return address not in self._written or not distance and self._loads[base] == address

    def _enter(self, slots: Dict[int, Term]) -> None:
        slots[HANDLER], slots[CONTROL] = (_FIXED, 1), (_FIXED, 0)

    def _event(self, what: int) -> None:
        if what == LEFT:
            # The interrupted handler goes on with its registers.
            pointer = self._get(PSP)
            self._slots = self._interrupted.pop() if self._interrupted else {}
            self._slots[PSP] = pointer
            return
        if what == ENTERED:
            self._interrupted.append(dict(self._slots))
        for slot in (0, 1, 2, 3, 12, LR, *FLAGS):
            self._slots[slot] = self._fresh()
        if what == CHAINED:
            self._slots[LR] = self._returns

    def _fresh(self) -> Term:
        self._loads.append(None)
        return (len(self._loads) - 1, 0)

    def _get(self, slot: int) -> Term:
        if slot < 0:
            return (_FIXED, ~slot)
        if slot not in self._slots:
            self._slots[slot] = self._fresh()
        return self._slots[slot]

    def _step(self, template: Template) -> None:
        passes = self._passes(template.condition)
        self._count += 1
        if passes is False or CONTROL in template.writes:
            # A handler is privileged and uses MSP, whatever CONTROL is.
            return
        before = {slot: self._slots.get(slot) for slot in template.writes}
        accesses = sum(step[0] in (Op.LOAD, Op.STORE) for step in template.steps)
        index = 0
        for step in template.steps:
            access = HandlerAccess(self._count - 1, index, accesses)
            index += step[0] in (Op.LOAD, Op.STORE)
            self._do(step, access, passes is True)
        if passes is None:
            for written, was in before.items():
                self._slots[written] = self._either(was, self._slots.get(written))
        for written in [one for one in self._slots if one >= TEMPORARY]:
            del self._slots[written]

    def _passes(self, condition: int) -> Optional[bool]:
        # Whether a condition holds, if the flags are known.
        flags = [self._get(slot) for slot in FLAGS] if condition != ALWAYS else []
        each = [(value,) if base == _FIXED else (0, 1) for base, value in flags]
        bits = [one[0] << 3 | one[1] << 2 | one[2] << 1 | one[3] for one in product(*each) if one]
        found = {holds(condition, one) for one in bits or (0,)}
        return found.pop() if len(found) == 1 else None

    def _either(self, one: Optional[Term], other: Optional[Term]) -> Term:
        # One of two; where both differ by a constant from what was loaded, that is known of it.
        made = self._fresh()
        if one is not None and other is not None and one[0] == other[0]:
            self._loads[made[0]] = self._loads[one[0]]
        return made

    def _do(self, step: Step, access: HandlerAccess, certain: bool) -> None:
        op, outputs, inputs, detail = step
        terms = [self._get(one) for one in inputs]
        if op in (Op.LOAD, Op.STORE) and self._loads[terms[0][0]] is not None:
            self._accesses.append((access, terms[0]))
        if op == Op.STORE:
            self._store(terms[0], terms[1] if detail[0] == 4 and certain else self._fresh())
        elif op == Op.CLOBBER:
            self._memory.clear()
        elif op == Op.LOAD and detail[0] == 4:
            self._slots[outputs[0]] = self._load(terms[0])
        else:
            found = None if op in IMPURE else _compute(op, terms, detail)
            for output in outputs:
                self._slots[output] = self._fresh() if found is None else found

    def _store(self, address: Term, data: Term) -> None:
        if data[0] == _POINTER:
            self._saved.append((address, data))
        # Stacks and pointers to blocks stay; what else is known may be overwritten through another pointer.
        stacks = (_POINTER, self._get(SP)[0])
        pointers = {self._loads[base] for (base, _), _ in self._saved}
        for at in list(self._memory) if address[0] not in stacks else ():
            if at[0] != address[0] and at[0] not in stacks and at not in pointers:
                del self._memory[at]
        self._memory[address] = self._written[address] = data

    def _load(self, address: Term) -> Term:
        found = self._memory.get(address)
        if found is None:
            known = self._program(address[1]) if address[0] == _FIXED and not address[1] & 3 else None
            if known is not None:
                return (_FIXED, known)
            found = self._fresh()
            self._loads[found[0]] = address
            self._memory[address] = found
        return found

    def _switch(self, ended: bool) -> Optional[Switch]:
        for (old, member), data in self._saved:
            at = self._loads[old]
            if at is None or at[0] != _FIXED:
                continue
            chosen = self._written.get(at, (old, 0))
            loaded = self._loads[self._get(self._pointer)[0]]
            if not ended or loaded == (chosen[0], (chosen[1] + member) & MASK):
                lowered, loads = -data[1] & MASK, tuple(self._loads)
                last = self._count - 1
                found = self._accesses_to(self._way(chosen[0], old), last)
                return Switch(at[1], member, lowered, lowered, chosen, old, loads, found)
        return None

    def _way(self, base: int, old: int) -> Set[int]:
        # The pointers on the way from one to another.
        found = {old}
        while base not in found:
            found.add(base)
            at = self._loads[base]
            base = old if at is None else at[0]
        return found

    def _accesses_to(self, bases: Set[int], last: int) -> Tuple[Tuple[HandlerAccess, Term], ...]:
        found = [one for one in self._accesses if one[1][0] in bases]
        return tuple([(access._replace(before_last=last - access.before_last), to) for access, to in found])


def _compute(op: int, terms: Sequence[Term], detail: Tuple[int, ...]) -> Optional[Term]:
    if all(base == _FIXED for base, _ in terms):
        return (_FIXED, apply(op, detail, [value for _, value in terms]))
    if op == Op.COPY:
        return terms[0]
    if op == Op.SELECT and terms[0][0] == _FIXED:
        return terms[1] if terms[0][1] else terms[2]
    if op == Op.BITS and detail == _ALIGNING and terms[1] == (_FIXED, 0):
        return terms[0]
    if op in (Op.ADD, Op.SUB) and terms[2][0] == _FIXED:
        return _sum(op, terms)
    return None


def _sum(op: int, terms: Sequence[Term]) -> Optional[Term]:
    (base, one), (other_base, other), (_, carry) = terms
    if other_base == _FIXED:
        return (base, (one + (other if op == Op.ADD else ~other) + carry) & MASK)
    if base == _FIXED and op == Op.ADD:
        return (other_base, (one + other + carry) & MASK)
    return None
