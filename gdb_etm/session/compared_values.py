"""Arguments and results of calls that two builds have in common.

Calls of what is not inlined follow the calling convention (AAPCS32, 6.4), whatever the compiler does inside.  Only
values count that rest on nothing but trace, program and the core's state.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.compare import Strand
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.errors import EtmError
from gdb_etm.program.frame_variables import FrameVariables, FunctionScope
from gdb_etm.recovery.lift.operations import LR, SP
from gdb_etm.recovery.values import Tier
from gdb_etm.session.past import recovered
from gdb_etm.session.scenes import scene_for, variables_of
from gdb_etm.session.sides import Side

_WORD, _ARGUMENTS = 4, 4
# Calls whose values are compared, at most.
_MOST = 200


class CallValue(NamedTuple):
    """A value that a call has."""

    # ``"argument count"``, or ``"result"``.
    what: str
    # The instruction before which the register has it.
    number: int
    register: str
    value: int


class ValueDifference(NamedTuple):
    """The first value in which two executions differ."""

    left: CallValue
    right: CallValue


class ComparedValues(NamedTuple):
    """What a comparison of values found."""

    # How many were known on both sides and alike.
    alike: int
    difference: Optional[ValueDifference]


def compared_values(left: Side, right: Side, pairs: Sequence[Tuple[Strand, Strand, int]]) -> ComparedValues:
    """Compare the values of calls.

    :param pairs: Strands of calls, and how many calls of each are alike from the beginning on.
    """
    try:
        readers = [_Reader(side) for side in (left, right)]
    except EtmError:
        # Recovery is off, or this is no core that it works for.
        return ComparedValues(0, None)
    alike = 0
    first: Optional[ValueDifference] = None
    for mine, others, count in pairs:
        for at in range(min(count, _MOST)):
            values = [list(one.values(strand.firsts[at])) for one, strand in zip(readers, (mine, others))]
            for one, other in zip(*_matched(*values)):
                if one.value == other.value:
                    alike += 1
                elif first is None or one.number < first.left.number:
                    first = ValueDifference(one, other)
    return ComparedValues(alike, first)


def _matched(left: List[CallValue], right: List[CallValue]) -> Tuple[List[CallValue], List[CallValue]]:
    by_name = {one.what: one for one in right}
    both = [one for one in left if one.what in by_name]
    return both, [by_name[one.what] for one in both]


class _Reader:
    def __init__(self, side: Side) -> None:
        known = recovered(side.session, side.decoded)
        with known.solved(side.last, side.session.meter):
            self._scene: Scene = scene_for(side.session, side.decoded, known)
        self._frames: FrameVariables = variables_of(side.session, side.decoded)[1]
        self._function_at = side.session.debugger.function_at
        self._length = len(side.decoded.history)

    def values(self, first: int) -> Iterator[CallValue]:
        """Give a call's known values, by its first instruction."""
        scene = self._scene
        activation = scene.activation(first)
        scope = self._frames.beginning(scene.index.address(first))
        if scope is None or activation is None or activation.first != first or not activation.is_whole:
            return
        if activation.function is None or "." in activation.function.name:
            # A copy may have other parameters.
            return
        yield from self._arguments(first, scope)
        is_word = scope.is_result_integer and scope.result_size <= _WORD
        if is_word and activation.last < self._length and self._returns(activation):
            yield from self._value("result", activation.last + 1, "r0", scope.result_size)

    def _arguments(self, first: int, scope: FunctionScope) -> Iterator[CallValue]:
        for at, parameter in enumerate(scope.parameters[:_ARGUMENTS]):
            if not 0 < parameter.size <= _WORD or not (parameter.is_integer or parameter.is_pointer):
                # Where what comes after it is depends on its type.
                return
            if not parameter.is_pointer:
                yield from self._value("argument %s" % parameter.name, first, "r%d" % at, parameter.size)

    def _returns(self, activation: ActivationSpan) -> bool:
        # Whether its last instruction is its return, and no call in its place.
        last = self._scene.template(activation.last)
        return (
            last is not None and not last.call and (last.target == LR or last.target is not None and SP in last.writes)
        )

    def _is_address(self, value: int) -> bool:
        # Each build has its variables, stacks and functions elsewhere.
        function = self._function_at(value & ~1) if value > 1 else None
        return self._scene.is_ram(value) or function is not None and function.start == value & ~1

    def _value(self, what: str, number: int, register: str, size: int) -> Iterator[CallValue]:
        found = self._scene.recovery.register(number, register)
        if found.value is not None and found.tier is Tier.EXACT and not self._is_address(found.value):
            yield CallValue(what, number, register, found.value & (1 << 8 * size) - 1)
