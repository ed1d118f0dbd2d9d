"""Operands of an instruction that did not run to its end."""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import SLOTS, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Step, Template

_NAMES = {slot: name for name, slot in SLOTS.items()}
_DIVISIONS = (Op.UDIV, Op.SDIV)


class Operand(NamedTuple):
    """An address that an instruction accesses, or a divisor."""

    # "load", "store" or "divide".
    what: str
    # None where it is not known.
    value: Optional[int]
    # In bytes; of an access.
    size: int
    # The registers that it is made from.
    registers: Tuple[str, ...]


def operands(template: Template, read: Callable[[str], Optional[int]]) -> List[Operand]:
    """List what an instruction accesses and divides by.

    :param read: Gives a register before it, if that is known.
    """
    found: List[Operand] = []
    for at, (op, _, inputs, detail), values in _evaluated(template, read, {}):
        if op in (Op.LOAD, Op.STORE):
            what = "load" if op == Op.LOAD else "store"
            found.append(Operand(what, values[0], detail[0], feeding(template.steps, at, inputs[0])))
        elif op in _DIVISIONS:
            found.append(Operand("divide", values[1], 0, feeding(template.steps, at, inputs[1])))
    return found


def left_in(template: Template, name: str, read: Callable[[str], Optional[int]]) -> Optional[int]:
    """Give what an instruction leaves in a register, if that is known.

    :param read: Gives a register before it, if that is known.
    """
    known: Dict[int, Optional[int]] = {}
    for _ in _evaluated(template, read, known):
        pass
    return known.get(SLOTS[name], read(name))


def _evaluated(
    template: Template, read: Callable[[str], Optional[int]], known: Dict[int, Optional[int]]
) -> Iterator[Tuple[int, Step, List[Optional[int]]]]:
    # Each step with its index and its inputs; what they leave is put into ``known``.
    def value(slot: int) -> Optional[int]:
        if slot < 0:
            return ~slot
        if slot not in known and slot < TEMPORARY:
            known[slot] = read(_NAMES[slot]) if slot in _NAMES else None
        return known.get(slot)

    for at, step in enumerate(template.steps):
        op, outputs, inputs, detail = step
        values = [value(slot) for slot in inputs]
        yield at, step, values
        result: Optional[int] = None
        if op not in IMPURE and None not in values:
            result = apply(op, detail, [one for one in values if one is not None])
        for slot in outputs:
            known[slot] = result


def tested_flags(template: Template) -> List[str]:
    """List the flags that an instruction tests."""
    return [flag for bit, flag in enumerate("nzcv") if template.reads >> bit & 1]


def feeding(steps: Sequence[Step], end: int, slot: int) -> Tuple[str, ...]:
    """List the registers that a slot was computed from.

    What was loaded is left out.

    :param end: How many of the steps count.
    """
    wanted = {slot}
    for op, outputs, inputs, _ in reversed(steps[:end]):
        if wanted.intersection(outputs):
            wanted.difference_update(outputs)
            wanted.update(inputs if op != Op.LOAD else ())
    return tuple([_NAMES[one] for one in sorted(wanted) if one in _NAMES])
