"""Worked by hand, property test: relations in every direction."""

from __future__ import annotations

import random
from typing import Callable, Dict, List, Sequence, Tuple

import pytest

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction, Domain
from gdb_etm.recovery.lift.evaluate import apply
from gdb_etm.recovery.lift.operations import MASK, Op
from gdb_etm.recovery.solve.propagation import PROPAGATORS

TOP = 0x80000000
# Known bits and their values.
Part = Tuple[int, int]
NOTHING: Part = (0, 0)


def refined(kind: ConstraintKind, parts: Sequence[Part], *rest: int) -> List[Part]:
    """Refine a relation to the end; return its variables' domains."""
    domain = Domain()
    numbers = [domain.new(*part) for part in parts]
    settle(domain, (int(kind), *numbers, *rest))
    return [(domain.mask[number], domain.bits[number]) for number in numbers]


def settle(domain: Domain, relation: Constraint) -> None:
    """Refine a relation until nothing more follows."""
    seen = -1
    while seen != len(domain.log.variable):
        seen = len(domain.log.variable)
        PROPAGATORS[relation[0]](domain, relation)


def known(value: int) -> Part:
    """Give all bits of a value."""
    return MASK, value


MAYBE: Part = (MASK & ~1, 0)

BY_HAND: Dict[str, Tuple[ConstraintKind, List[Part], Tuple[int, ...], int, Part]] = {
    "a sum forwards": (ConstraintKind.SUM, [NOTHING, known(5), known(MASK)], (1,), 0, known(5)),
    "a sum backwards": (ConstraintKind.SUM, [known(3), NOTHING, known(5)], (0,), 1, known(MASK - 1)),
    "the other summand": (ConstraintKind.SUM, [known(3), known(5), NOTHING], (1,), 2, known(MASK - 2)),
    "low bits of a sum": (ConstraintKind.SUM, [NOTHING, (0xFF, 0xF0), (0xFF, 0x18)], (0,), 0, (0xFF, 0x08)),
    "low bits of a summand": (ConstraintKind.SUM, [(0xFF, 8), (0xFF, 0xF0), NOTHING], (0,), 2, (0xFF, 0x18)),
    "a carry that cannot come": (
        ConstraintKind.SUM,
        [NOTHING, (~0xF & MASK, 0x10), known(0x20)],
        (0,),
        0,
        (~0xF & MASK, 0x30),
    ),
    "the bit that was carried in": (ConstraintKind.SUM_CARRY, [known(8), known(4), known(3), MAYBE], (), 3, known(1)),
    "a mask": (ConstraintKind.AND, [NOTHING, NOTHING, known(0xFF)], (), 0, (~0xFF & MASK, 0)),
    "ones of a conjunction": (ConstraintKind.AND, [(0x11, 0x11), NOTHING, NOTHING], (), 1, (0x11, 0x11)),
    "a zero of a conjunction": (ConstraintKind.AND, [(3, 0), NOTHING, (3, 2)], (), 1, (2, 0)),
    "ones of a disjunction": (ConstraintKind.OR, [NOTHING, NOTHING, (0xF0, 0x30)], (), 0, (0x30, 0x30)),
    "zeros of a disjunction": (ConstraintKind.OR, [(6, 0), NOTHING, NOTHING], (), 2, (6, 0)),
    "a one of a disjunction": (ConstraintKind.OR, [(4, 4), NOTHING, (6, 2)], (), 1, (4, 4)),
    "an exclusive or": (ConstraintKind.XOR, [(0xFF, 0x0F), NOTHING, (0xF3, 0xF1)], (), 1, (0xF3, 0xF2)),
    "a field forwards": (ConstraintKind.FIELD, [NOTHING, (0xF0, 0x50)], (8, 4, 4), 0, (0xF00, 0x500)),
    "a field backwards": (ConstraintKind.FIELD, [(0xF00, 0x300), NOTHING], (8, 4, 4), 1, (0xF0, 0x30)),
    "a shift to the left": (ConstraintKind.BITS, [NOTHING, known(0), (0xF, 9)], (4, 0, 28), 0, (0xFF, 0x90)),
    "a shift to the left, backwards": (
        ConstraintKind.BITS,
        [(0xFF0, 0x350), known(0), NOTHING],
        (4, 0, 28),
        2,
        (0xFF, 0x35),
    ),
    "an insertion": (ConstraintKind.BITS, [NOTHING, (0xFFFF, 0x1234), (0xF, 0xA)], (4, 0, 4), 0, (0xFFFF, 0x12A4)),
    "a sign": (ConstraintKind.SIGN, [NOTHING, (0x80, 0x80)], (8,), 0, (~0x7F & MASK, ~0x7F & MASK)),
    "a sign, backwards": (ConstraintKind.SIGN, [(TOP | 3, 1), NOTHING], (8,), 1, (0x83, 1)),
    "it is zero": (ConstraintKind.ZERO, [known(1), NOTHING], (), 1, known(0)),
    "it is not zero and one bit is free": (ConstraintKind.ZERO, [known(0), (MASK & ~4, 0)], (), 1, known(4)),
    "a bit tells that it is not zero": (ConstraintKind.ZERO, [MAYBE, (4, 4)], (), 0, known(0)),
    "the first is selected": (ConstraintKind.SELECT, [NOTHING, known(1), known(7), known(8)], (), 0, known(7)),
    "the second, backwards": (ConstraintKind.SELECT, [known(7), known(0), NOTHING, NOTHING], (), 3, known(7)),
    "what both agree on": (ConstraintKind.SELECT, [NOTHING, MAYBE, known(0x71), known(0x81)], (), 0, (~0xF0 & MASK, 1)),
    "which one it was": (ConstraintKind.SELECT, [known(7), MAYBE, known(7), known(8)], (), 1, known(1)),
    "a >= b": (ConstraintKind.COMPARE, [MAYBE, known(5), known(5)], (0,), 0, known(1)),
    "a < b with signs": (ConstraintKind.COMPARE, [MAYBE, known(MASK), known(5)], (TOP,), 0, known(0)),
    "nothing is below it": (ConstraintKind.COMPARE, [known(1), known(0), NOTHING], (0,), 2, known(0)),
    "a shift whose amount is known": (
        ConstraintKind.SHIFT,
        [NOTHING, (0xF, 5), known(4)],
        (Op.LSL,),
        0,
        (0xFF, 0x50),
    ),
    "a shift by 32": (ConstraintKind.SHIFT, [NOTHING, NOTHING, (0xFF, 32)], (Op.LSR,), 0, known(0)),
    "a rotation, backwards": (
        ConstraintKind.SHIFT,
        [known(0x10000000), NOTHING, known(4)],
        (Op.ROR,),
        1,
        known(1),
    ),
    "the carry of a shift": (ConstraintKind.SHIFT_CARRY, [MAYBE, (8, 8), known(4), MAYBE], (Op.LSR,), 0, known(1)),
    "the carry that stays": (
        ConstraintKind.SHIFT_CARRY,
        [known(1), NOTHING, (0xFF, 0), MAYBE],
        (Op.LSL,),
        3,
        known(1),
    ),
    "a product": (ConstraintKind.MULTIPLY, [NOTHING, known(7), known(6)], (), 0, known(42)),
    "an odd factor": (ConstraintKind.MULTIPLY, [known(42), known(7), NOTHING], (), 2, known(6)),
    "an even factor": (ConstraintKind.MULTIPLY, [known(48), NOTHING, known(8)], (), 1, (MASK >> 3, 6)),
    "low bits of a product": (ConstraintKind.MULTIPLY, [NOTHING, (0xF, 3), (0xF, 5)], (), 0, (0xF, 15)),
    "a quotient": (ConstraintKind.DIVIDE, [NOTHING, known(42), known(5)], (), 0, known(8)),
    "by zero": (ConstraintKind.DIVIDE, [NOTHING, NOTHING, known(0)], (), 0, known(0)),
    "a remainder": (ConstraintKind.REMAINDER, [NOTHING, known(42)], (5,), 0, known(2)),
    "a remainder is small": (ConstraintKind.REMAINDER, [NOTHING, NOTHING], (8,), 0, (MASK & ~7, 0)),
    "reversed": (ConstraintKind.REVERSE, [(TOP, TOP), NOTHING], (), 1, (1, 1)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    kind, parts, rest, which, expected = BY_HAND[name]
    mask, bits = refined(kind, parts, *rest)[which]
    assert (mask & expected[0], bits & expected[0]) == expected


def test_equal_values_are_one_class() -> None:
    domain = Domain()
    s, x, y = domain.new(), domain.new(), domain.constant(12)
    settle(domain, (ConstraintKind.SUM, s, x, y, 0))
    assert domain.root[s] == domain.root[x] and (domain.offset[s] - domain.offset[x]) & MASK == 12


def test_the_difference_within_a_class_is_known() -> None:
    domain = Domain()
    a, b, difference = domain.new(), domain.new(), domain.new()
    domain.merge(a, b, 24)
    settle(domain, (ConstraintKind.SUM, b, difference, a, 0))
    assert (domain.mask[difference], domain.bits[difference]) == known(24)


def test_a_byte_that_is_extended_is_itself() -> None:
    domain = Domain()
    d, a = domain.new(MASK & ~0xFF), domain.new(MASK & ~0xFF)
    settle(domain, (ConstraintKind.BITS, d, domain.constant(0), a, 0, 0, 8))
    assert domain.root[d] == domain.root[a]


def test_what_is_compared_becomes_narrower() -> None:
    domain = Domain()
    a, limit = domain.new(), domain.constant(28)
    settle(domain, (ConstraintKind.COMPARE, domain.constant(0), a, limit, 0))
    assert domain.bounds(a) == (0, 27)
    settle(domain, (ConstraintKind.ZERO, domain.constant(0), a))
    assert domain.bounds(a) == (1, 27)


def test_an_index_that_is_wrapped_is_bounded() -> None:
    # if (index > 27) index = 0;
    domain = Domain()
    index, d, over = domain.new(), domain.new(), domain.new(MASK & ~1)
    limit, zero = domain.constant(27), domain.constant(0)
    settle(domain, (ConstraintKind.CHOOSE, d, over, zero, index, limit, index, 0, 0))
    assert domain.bounds(d) == (0, 27)
    assert domain.bounds(index) == (0, MASK)


def test_a_remainder_and_bounds_tell_what_was_divided() -> None:
    domain = Domain()
    d, a = domain.constant(0), domain.new()
    domain.narrow(a, 1, 4)
    settle(domain, (ConstraintKind.REMAINDER, d, a, 5))
    assert (domain.mask[a], domain.bits[a]) == known(5)


def test_bits_that_do_not_fit_contradict() -> None:
    with pytest.raises(Contradiction):
        refined(ConstraintKind.AND, [(1, 1), NOTHING, (1, 0)])


def _condition(op: int, *detail: int) -> Callable[[Sequence[int]], int]:
    return lambda inputs: apply(op, detail, inputs)


def _compared(inputs: Sequence[int], bias: int) -> int:
    return int((inputs[0] + bias) & MASK >= (inputs[1] + bias) & MASK)


TRUE: Dict[str, Tuple[ConstraintKind, str, Tuple[int, ...], Callable[[Sequence[int]], int]]] = {
    "sum": (ConstraintKind.SUM, "ww", (1,), lambda i: i[0] + i[1] + 1),
    "sum with carry": (ConstraintKind.SUM_CARRY, "wwb", (), sum),
    "and": (ConstraintKind.AND, "ww", (), _condition(Op.AND)),
    "or": (ConstraintKind.OR, "ww", (), _condition(Op.OR)),
    "xor": (ConstraintKind.XOR, "ww", (), _condition(Op.XOR)),
    "insertion": (ConstraintKind.BITS, "ww", (5, 3, 9), lambda i: apply(Op.BITS, (5, 3, 9), (i[1], i[0]))),
    "shift": (ConstraintKind.BITS, "zw", (0, 7, 25), lambda i: i[1] >> 7),
    "sign": (ConstraintKind.SIGN, "w", (12,), _condition(Op.SIGN, 12)),
    "zero": (ConstraintKind.ZERO, "w", (), _condition(Op.ZERO)),
    "select": (ConstraintKind.SELECT, "bww", (), _condition(Op.SELECT)),
    "compare": (ConstraintKind.COMPARE, "ww", (0,), lambda i: _compared(i, 0)),
    "compare with signs": (ConstraintKind.COMPARE, "ww", (TOP,), lambda i: _compared(i, TOP)),
    "carry": (ConstraintKind.CARRY, "wwb", (0,), _condition(Op.ADD_CARRY)),
    "carry of a difference": (ConstraintKind.CARRY, "wwb", (1,), _condition(Op.SUB_CARRY)),
    "overflow": (ConstraintKind.OVERFLOW, "wwb", (0,), _condition(Op.ADD_OVERFLOW)),
    "overflow of a difference": (ConstraintKind.OVERFLOW, "wwb", (1,), _condition(Op.SUB_OVERFLOW)),
    "lsl": (ConstraintKind.SHIFT, "ws", (Op.LSL,), _condition(Op.LSL)),
    "lsr": (ConstraintKind.SHIFT, "ws", (Op.LSR,), _condition(Op.LSR)),
    "asr": (ConstraintKind.SHIFT, "ws", (Op.ASR,), _condition(Op.ASR)),
    "ror": (ConstraintKind.SHIFT, "ws", (Op.ROR,), _condition(Op.ROR)),
    "carry of lsl": (ConstraintKind.SHIFT_CARRY, "wsb", (Op.LSL,), _condition(Op.SHIFT_CARRY, Op.LSL)),
    "carry of asr": (ConstraintKind.SHIFT_CARRY, "wsb", (Op.ASR,), _condition(Op.SHIFT_CARRY, Op.ASR)),
    "carry of ror": (ConstraintKind.SHIFT_CARRY, "wsb", (Op.ROR,), _condition(Op.SHIFT_CARRY, Op.ROR)),
    "product": (ConstraintKind.MULTIPLY, "ww", (), _condition(Op.MUL)),
    "quotient": (ConstraintKind.DIVIDE, "ww", (), _condition(Op.UDIV)),
    "remainder": (ConstraintKind.REMAINDER, "w", (10,), lambda i: i[0] % 10),
    "reverse": (ConstraintKind.REVERSE, "w", (), _condition(Op.RBIT)),
}


def some(chance: random.Random, kind: str) -> int:
    """Return a value: a word, a bit, a shift, or zero."""
    if kind == "b":
        return chance.randrange(2)
    if kind == "z":
        return 0
    if kind == "s" or chance.random() < 0.4:
        return chance.choice((chance.randrange(40), MASK - chance.randrange(5), TOP + chance.randrange(3)))
    return chance.getrandbits(32)


def told(chance: random.Random, domain: Domain, number: int, value: int) -> None:
    """Let some of a value be known."""
    if chance.random() < 0.4:
        domain.learn(number, MASK, value)
    if chance.random() < 0.5:
        part = chance.getrandbits(32) & chance.getrandbits(32)
        domain.learn(number, part, value & part)
    if chance.random() < 0.4:
        before = chance.choice((chance.randrange(20), chance.getrandbits(31)))
        behind = chance.choice((chance.randrange(20), chance.getrandbits(31)))
        domain.narrow(number, (value - before) & MASK, before + behind)


@pytest.mark.parametrize("name", TRUE)
def test_the_truth_survives(name: str) -> None:
    kind, inputs, rest, compute = TRUE[name]
    for seed in range(300):
        chance = random.Random("%s %d" % (name, seed))
        values = [some(chance, one) for one in inputs]
        values.insert(0, compute(values) & MASK)
        domain = Domain()
        numbers = [domain.new() for _ in values]
        for number, value, width in zip(numbers, values, "w" + inputs):
            if width in "bz" or kind in (
                ConstraintKind.ZERO,
                ConstraintKind.COMPARE,
                ConstraintKind.CARRY,
                ConstraintKind.OVERFLOW,
                ConstraintKind.SHIFT_CARRY,
            ):
                if width in "bz" or number == numbers[0]:
                    domain.learn(number, MASK & ~1, 0)
            told(chance, domain, number, value)
        settle(domain, (int(kind), *numbers, *rest))
        for number, value in zip(numbers, values):
            assert (value ^ domain.bits[number]) & domain.mask[number] == 0, seed
            low, span = domain.interval(number)
            assert (value - low) & MASK <= span, seed
