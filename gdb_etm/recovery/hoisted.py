"""Registers that a function sets once, to a constant, before it does anything else: bases that loops keep in registers.

Where such a function goes on, it has that constant in the register, whoever has seen it being set.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import Kind
from gdb_etm.recovery.evaluate import IMPURE, apply
from gdb_etm.recovery.operations import LR, SP, Op
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.template import Template

_LONG = 1 << 14
# Bytes of a function that are looked at.
_KEPT = range(4, 12)


class Constant(NamedTuple):
    """What a register is set to."""

    place: int
    value: int
    since: int
    """Address of the instruction that sets it."""


class _Function(NamedTuple):
    decoded: Set[int]
    """Where its instructions are, if its code is read from the beginning on."""
    constants: Tuple[Constant, ...]


_NOTHING = _Function(set(), ())


class Hoisted:
    """Finds such registers.

    :param information: Tells where functions begin and end.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param value: Gives the value of the variable of a constant.
    :param read: Reads a word of memory that does not change.
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
        self._known: Dict[int, _Function] = {}

    def at(self, template: Template) -> List[Constant]:
        """Give the registers that have constants before an instruction runs."""
        bounds = self._information.function(template.address)
        if bounds is None:
            return []
        function = self._known.get(bounds[0])
        if function is None:
            function = self._known[bounds[0]] = self._look(bounds[0], bounds[1], template)
        if template.address not in function.decoded:
            return []
        return [one for one in function.constants if one.since < template.address]

    def _look(self, start: int, end: int, like: Template) -> _Function:
        if end - start > _LONG:
            return _NOTHING
        code: List[Template] = []
        at = start
        while at < end:
            template = self._template(at, like)
            if template is None:
                break
            code.append(template)
            at += template.size
        code = _reached(code)
        known: Dict[int, int] = {}
        found: Dict[int, Optional[Constant]] = {}
        behind = _joined(code, end)
        for template in code:
            straight = template.address < behind
            if straight:
                self._execute(template, known)
            for place in template.writes:
                if place in _KEPT and not self._is_restored(template, place):
                    constant = Constant(place, known[place], template.address) if straight and place in known else None
                    found[place] = constant if place not in found or straight else None
        constants = tuple([one for one in found.values() if one is not None])
        return _Function({template.address for template in code}, constants)

    @staticmethod
    def _is_restored(template: Template, place: int) -> bool:
        # It is popped: the function is left.
        return SP in template.writes and any(op == Op.LOAD and place in outputs for op, outputs, _, _ in template.steps)

    def _execute(self, template: Template, known: Dict[int, int]) -> None:
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
        if template.call:
            for place in set(known) - set(_KEPT):
                del known[place]


def _reached(code: List[Template]) -> List[Template]:
    # Without what no branch leads to, such as literals; all where a branch's targets are not known.
    at = {template.address: template for template in code}
    found: Set[int] = set()
    todo = [code[0].address] if code else []
    while todo:
        template = at.get(todo.pop())
        if template is None or template.address in found:
            continue
        found.add(template.address)
        leaves = template.kind is Kind.INDIRECT and not template.call
        if leaves and template.target != LR and SP not in template.writes:
            return code
        if template.kind is Kind.DIRECT and not template.call:
            todo.append(template.goes_to)
            leaves = template.taken is None and template.condition == ALWAYS
        if not leaves or template.condition != ALWAYS:
            todo.append(template.address + template.size)
    return [template for template in code if template.address in found]


def _joined(code: List[Template], end: int) -> int:
    # Up to where a function is one straight line: to its first branch but calls, or to where any branch leads.
    branches = [template for template in code if template.kind is not Kind.OTHER and not template.call]
    places = [template.address for template in branches[:1]]
    places += [one.goes_to for one in branches if one.kind is Kind.DIRECT and code[0].address <= one.goes_to]
    return min(places, default=end)
