"""Explanations: why a value is known, and why another one is not.

A known value has a line of text, and a chain of facts.
"""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Set, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind, variables
from gdb_etm.recovery.constraints.graph import INPUT, OPEN, START, UNMODELLED, Premise
from gdb_etm.recovery.functions.calls import (
    ARGUMENT,
    BLOCK,
    CONSTANT,
    FRAME,
    HANDLER,
    LINK,
    THREAD,
    WAITING,
    Assumption,
)
from gdb_etm.recovery.lift.operations import MASK, SLOTS, SP
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.values import Step

_NAMES: Final = {slot: name for name, slot in SLOTS.items()}
# Facts in a chain, at most.
_STEPS: Final = 40
_DEEP: Final = 400
_LOADS: Final = -16
# Where M-profile's memory map has code, and RAM outside of the chip (Armv8-M ARM, B8.1).
_MEMORY: Final = ((0, 0x20000000), (0x60000000, 0xA0000000))

# What is said of links that do not follow from what was seen, by kind.
_LINKS: Final[Dict[int, str]] = {
    ConstraintKind.LINK: "",
    ConstraintKind.OWNED: ", in a frame to which no pointer led in between",
    ConstraintKind.BELOW: ", below the stack pointer in between, where no pointer leads",
    ConstraintKind.OUT_OF_REACH: ", in an object to which no pointer led in between",
    ConstraintKind.SUPPOSED: ", which no store in between turns out to hit if all are taken to miss",
}


