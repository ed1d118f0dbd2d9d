"""Making of a border: what a piece hands to the older one."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, List, Optional, Tuple

from gdb_etm.recovery.border import Border, Byte, Known, Reader, UnresolvedStore
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.values import CoreState

_SLOTS = 64
# Stores to unknown addresses that one byte is held against.
_MOST = 400


def border_of(queries: Queries, number: int) -> Border:
    """Make the border before an instruction.

    :param queries: Of the piece that it is in.
    :param number: The instruction's.
    """
    solution = queries.solution
    one = solution.history.instruction(number)
    accesses = solution.ssa.accesses
    first = solution.ssa.first_access(number)
    return Border(
        number,
        one.address,
        one.isa,
        solution.distrust,
        _slots(queries, number),
        _words(queries, number),
        _unresolved(queries, first),
        queries.missed(first, len(accesses)),
        solution.border,
        _at_rest(solution.trusted_end) if solution.border is None else solution.border.rest,
        solution.readable,
        solution.flow.threads.since(number, lambda variable: _frame(queries, variable)),
    )


def _frame(queries: Queries, variable: int) -> Optional[int]:
    # Where a frame was, if that is known.
    domain = queries.solution.ssa.domain
    return domain.bits[variable] if domain.mask[variable] == MASK else None


def _slots(queries: Queries, number: int) -> Dict[int, Known]:
    domain = queries.solution.ssa.domain
    found: Dict[int, Known] = {}
    for slot in range(_SLOTS):
        variable = queries.solution.variable(number, slot)
        if variable is not None and domain.mask[variable]:
            found[slot] = Known(domain.mask[variable], domain.bits[variable], queries.tier(variable))
    return found


def _words(queries: Queries, number: int) -> Dict[int, Tuple[Byte, ...]]:
    found: Dict[int, Tuple[Byte, ...]] = {}
    for word in queries.solution.solver.memory.cells.words:
        values = queries.memory(number, word, 4)
        found[word] = tuple([None if one.value is None else (one.value, one.tier) for one in values])
    return found


def _unresolved(queries: Queries, first: int) -> Optional[List[UnresolvedStore]]:
    # What may have written, from an access on, words that no access is known to touch.
    ssa, may_alias = queries.solution.ssa, queries.solution.solver.memory.may_alias
    numbers = may_alias.unresolved[bisect_left(may_alias.unresolved, first) :]
    if len(numbers) > _MOST or ssa.rules.bit_band and numbers:
        return None
    found: List[UnresolvedStore] = []
    for number in numbers:
        access, domain = ssa.accesses[number], ssa.domain
        low, span = domain.interval(access.address)
        size, mask, bits = access.size, domain.mask[access.address], domain.bits[access.address]
        found.append(UnresolvedStore(size, low, span, mask, bits))
    return found


def _at_rest(state: Optional[CoreState]) -> Reader:
    def word(address: int) -> Optional[bytes]:
        data = None if state is None else state.read(address, 4)
        return None if data is None or len(data) < 4 else bytes(data)

    return word
