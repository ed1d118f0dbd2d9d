"""Registers that have a constant wherever a function came from: bases and limits that compilers keep in registers.

Where a function goes on of which the beginning was not seen, its code tells what it must have set them to: constants
are propagated from its entry along all branches, and where two ways meet, what they agree on remains.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import Kind
from gdb_etm.recovery.evaluate import IMPURE, apply
from gdb_etm.recovery.operations import LR, SP, Op
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.template import Template

_LONG = 1 << 13
# Bytes of a function that are looked at.
_GENERAL = range(13)
_KEPT = range(4, 12)

Known = Dict[int, int]
"""Values by place."""


class Constant(NamedTuple):
    """What a register is set to."""

    place: int
    value: int


class Hoisted:
    """Finds such registers.

    :param information: Tells where functions begin and end.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param value: Gives the value of the variable of a constant.
    :param read: Reads memory that does not change.
    """

    def __init__(
        self,
        information: FrameInformation,
        template: Callable[[int, Template], Optional[Template]],
        value: Callable[[int], int],
        read: Callable[[int, int], Optional[int]],
    ) -> None:
        self._information = information
        self._template = template
        self._value = value
        self._read = read
        self._known: Dict[int, Dict[int, Known]] = {}

    def at(self, template: Template) -> List[Constant]:
        """Give the registers that have constants before an instruction runs."""
        bounds = self._information.function(template.address)
        if bounds is None or bounds[1] - bounds[0] > _LONG:
            return []
        function = self._known.get(bounds[0])
        if function is None:
            function = self._known[bounds[0]] = self._propagate(bounds[0], bounds[1], template)
        known = function.get(template.address, {})
        return [Constant(place, known[place]) for place in sorted(known) if place in _GENERAL]

    def _propagate(self, start: int, end: int, like: Template) -> Dict[int, Known]:
        # What is known before each instruction that is reached; nothing in a function with a jump table.
        found: Dict[int, Known] = {start: {}}
        todo = [start]
        while todo:
            at = todo.pop()
            template = self._template(at, like)
            if template is None:
                return {}
            after = following(template)
            if after is None:
                return {}
            known = dict(found[at])
            self._execute(template, known)
            for address in after:
                if not start <= address < end:
                    continue
                before = found.get(address)
                agreed = known if before is None else _agreed(before, known)
                if before is None or len(agreed) < len(before):
                    found[address] = dict(agreed)
                    todo.append(address)
        return found

    def _execute(self, template: Template, known: Known) -> None:
        # Compute what follows from constants, literals among them.
        for op, outputs, inputs, detail in template.steps:
            read = [known.get(place) if place >= 0 else self._value(~place) for place in inputs]
            values = [value for value in read if value is not None]
            result: Optional[int] = None
            if len(values) == len(read) and template.condition == ALWAYS:
                if op == Op.LOAD:
                    result = self._read(values[0], detail[0])
                elif op not in IMPURE:
                    result = apply(Op(op), detail, values)
            for place in outputs:
                known.pop(place, None)
                if result is not None:
                    known[place] = result
        for place in list(known):
            if place not in (_KEPT if template.call else _GENERAL):
                del known[place]


def following(template: Template) -> Optional[List[int]]:
    """List where a function goes on behind an instruction; None when that is not known."""
    behind = template.address + template.size
    if template.kind is Kind.INDIRECT and not template.call:
        if template.target != LR and SP not in template.writes:
            return None
        return [] if template.condition == ALWAYS else [behind]
    if template.kind is Kind.DIRECT and not template.call:
        conditional = template.taken is not None or template.condition != ALWAYS
        return [template.goes_to, behind] if conditional else [template.goes_to]
    return [behind]


def _agreed(one: Known, other: Known) -> Known:
    return {place: value for place, value in one.items() if other.get(place) == value}
