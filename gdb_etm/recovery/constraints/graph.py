"""The constraint graph: one variable for each value, and no constraint twice."""

from __future__ import annotations

from typing import Collection, Dict, Final, List, NamedTuple, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind, variables
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.constraints.remainders import Remainders
from gdb_etm.recovery.lift.operations import MASK

# What made a variable, when no constraint did: it is from before; an instruction without a model; a load or what else
# comes from outside; an exception or a return from one, which leaves it open.  DEAD stands for a flag that nobody
# reads.
START: Final = -1
UNMODELLED: Final = -2
INPUT: Final = -3
DEAD: Final = -4
OPEN: Final = -5
# All bits but the lowest: they are 0 in a variable of one bit.
ABOVE_BIT: Final = 0xFFFFFFFE


class Premise:
    """Why a fact is known that no instruction computes.

    Its text is a step of a proof.
    """

    HALT: Final = 0
    BEGIN: Final = 1
    GIVEN: Final = 2
    TAKEN: Final = 3
    NOT_TAKEN: Final = 4
    TARGET: Final = 5
    ALIGNED: Final = 6
    OUTCOME: Final = 7
    MODE: Final = 8
    DATA: Final = 9
    MEMORY: Final = 10
    SUPPOSED: Final = 11
    BASE: Final = 12
    STORED: Final = 13
    LOADED: Final = 14
    OWNED_STORED: Final = 15
    OWNED_LOADED: Final = 16
    BELOW_STORED: Final = 17
    BELOW_LOADED: Final = 18
    OUT_OF_REACH_STORED: Final = 19
    OUT_OF_REACH_LOADED: Final = 20
    SUPPOSED_STORED: Final = 21
    SUPPOSED_LOADED: Final = 22
    PLACE: Final = 23
    LOCATED: Final = 24
    TEXTS: Final = (
        "read at the halt",
        "read when the run began",
        "read at the halt before it",
        "this branch was taken",
        "this branch was not taken",
        "the next instruction's address",
        "an address that must be aligned",
        "the trace shows whether this ran",
        "so by the architecture",
        "traced data",
        "in memory when the run began",
        "in memory when the run began, which no store turns out to hit if all are taken to miss",
        "the only place where memory later held what was stored there",
        "still in RAM at the halt",
        "still in RAM at the halt",
        "still in RAM at the halt, in a frame to which no pointer led",
        "still in RAM at the halt, in a frame to which no pointer led",
        "still in RAM at the halt, below the stack pointer, where no pointer leads",
        "still in RAM at the halt, below the stack pointer, where no pointer leads",
        "still in RAM at the halt, in an object to which no pointer led",
        "still in RAM at the halt, in an object to which no pointer led",
        "still in RAM at the halt, which no store turns out to hit if all are taken to miss",
        "still in RAM at the halt, which no store turns out to hit if all are taken to miss",
        "the only place in the program's constants, and none is in RAM, with what was loaded there",
        "no other address fits what ran and RAM at the halt, if all stores are taken to miss that turn out to",
    )


class Withheld(NamedTuple):
    """A fact that nothing exact is to rest on."""

    variable: int
    known: int
    bits: int
    # One of :class:`Premise`.
    why: int
    # The instruction's.
    number: int