class Explanations:
    """Explains the variables of a segment.

    :param solution: The segment.
    """

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._ssa = solution.ssa
        self._domain = solution.ssa.domain
        self._solver = solution.solver

    def known(self, variable: int) -> str:
        """Explain why a variable is known, or how far."""
        entry = self._domain.log.last[variable]
        return self._entry(entry) if entry >= 0 else self._made(variable)

    def _made(self, variable: int) -> str:
        if self._ssa.fixed[variable]:
            return "a constant of the program"
        made = self._ssa.made[variable]
        return "computed at #{:,}".format(self._ssa.numbers[made]) if made >= 0 else "as every such value"

    def _entry(self, entry: int) -> str:
        log = self._domain.log
        cause = log.cause[entry]
        for _ in range(_DEEP):
            if cause >= 0:
                break
            entry = log.newest(~cause, entry)
            if entry < 0:
                return self._made(~cause)
            cause = log.cause[entry]
        return self.cause(cause, log.variable[entry])

    def cause(self, cause: int, variable: int) -> str:
        """Describe what a constraint means for one of its variables."""
        constraint = self._ssa.constraints[cause]
        kind, number = constraint[0], self._ssa.numbers[cause]
        if kind == ConstraintKind.FACT:
            return self._fact(constraint[2], number)
        if kind == ConstraintKind.KEPT:
            return self._kept(self._solution.flow.calls.assumptions[constraint[-1]], number)
        if kind == ConstraintKind.ALIGNED:
            what = "the frame address" if constraint[2] == 7 else "what SP is set to"
            return "%s at %#x is a multiple of %d" % (what, self._solution.address(number), constraint[2] + 1)
        if kind in _LINKS:
            return self._link(constraint)
        if kind in (ConstraintKind.TABLE, ConstraintKind.BOUNDED):
            return "the constants to which the address at #{:,} may lead".format(number)
        if kind == ConstraintKind.MAY_ALIAS:
            return self._left(constraint)
        if kind == ConstraintKind.LIMIT:
            low, _ = self._domain.interval(constraint[3])
            return "SP is at least {} {:#x} (#{:,})".format(self._solution.limits.name(constraint[3]), low, number)
        if self._ssa.made[variable] == cause:
            return "computed at #{:,}".format(number)
        return "follows from what #{:,} computed".format(number)

    def _kept(self, one: Assumption, number: int) -> str:
        # What is assumed of calls, threads and functions.
        is_last = one.number in self._solution.solver.assumptions.by_elimination
        rest = "; no other one fits what ran" if is_last else ""
        if one.kind == THREAD:
            return "the thread left at #{:,} went on at #{:,} with its registers".format(one.number, number + 1) + rest
        border = self._solution.border
        if one.kind == WAITING and border is not None:
            text = "the thread left at #{:,} waits still at #{:,}, and where its frame is is known from later"
            return text.format(one.number, border.number)
        if one.kind == WAITING:
            return "the thread left at #{:,} waits at the end, its frame is in RAM".format(one.number) + rest
        if one.kind == BLOCK and not self._ssa.fixed[one.before]:
            return "nobody but the scheduler's handlers writes the pointer to the running thread's block"
        if one.kind == BLOCK:
            return "the scheduler went from block to block as RAM at the halt links them"
        if one.kind == CONSTANT:
            where = self._solution.address(max(number, self._solution.first))
            what = "a word of its frame" if one.slot == SP else _NAMES[one.slot]
            return "whichever way the function came to %#x, it has set %s so" % (where, what)
        if one.kind == LINK:
            return "a reset, or one call alone, leads to the function here, with that in LR"
        if one.kind == ARGUMENT:
            where = self._solution.address(max(number, self._solution.first))
            return "the call before %#x has left that in %s" % (where, _NAMES[one.slot])
        if self._solution.solver.assumptions.is_placed(one):
            return "the reset handler begins with SP of the vector table, and one call leads to each function here"
        if one.kind == FRAME:
            return "call frame information at %#x" % self._solution.address(max(number, self._solution.first))
        what = "exception after" if one.kind == HANDLER else "call at"
        return "the %s %#x kept %s" % (what, self._solution.address(one.number), _NAMES[one.slot])

    def _fact(self, why: int, number: int) -> str:
        text, border = self._text(why, number), self._solution.border
        if border is None:
            return text
        when = "before #{:,}".format(border.number)
        return text.replace("read at the halt", "known " + when).replace("at the halt", when)

    def _text(self, why: int, number: int) -> str:
        if why == Premise.HALT:
            return "read at the halt, not written since"
        if why == Premise.BEGIN:
            return "read when the run began, not written until then"
        if why in (Premise.TAKEN, Premise.NOT_TAKEN):
            return "the branch at #{:,} was {}taken".format(number, "not " if why == Premise.NOT_TAKEN else "")
        if why in (Premise.MEMORY, Premise.SUPPOSED):
            return "loaded at #{:,}: {}".format(number, Premise.TEXTS[why])
        if why >= Premise.STORED:
            verb = "stored" if (why - Premise.STORED) % 2 == 0 else "loaded"
            return "{} at #{:,}, {}".format(verb, number, Premise.TEXTS[why])
        if why == Premise.TARGET:
            return "the branch at #{:,} went there".format(number)
        return "{} (#{:,})".format(Premise.TEXTS[why], number) if number else Premise.TEXTS[why]

    def _link(self, constraint: Tuple[int, ...]) -> str:
        # A load's bytes are those of another access.
        accesses = self._ssa.accesses
        older, later = accesses[constraint[6]], accesses[constraint[7]]
        verb = "stored" if older.store else "loaded"
        return "{} at #{:,}, loaded at #{:,}{}".format(verb, older.number, later.number, _LINKS[constraint[0]])

    def _left(self, constraint: Tuple[int, ...]) -> str:
        # What was found after stores to unknown addresses.
        ssa, count = self._ssa, constraint[1]
        older, later = ssa.accesses[constraint[-2]], constraint[-1]
        stored = "{} at #{:,}".format("stored" if older.store else "loaded", older.number)
        at_end = later == len(ssa.accesses)
        found = "still there at the end" if at_end else "loaded at #{:,}".format(ssa.accesses[later].number)
        text = "{}, {}".format(stored, found)
        if all(self._domain.mask[one] == MASK for one in constraint[4 : 4 + count]):
            return text + ": stores to unknown addresses in between wrote something else"
        return text + ", or what stores to unknown addresses in between wrote"

    def chain(self, variable: int) -> List[Step]:
        """List the facts that a variable's value rests on, nearest first."""
        found: List[Step] = []
        log = self._domain.log
        todo = [log.last[variable]]
        seen: Set[int] = set()
        texts: Set[str] = set()
        while todo and len(found) < _STEPS:
            entry = todo.pop(0)
            if entry < 0 or entry in seen:
                continue
            seen.add(entry)
            cause = log.cause[entry]
            tier = self._solver.tier(entry)
            causes = [cause] if cause >= 0 else self._solver.proofs.path(~cause, log.variable[entry])
            for one in causes[:8]:
                of = log.variable[entry] if cause >= 0 else variables(self._ssa.constraints[one])[0]
                step = Step(self.cause(one, of), self._ssa.numbers[one] or None, tier)
                if step.text not in texts:
                    texts.add(step.text)
                    found.append(step)
            todo += self._solver.proofs.premises(entry, set(), _nothing, False)
            if self._domain.mask[log.variable[entry]] != MASK:
                todo.append(log.before[entry])
        return found or [Step(self.known(variable), None, self._solver.tier(-1))]

    def unknown(self, variable: int) -> str:
        """Explain why a variable is unknown: what is missing at its root."""
        ssa = self._ssa
        seen: Set[int] = set()
        for _ in range(_DEEP):
            seen.add(variable)
            made = ssa.made[variable]
            if made <= _LOADS:
                text, following = self._load(~(made + 16))
                if following is None:
                    return text
            elif made < 0:
                return self._root(variable, made)
            else:
                following = self._operand(made, seen)
                if following is None:
                    return "cannot be derived from what #{:,} computed".format(ssa.numbers[made])
            if following in seen:
                break
            variable = following
        return "cannot be told"

    def _root(self, variable: int, made: int) -> str:
        if made == START:
            return "before the window" if self._solution.first > 1 else "before the trace begins"
        if made == UNMODELLED:
            return "no model of the instruction that wrote it"
        if made == OPEN:
            return "left open by an exception"
        return "from outside" if made == INPUT else "not worked out"

    def _operand(self, made: int, seen: Set[int]) -> Optional[int]:
        # The first operand that is not known.
        mask = self._domain.mask
        for variable in variables(self._ssa.constraints[made]):
            if mask[variable] != MASK and variable not in seen:
                return variable
        return None

    def _load(self, number: int) -> Tuple[str, Optional[int]]:
        # Why a load is not known, or the variable that would have to be.
        ssa, domain = self._ssa, self._domain
        access = ssa.accesses[number]
        memory = self._solver.memory
        if domain.mask[access.address] != MASK:
            return "", access.address
        address = domain.bits[access.address]
        if not ssa.is_ram(address, access.size):
            if any(low <= address < high for low, high in _MEMORY) and self._solution.is_m_profile:
                return "memory at %#x that is neither RAM nor in the program" % address, None
            return "input/output at %#x" % address, None
        if ssa.is_volatile(address, access.size):
            return "memory that others write, at %#x" % address, None
        barrier = memory.blocked.get(number)
        if barrier is not None and not memory.resolved[barrier]:
            where = self._solution.address(ssa.accesses[barrier].number)
            return "hidden by the store at %#x, whose address is unknown" % where, None
        source = memory.source_of(number)
        if source is None:
            return "in memory at %#x from before, overwritten since" % address, None
        if not ssa.accesses[source].store:
            return self._load(source) if source != number else ("in memory at %#x" % address, None)
        return "", ssa.accesses[source].data


def _nothing(constraint: Tuple[int, ...]) -> bool:
    return False


def name_of(slot: int) -> Optional[str]:
    """Give the lower-case name of a register."""
    return _NAMES.get(slot)
