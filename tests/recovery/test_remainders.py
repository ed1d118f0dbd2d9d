"""Quotients by multiplication, worked by hand; property test against division."""

from __future__ import annotations

import random

import pytest

from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.constraints.remainders import Remainders

LAST = 0xFFFFFFFF


def divisor(factor: int, shift: int, times: int) -> int:
    """Return the divisor recognised in a remainder.

    The form is ``x - (x * factor >> 32 + shift) * times``.
    """
    domain = Domain()
    x, high, quotient, product = (domain.new() for _ in range(4))
    constants = domain.constant(factor), domain.constant(times)
    products = Remainders(domain, [0, 0, 0, 0, 1, 1])
    products.high(high, x, constants[0])
    products.shift(quotient, high, (0, shift, 32 - shift))
    products.multiply(product, quotient, constants[1])
    return products.divisor(x, product)


@pytest.mark.parametrize("k, factor, shift", [(5, 0xCCCCCCCD, 2), (10, 0xCCCCCCCD, 3), (3, 0xAAAAAAAB, 1)])
def test_factors_of_compilers(k: int, factor: int, shift: int) -> None:
    assert divisor(factor, shift, k) == k
    assert divisor(factor, shift, k + 1) == 0
    assert divisor(factor - 2, shift, k) == 0


def test_what_is_recognised_is_a_remainder() -> None:
    recognised = 0
    for seed in range(3000):
        chance = random.Random(seed)
        k, shift = chance.randrange(2, 1000), chance.randrange(12)
        factor = ((1 << 32 + shift) + k - 1) // k + chance.randrange(3)
        if factor > LAST or divisor(factor, shift, k) != k:
            continue
        recognised += 1
        for x in (0, LAST, LAST // k * k, LAST // k * k - 1, chance.getrandbits(32)):
            assert x - (x * factor >> 32 + shift) * k == x % k
    assert recognised > 100
