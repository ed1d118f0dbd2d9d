"""Recognition of remainders; compilers compute x - x / k * k.

The quotient x / k is often a multiplication.

What is below the divisor whatever x is bounds many an index.
"""

from __future__ import annotations

from typing import Dict, Final, Sequence, Tuple

from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.operations import MASK

_OVER: Final = 1 << 32

# A variable shifted to the right by a number of bits.
Shifted = Tuple[int, int]


class Remainders:
    """Index of products, quotients and high words of products with constants.

    :param domain: The variables.
    :param fixed: Which of them are constants.
    """

    def __init__(self, domain: Domain, fixed: Sequence[int]) -> None:
        self._domain = domain
        self._fixed = fixed
        self._multiples: Dict[int, Tuple[Shifted, int]] = {}
        self._quotients: Dict[int, Tuple[int, int]] = {}
        self._highs: Dict[int, Tuple[int, int]] = {}

    def _multiple(self, variable: int) -> Tuple[Shifted, int]:
        return self._multiples.get(variable, ((variable, 0), 1))

    def add(self, made: int, one: int, other: int) -> None:
        """Note a sum."""
        base, factor = self._multiple(one)
        another, times = self._multiple(other)
        if base == another and factor + times < _OVER:
            self._multiples[made] = base, factor + times

    def shift(self, made: int, source: int, detail: Sequence[int]) -> None:
        """Note bits ``detail`` of a variable, with zeros around them."""
        lowest, start, count = detail
        if not start and lowest + count == 32:
            base, factor = self._multiple(source)
            if factor << lowest < _OVER:
                self._multiples[made] = base, factor << lowest
        elif not lowest and start + count == 32:
            self._multiples[made] = (source, start), 1

    def mask(self, made: int, source: int, kept: int) -> None:
        """Note a variable without some bits."""
        low = (kept & -kept).bit_length() - 1
        if kept and kept == MASK & ~((1 << low) - 1):
            self._multiples[made] = (source, low), 1 << low

    def multiply(self, made: int, one: int, other: int) -> None:
        """Note the low word of a product."""
        for variable, constant in ((one, other), (other, one)):
            base, factor = self._multiple(variable)
            factor *= self._domain.bits[constant]
            if self._fixed[constant] and factor < _OVER:
                self._multiples[made] = base, factor

    def divide(self, made: int, one: int, other: int) -> None:
        """Note an unsigned quotient."""
        if self._fixed[other] and self._domain.bits[other]:
            self._quotients[made] = one, self._domain.bits[other]

    def high(self, made: int, one: int, other: int) -> None:
        """Note the high word of an unsigned product."""
        for variable, constant in ((one, other), (other, one)):
            if self._fixed[constant]:
                self._highs[made] = variable, self._domain.bits[constant]

    def _quotient(self, base: Shifted) -> Tuple[int, int]:
        # x * factor / 2**(32 + shift) is x / k for all x of a word if factor * k exceeds that power of two by no more
        # than 2**shift (Granlund and Montgomery, Division by Invariant Integers using Multiplication, theorem 4.2).
        variable, shift = base
        if not shift and variable in self._quotients:
            return self._quotients[variable]
        one, factor = self._highs.get(variable, (-1, 0))
        power = 1 << (32 + shift)
        divisor = -(-power // factor) if factor else 0
        return (one, divisor) if 0 <= factor * divisor - power <= 1 << shift else (-1, 0)

    def divisor(self, one: int, other: int) -> int:
        """Give k if ``one - other`` is ``one`` modulo k, else 0."""
        base, factor = self._multiple(other)
        return factor if factor > 1 and self._quotient(base) == (one, factor) else 0