class ConstraintGraph:
    """Variables and constraints."""

    def __init__(self) -> None:
        self.domain = Domain()
        # Facts that are withheld: why they are known, the instruction's number, the variable.
        self.doubted: Collection[Tuple[int, int, int]] = ()
        # Instructions, by their numbers, whose constraints are not taken.
        self.void: Collection[int] = ()
        self.withheld: List[Withheld] = []
        # Of each variable, whether it is a constant.
        self.fixed: List[bool] = []
        self.constraints: List[Constraint] = []
        # The instruction that each constraint comes from; 0 for none.
        self.numbers: List[int] = []
        # The constraint that computes each variable; ~access number - 16 for a load; or why there is none.
        self.made: List[int] = []
        # The instruction that is being added.
        self.number = 0
        self.remainders = Remainders(self.domain, self.fixed)
        # Of bits that compare: what, and the bias.
        self._compares: Dict[int, Tuple[int, int, int]] = {}
        self._derived: Dict[Tuple[int, int], int] = {}
        # Of each variable the one that it is a constant distance from, or itself, and that distance.
        self._bases: List[int] = []
        self._distances: List[int] = []
        self._inverse: Dict[int, int] = {}
        self.one = self.constant(1)

    def constant(self, value: int) -> int:
        """Give the variable of a constant."""
        found = self.domain.constants.get(value)
        if found is None:
            found = self.domain.constant(value)
            self.made.append(START)
            self.fixed.append(True)
            self._bases.append(found)
            self._distances.append(0)
        return found

    def new(self, maker: int, known: int = 0, bits: int = 0) -> int:
        """Make a variable.

        :param maker: As in :attr:`made`.
        """
        made = self.domain.new(known, bits)
        self.made.append(maker)
        self.fixed.append(False)
        self._bases.append(made)
        self._distances.append(0)
        return made

    def relate(self, constraint: Constraint) -> int:
        """Add a constraint and give its number."""
        constraints, domain = self.constraints, self.domain
        number = len(constraints)
        if self.void and self.number in self.void and constraint[0] != ConstraintKind.ACCESS:
            one = variables(constraint)[0]
            constraint = (ConstraintKind.EQUAL, one, one)
        constraints.append(constraint)
        self.numbers.append(self.number)
        domain.queued.append(False)
        mask, watchers = domain.mask, domain.watchers
        for variable in variables(constraint):
            if mask[variable] != MASK:
                waiting = watchers[variable]
                if waiting is None:
                    watchers[variable] = [number]
                else:
                    waiting.append(number)
        return number

    def add(self, constraint: Constraint) -> None:
        """Add a constraint that is to be evaluated."""
        number = self.relate(constraint)
        self.domain.queued[number] = True
        self.domain.queue.append(number)

    def make(self, kind: int, *inputs: int) -> int:
        """Make the variable that a constraint computes."""
        made = self.new(len(self.constraints))
        self.relate((kind, made) + inputs)
        return made

    def make_bit(self, kind: int, *inputs: int) -> int:
        """Make the variable of one bit that a constraint computes."""
        made = self.new(len(self.constraints), ABOVE_BIT)
        self.relate((kind, made) + inputs)
        return made

    def learn(self, variable: int, known: int, bits: int, why: int, pair: Tuple[int, ...] = ()) -> None:
        """Take bits of a variable as a fact.

        :param why: One of :class:`Premise`.
        :param pair: Of what memory tells, the accesses: the older one and the later one, as in a link.
        """
        if self.doubted and (why, self.number, variable) in self.doubted:
            self.withheld.append(Withheld(variable, known, bits, why, self.number))
            return
        self._learn(variable, known, bits, why, pair)

    def accept(self, fact: Withheld) -> None:
        """Take a fact that was withheld."""
        self.number = fact.number
        self._learn(fact.variable, fact.known, fact.bits, fact.why, ())

    def _learn(self, variable: int, known: int, bits: int, why: int, pair: Tuple[int, ...]) -> None:
        domain = self.domain
        if known & (~domain.mask[variable] | (domain.bits[variable] ^ bits)):
            domain.cause = len(self.constraints)
            self.constraints.append((ConstraintKind.FACT, variable, why) + pair)
            self.numbers.append(self.number)
            domain.queued.append(False)
            domain.learn(variable, known, bits)

    def offset(self, variable: int, distance: int) -> int:
        """Give the variable that is another one plus a constant."""
        base = self._bases[variable]
        distance = (self._distances[variable] + distance) & MASK
        if not distance:
            return base
        found = self._derived.get((base, distance))
        if found is None:
            domain = self.domain
            if self.fixed[base]:
                return self.constant((domain.bits[base] + distance) & MASK)
            found = self._derived[base, distance] = self.new(len(self.constraints))
            self._bases[found], self._distances[found] = base, distance
            domain.cause = self.relate((ConstraintKind.SUM, found, base, self.constant(distance), 0))
            if self.number not in self.void:
                domain.merge(base, found, distance)
        return found

    def base(self, variable: int) -> int:
        """Give the variable that another one is a constant distance from.

        That is the variable itself if it was not made by adding a constant.
        """
        return self._bases[variable]

    def base_and_distance(self, variable: int) -> Tuple[int, int]:
        """Give the same, and the constant, signed."""
        distance = self._distances[variable]
        return self._bases[variable], distance - (distance >> 31 << 32)

    def select(self, condition: int, one: int, other: int) -> int:
        """Make a variable: ``one`` if a bit is 1, else ``other``."""
        if self.fixed[condition]:
            return one if self.domain.bits[condition] else other
        if one == other:
            return one
        mask, bits = self.domain.mask, self.domain.bits
        if mask[one] & mask[other] & ABOVE_BIT == ABOVE_BIT and not (bits[one] | bits[other]) & ABOVE_BIT:
            return self.make_bit(ConstraintKind.SELECT, condition, one, other)
        for sense, bit in ((1, condition), (0, self._inverse.get(condition))):
            compared = self._compares.get(bit) if bit is not None else None
            if compared is not None:
                return self.make(ConstraintKind.CHOOSE, condition, one, other, *compared, sense)
        return self.make(ConstraintKind.SELECT, condition, one, other)

    def invert(self, bit: int) -> int:
        """Make the opposite of a bit."""
        found = self._inverse.get(bit)
        if found is None:
            if self.fixed[bit]:
                return self.constant(self.domain.bits[bit] ^ 1)
            found = self._inverse[bit] = self.make_bit(ConstraintKind.XOR, bit, self.one)
            self._inverse[found] = bit
        return found

    def exclusive(self, one: int, other: int) -> int:
        """Make the exclusive or of two variables."""
        if self.fixed[one] and self.fixed[other]:
            return self.constant(self.domain.bits[one] ^ self.domain.bits[other])
        if one == other:
            return self.constant(0)
        if other == self.one and self.is_bit(one):
            return self.invert(one)
        return self.logic(ConstraintKind.XOR, [one, other])

    def is_bit(self, variable: int) -> bool:
        """Check whether a variable has one bit."""
        return self.domain.mask[variable] & ABOVE_BIT == ABOVE_BIT and not self.domain.bits[variable] & ABOVE_BIT

    def logic(self, kind: int, inputs: List[int]) -> int:
        """Make the variable that AND, OR or XOR computes."""
        if self.is_bit(inputs[0]) and self.is_bit(inputs[1]):
            return self.make_bit(kind, inputs[0], inputs[1])
        if inputs[0] == inputs[1]:
            return inputs[0]
        made = self.make(kind, inputs[0], inputs[1])
        if kind == ConstraintKind.AND and self.fixed[inputs[1]]:
            self.remainders.mask(made, inputs[0], self.domain.bits[inputs[1]])
        return made

    def compare(self, bit: int, one: int, other: int, bias: int) -> None:
        """Constrain a bit to be ``one >= other``, as in COMPARE."""
        self.relate((ConstraintKind.COMPARE, bit, one, other, bias))
        self._compares.setdefault(bit, (one, other, bias))
