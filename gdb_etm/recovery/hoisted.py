"""Registers that a function sets once, to a constant, before it does anything else: bases that loops keep in registers.

Where such a function goes on, it has that constant in the register, whoever has seen it being set.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import Kind
from gdb_etm.recovery.operations import SP, Op
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
        decoded: Set[int] = set()
        values: Dict[int, Optional[Constant]] = {}
        straight, at = True, start
        while at < end:
            template = self._template(at, like)
            if template is None:
                return _NOTHING
            decoded.add(at)
            for place in template.writes:
                if place in _KEPT and not self._is_restored(template, place):
                    self._set(values, place, template, straight)
            straight = straight and template.kind is Kind.OTHER
            at += template.size
        return _Function(decoded, tuple([one for one in values.values() if one is not None]))

    @staticmethod
    def _is_restored(template: Template, place: int) -> bool:
        # It is popped: the function is left.
        return SP in template.writes and any(op == Op.LOAD and place in outputs for op, outputs, _, _ in template.steps)

    def _set(self, values: Dict[int, Optional[Constant]], place: int, template: Template, straight: bool) -> None:
        found = self._constant(template, place, values.get(place))
        if place not in values:
            values[place] = Constant(place, found, template.address) if straight and found is not None else None
            return
        before = values[place]
        if before is None or found is None:
            values[place] = None
        elif straight:
            values[place] = Constant(place, found, template.address)
        elif found != before.value:
            values[place] = None

    def _constant(self, template: Template, place: int, before: Optional[Constant]) -> Optional[int]:
        # What an instruction sets a register to: a constant, a literal, or the other half of one (MOVT).
        if template.condition != ALWAYS:
            return None
        steps = [step for step in template.steps if place in step[1]]
        if len(steps) != 1:
            return None
        op, _, inputs, detail = steps[0]
        if op == Op.COPY and inputs[0] < 0:
            return self._value(~inputs[0])
        if op == Op.LOAD and inputs[0] < 0:
            return self._read(self._value(~inputs[0]), detail[0])
        if op == Op.BITS and inputs[0] < 0 and inputs[1] == place and before is not None:
            mask = ((1 << detail[2]) - 1) << detail[0]
            return before.value & ~mask | self._value(~inputs[0]) >> detail[1] << detail[0] & mask
        return None
