"""What a piece that was worked out hands over to the one before it."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, List, Optional, Tuple

from gdb_etm.recovery.border import Border, Byte, Known, Reader, Unplaced
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.values import State, Tier

_PLACES = 64
_MOST = 400
# Stores to unknown addresses that one byte is held against.


def border_of(answers: Queries, number: int) -> Border:
    """Tell what is known before an instruction.

    :param answers: Of the piece that it is in.
    :param number: The instruction's.
    """
    solution = answers.solution
    one = solution.history.instruction(number)
    accesses = solution.line.accesses
    first = bisect_left(accesses, (number,))
    return Border(
        number,
        one.address,
        one.isa,
        solution.features,
        solution.distrust,
        _places(answers, number),
        _words(answers, number),
        _unplaced(answers, first),
        answers.missed(first, len(accesses)),
        _later(answers),
        solution.readable,
        solution.flow.threads_since(number, lambda variable: _frame(answers, variable)),
    )


def _frame(answers: Queries, variable: int) -> Optional[int]:
    # Where a frame was, if that is known and no guess.
    domain = answers.solution.line.domain
    is_known = domain.mask[variable] == MASK and answers.tier(variable) <= Tier.ASSUMED
    return domain.bits[variable] if is_known else None


def _places(answers: Queries, number: int) -> Dict[int, Known]:
    domain = answers.solution.line.domain
    found: Dict[int, Known] = {}
    for place in range(_PLACES):
        variable = answers.solution.variable(number, place)
        if variable is not None and domain.mask[variable]:
            found[place] = Known(domain.mask[variable], domain.bits[variable], answers.tier(variable))
    return found


def _words(answers: Queries, number: int) -> Dict[int, Tuple[Byte, ...]]:
    found: Dict[int, Tuple[Byte, ...]] = {}
    for word in answers.solution.solver.memory.cells.words:
        values = answers.memory(number, word, 4)
        found[word] = tuple([None if one.value is None else (one.value, one.tier) for one in values])
    return found


def _unplaced(answers: Queries, first: int) -> Optional[List[Unplaced]]:
    # What may have written, from an access on, words that no access is known to touch.
    line, barriers = answers.solution.line, answers.solution.solver.memory.barriers
    numbers = barriers.unplaced[bisect_left(barriers.unplaced, first) :]
    if len(numbers) > _MOST or line.rules.bit_band and numbers:
        return None
    found: List[Unplaced] = []
    for number in numbers:
        access, domain = line.accesses[number], line.domain
        low, span = domain.interval(access.address)
        size, mask, bits = access.size, domain.mask[access.address], domain.bits[access.address]
        found.append(Unplaced(size, low, span, mask, bits, barriers.misses_but(number)))
    return found


def _later(answers: Queries) -> Reader:
    # Memory where the piece ends.
    solution = answers.solution
    if solution.border is not None:
        return solution.border.byte
    return _at_rest(solution.trusted_end)


def _at_rest(state: Optional[State]) -> Reader:
    def byte(address: int) -> Byte:
        word = None if state is None else state.read(address & ~3, 4)
        return None if word is None or len(word) < 4 else (word[address & 3], Tier.EXACT)

    return byte
