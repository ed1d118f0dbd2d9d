"""Property test: operations against exact integers; edges worked by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.recovery.lift.evaluate import IMPURE, apply, compute
from gdb_etm.recovery.lift.operations import FLOAT_OPS, MASK, Const, Op, Operation

WORDS = st.integers(0, MASK) | st.sampled_from((0, 1, 0x7FFFFFFF, 0x80000000, MASK))
BITS = st.integers(0, 1)


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@given(WORDS, WORDS, BITS)
def test_addition_and_its_flags_make_one_sum(a: int, b: int, carry: int) -> None:
    inputs = (a, b, carry)
    total = a + b + carry
    assert apply(Op.ADD_CARRY, (), inputs) << 32 | apply(Op.ADD, (), inputs) == total
    result = signed(apply(Op.ADD, (), inputs))
    assert apply(Op.ADD_OVERFLOW, (), inputs) == (signed(a) + signed(b) + carry != result)


@given(WORDS, WORDS)
def test_subtraction_and_its_flags_compare(a: int, b: int) -> None:
    inputs = (a, b, 1)
    assert apply(Op.SUB, (), inputs) == a - b & MASK
    assert apply(Op.SUB_CARRY, (), inputs) == (a >= b)
    negative = apply(Op.SUB, (), inputs) >> 31
    assert (negative != apply(Op.SUB_OVERFLOW, (), inputs)) == (signed(a) < signed(b))


@given(WORDS, WORDS)
def test_products(a: int, b: int) -> None:
    low = apply(Op.MUL, (), (a, b))
    assert apply(Op.UMULH, (), (a, b)) << 32 | low == a * b
    assert apply(Op.SMULH, (), (a, b)) << 32 | low == signed(a) * signed(b) % (1 << 64)


@given(WORDS, WORDS)
def test_division_goes_towards_zero(a: int, b: int) -> None:
    assert apply(Op.UDIV, (), (a, b)) == (a // b if b else 0)
    quotient = signed(apply(Op.SDIV, (), (a, b)))
    if b and (a, b) != (0x80000000, MASK):
        rest = signed(a) - quotient * signed(b)
        assert abs(rest) < abs(signed(b)) and (not rest or (rest < 0) == (signed(a) < 0))


def test_division_at_the_edges() -> None:
    assert apply(Op.SDIV, (), (0x80000000, MASK)) == 0x80000000
    assert apply(Op.SDIV, (), (5, 0)) == 0


@given(WORDS, WORDS, st.integers(0, 31), st.integers(0, 31), st.integers(1, 32))
def test_bits_are_moved_one_by_one(a: int, b: int, place: int, source: int, count: int) -> None:
    count = min(count, 32 - place, 32 - source)
    result = apply(Op.BITS, (place, source, count), (a, b))
    for number in range(32):
        moved = place <= number < place + count
        assert result >> number & 1 == (a >> number - place + source if moved else b >> number) & 1


@given(WORDS, WORDS, BITS)
def test_shifts_one_at_a_time(a: int, amount: int, carry: int) -> None:
    value = {op: a for op in (Op.LSL, Op.LSR, Op.ASR, Op.ROR)}
    out = dict.fromkeys(value, carry)
    for _ in range(amount & 0xFF):
        for op, now in value.items():
            out[op] = now >> 31 if op == Op.LSL else now & 1
            top = {Op.LSR: 0, Op.ASR: now >> 31, Op.ROR: now & 1}
            value[op] = now << 1 & MASK if op == Op.LSL else now >> 1 | top[op] << 31
    for op in value:
        assert apply(op, (), (a, amount)) == value[op]
        assert apply(Op.SHIFT_CARRY, (int(op),), (a, amount, carry)) == out[op]


@given(WORDS, st.integers(1, 32))
def test_signs(a: int, bits: int) -> None:
    result = apply(Op.SIGN, (bits,), (a,))
    assert result & (1 << bits) - 1 == a & (1 << bits) - 1
    assert result >> bits == (MASK >> bits if a >> (bits - 1) & 1 else 0)


def test_counting_and_turning() -> None:
    assert [apply(Op.CLZ, (), (value,)) for value in (0, 1, MASK)] == [32, 31, 0]
    assert apply(Op.RBIT, (), (0x00000003,)) == 0xC0000000


def test_conditions_and_choices() -> None:
    assert apply(Op.CONDITION, (8,), (0, 0, 1, 0)) == 1  # HI
    assert apply(Op.CONDITION, (9,), (0, 0, 1, 0)) == 0  # LS
    assert apply(Op.CONDITION, (12,), (1, 0, 0, 1)) == 1  # GT
    assert [apply(Op.SELECT, (), (bit, 5, 6)) for bit in (1, 0)] == [5, 6]


def test_every_operation_that_is_pure_has_a_meaning() -> None:
    for op in set(range(FLOAT_OPS[-1] + 1)) - IMPURE:
        detail = (0, 0, 1) if op == Op.BITS else (Op.LSL,) if op == Op.SHIFT_CARRY else (1,)
        operation = Operation(op, (0,), (Const(0),) * 4, detail)
        assert len(compute(operation, (0, 0, 0, 0))) == 1
