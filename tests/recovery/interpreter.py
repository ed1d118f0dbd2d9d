"""Runs lifted instructions on a state of known and unknown values."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.recovery.lift.evaluate import compute
from gdb_etm.recovery.lift.operations import MASK, TEMPORARY, Const, Lifted, Op, Operand, Operation, Slot

# None is unknown.
Value = Optional[int]


class Write(NamedTuple):
    """A store of ``size`` bytes."""

    address: Value
    size: int
    value: Value


class Result(NamedTuple):
    """The state after an instruction."""

    places: Dict[Slot, Value]
    writes: List[Write]
    clobbered: bool
    taken: Value
    target: Value
    aligned: Tuple[Value, ...]


def run(lifted: Lifted, before: Dict[Slot, int], memory: Callable[[int, int], int]) -> Result:
    """Run one instruction.

    :param before: Value of each place.
    :param memory: Gives what is in memory, by address and size.
    """
    state: Dict[Slot, Value] = dict(before)
    writes: List[Write] = []
    clobbered = False

    def read(operand: Operand) -> Value:
        return operand.value if isinstance(operand, Const) else state[operand]

    for operation in lifted.operations:
        inputs = [read(operand) for operand in operation.inputs]
        if operation.op == Op.STORE:
            size = operation.detail[0]
            value = inputs[1]
            writes.append(Write(inputs[0], size, None if value is None else value & (1 << 8 * size) - 1))
        elif operation.op == Op.CLOBBER:
            clobbered = True
        elif operation.op == Op.LOAD and inputs[0] is not None:
            state[operation.outputs[0]] = memory(inputs[0], operation.detail[0])
        elif operation.op in (Op.UNKNOWN, Op.LOAD):
            state.update(dict.fromkeys(operation.outputs))
        else:
            state.update(zip(operation.outputs, _compute(operation, inputs)))
    taken = None if lifted.taken is None else state[lifted.taken]
    target = None if lifted.target is None else read(lifted.target)
    places = {place: value for place, value in state.items() if place < TEMPORARY}
    return Result(places, writes, clobbered, taken, target, tuple([read(operand) for operand in lifted.aligned]))


def _compute(operation: Operation, inputs: List[Value]) -> Tuple[Value, ...]:
    known = [value for value in inputs if value is not None]
    if len(known) == len(inputs):
        assert all(0 <= value <= MASK for value in known)
        return compute(operation, known)
    if operation.op == Op.SELECT and inputs[0] is not None:
        return (inputs[1] if inputs[0] else inputs[2],)
    return (None,) * len(operation.outputs)
