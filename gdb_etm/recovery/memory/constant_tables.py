"""Loads from tables of constants: little is open of their addresses."""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.tables import ConstantTable
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Bytes that an address may be in, and addresses that it may be.
_WIDE: Final = 4096
_MOST: Final = 1024
_KINDS: Final = (ConstraintKind.TABLE, ConstraintKind.BOUNDED)


class ConstantTables:
    """Finds loads from tables of constants.

    :param ssa: With its accesses; constraints are added to it.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        # By first address, distance, number, and the size of what is loaded: the table; None where memory may change.
        self._known: Dict[Tuple[int, int, int, int], Optional[int]] = {}
        # The loads that may be from tables.
        self._loads: List[int] = [
            number for number, access in enumerate(ssa.accesses) if not access.store and 0 < access.size <= 4
        ]
        # By load, its constraint, unless that was taken back.
        self._made: Dict[int, int] = {}
        # Whether addresses are taken not to be beyond the program's memory.
        self.bounded = False

    def look(self) -> bool:
        """Relate loads to tables; gives whether there are new ones."""
        ssa = self._ssa
        domain, accesses, constraints = ssa.domain, ssa.accesses, ssa.constraints
        mask, root, span = domain.mask, domain.root, domain.span
        count = len(constraints)
        for number in self._loads:
            access = accesses[number]
            address, condition = access.address, access.condition
            if mask[address] == MASK or span[root[address]] > _WIDE or mask[condition] != MASK:
                continue
            made = self._made.get(number, count)
            if made < count and constraints[made][0] in _KINDS and constraints[made][2] == address:
                continue
            table = self._table(address, access.size) if domain.bits[condition] else None
            if table is not None:
                self._made[number] = len(constraints)
                ssa.number = access.number
                kind = ConstraintKind.BOUNDED if domain.tables[table].is_cut else ConstraintKind.TABLE
                ssa.add((kind, access.data, address, table))
        return len(constraints) > count

    def _table(self, address: int, size: int) -> Optional[int]:
        domain = self._ssa.domain
        low, span = domain.interval(address)
        free = ~domain.mask[address] & MASK
        step = free & -free
        first = low + (domain.bits[address] - low) % step
        key = (first, step, (low + span - first) // step + 1, size)
        if key not in self._known:
            self._known[key] = self._read(*key)
        found = self._known[key]
        return found if found is None or self.bounded or not domain.tables[found].is_cut else None

    def _read(self, first: int, step: int, count: int, size: int) -> Optional[int]:
        ssa = self._ssa
        end = first + step * (count - 1) + size
        if not 1 < count <= _MOST or end > MASK or ssa.is_ram(first, end - first):
            return None
        # What comes right after a piece of the program is read, too, such as what is copied to RAM in the beginning.
        data = ssa.program.read(first, end - first)
        is_cut = len(data) < end - first
        places = range(0, len(data) - size + 1, step)
        values = [int.from_bytes(data[at : at + size], "little") for at in places]
        if not values:
            return None
        ssa.domain.tables.append(ConstantTable(first, step, values, is_cut))
        return len(ssa.domain.tables) - 1
