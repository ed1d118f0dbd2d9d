"""What the result of an operation may be made from."""

from __future__ import annotations

from typing import Dict, Sequence, Set, Tuple

from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import Op
from gdb_etm.recovery.lift.template import Step
from gdb_etm.recovery.pointers.provenance import UNKNOWN, Lattice, Provenance, constant, is_constant


class Results:
    """Results of operations, each worked out once.

    :param lattice: Of the program.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        # By the operation and the identities of its operands, which the lattice keeps.
        self._known: Dict[Tuple[int, Tuple[int, ...], Tuple[int, ...]], Tuple[Provenance, Tuple[int, ...]]] = {}

    def of(self, step: Step, read: Sequence[Provenance]) -> Tuple[Provenance, Tuple[int, ...]]:
        """Give the provenance of a result, and the constant that is made.

        :param step: Anything but a load.
        :param read: Of its operands; objects that the lattice keeps.
        """
        op, _, _, detail = step
        key = (op, detail, tuple([id(value) for value in read]))
        found = self._known.get(key)
        if found is None:
            constants: Set[int] = set()
            value = self.lattice.keep(_result_of(self.lattice, step, read, constants))
            found = self._known[key] = (value, tuple(constants))
        return found


def _result_of(lattice: Lattice, step: Step, read: Sequence[Provenance], constants: Set[int]) -> Provenance:
    # Gives the provenance of an operation's result; the set gets the constants that are made.
    op, _, _, detail = step
    if op == Op.COPY:
        return read[0]
    if op in IMPURE:
        return UNKNOWN
    if all([is_constant(value) and len(value.parts) == 1 for value in read]):
        constants.add(made := apply(op, detail, [next(iter(value.parts)) for value in read]))
        return constant(made)
    if op in (Op.ADD, Op.SUB) and is_constant(read[2]) and len(read[2].parts) == 1:
        carry = next(iter(read[2].parts))
        if op == Op.ADD:
            made_of = lattice.add(read[0], read[1])
            return lattice.add(made_of, constant(carry)) if carry else made_of
        if carry:
            return lattice.add(read[0], read[1], -1)
    if op == Op.SELECT:
        return lattice.join(read[1], read[2])
    if op == Op.BITS and detail == (2, 2, 30) and read[0].frame is not None:
        return read[0]
    if op in (Op.AND, Op.OR) or op == Op.BITS and detail[0] == detail[1]:
        return lattice.masked(read)
    return lattice.mixed(read)
