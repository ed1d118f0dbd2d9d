"""What a called function does not keep of its caller's.

Not all that is called is a function of a source: a compiler for small code (LLVM's machine outliner) moves instructions
that several functions have in common to one place, calls them there, and goes on with what they have left in r4 to r11,
and in the frame.  So does code in assembly.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.frame_rows import CALLEE_SAVED
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.functions.branches import LONG, FunctionCode
from gdb_etm.recovery.lift.operations import MASK, SP, Op
from gdb_etm.recovery.lift.template import Step, Template
from gdb_etm.recovery.rules import FrameInformation

# Functions that go on in one another.
_DEEP: Final = 4
# What SP is set to loses bits that are 0.
_ALIGNED: Final = (2, 2, 30)


class Lost(NamedTuple):
    """What a function does with what it should keep.

    SP stands for its caller's frame.
    """

    # Of r4 to r11, those that it writes without being known to save them.
    lost: FrozenSet[int]
    # Those of which it uses the caller's value.
    used: FrozenSet[int]


NOTHING: Final = Lost(frozenset(), frozenset())


class Losses:
    """Tells what functions do not keep.

    :param information: Of the program.
    :param branches: Of the same.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    """

    def __init__(
        self,
        information: FrameInformation,
        branches: FunctionCode,
        template: Callable[[int, Template], Optional[Template]],
    ) -> None:
        self._information = information
        self._branches = branches
        self._template = template
        self._known: Dict[int, Lost] = {}
        # Functions that do not return: all of their code is known, and none of it leaves them.
        self._endless: Set[int] = set()

    def of_call(self, template: Template) -> Lost:
        """Give what a call does not keep.

        Of an indirect one nothing is told.
        """
        is_direct = template.call and template.target is None
        return self.of(template.goes_to, template) if is_direct else NOTHING

    def of(self, function: int, like: Template) -> Lost:
        """Give what a function does not keep.

        :param function: Where it begins.
        :param like: An instruction of the same set.
        """
        return self._of(function, like, 0)

    def returns(self, function: int, like: Template) -> bool:
        """Tell whether a function may return.

        :param function: Where it begins.
        :param like: An instruction of the same set.
        """
        self._of(function, like, 0)
        return function not in self._endless

    def _of(self, function: int, like: Template, deep: int) -> Lost:
        found = self._known.get(function)
        if found is None:
            bounds = self._information.function(function)
            if deep > _DEEP or bounds is None or bounds[0] != function or bounds[1] - bounds[0] > LONG:
                return NOTHING
            # One that goes on in itself.
            self._known[function] = NOTHING
            found = self._known[function] = self._find(bounds, like, deep)
        return found

    def _find(self, bounds: Tuple[int, int], like: Template, deep: int) -> Lost:
        written: Set[int] = set()
        read: Set[int] = set()
        saved: Set[int] = {SP}
        above: Set[int] = set()
        seen: Set[int] = set()
        todo, leaves = [bounds[0]], False
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            template = self._template(at, like)
            if template is None:
                leaves = True
                continue
            seen.add(at)
            row = self._information.row(at)
            saved.update(() if row is None else row.saved)
            written.update(template.writes)
            read.update(slot for _, _, inputs, _ in template.steps for slot in inputs)
            stored, is_above = _reaches(template.steps, row.offset if row is not None and row.register == SP else None)
            saved |= stored if row is None else set()
            above.update((SP,) if is_above else ())
            after = self._branches.after(template, bounds)
            leaves = leaves or not after or template.kind is InstructionKind.INDIRECT and not template.call
            for following in after or ():
                if bounds[0] <= following < bounds[1]:
                    todo.append(following)
                    continue
                leaves = True
                if template.kind is InstructionKind.DIRECT and following == template.goes_to:
                    other = self._of(following, template, deep + 1)
                    written |= other.lost
                    read |= other.used
                    # It is in its caller's frame when it has none of its own.
                    if row is not None and row.register == SP and not row.offset:
                        above |= other.used & {SP}
        if not saved.isdisjoint(CALLEE_SAVED):
            # A function of its own, which has there what it was called with.
            above.clear()
        if not leaves:
            self._endless.add(bounds[0])
        lost, used = (frozenset(found & {*CALLEE_SAVED} - saved | above) for found in (written, read | written))
        return Lost(lost, used)


def _reaches(steps: Tuple[Step, ...], offset: Optional[int]) -> Tuple[Set[int], bool]:
    # The slots that an instruction stores in its function's own frame; and whether it stores at the canonical frame
    # address or above, in the caller's frame, or makes such an address.
    #
    # offset: The frame address's distance from SP; None where it is not known.
    known: Dict[int, int] = {SP: 0}
    stored: Set[int] = set()
    top = 0 if offset is None else offset
    is_above = False
    for op, outputs, inputs, detail in steps:
        if op == Op.STORE:
            if inputs[0] in known:
                is_above |= offset is not None and top <= known[inputs[0]]
                stored.update(inputs[1:2] if known[inputs[0]] < top else ())
            continue
        result = sum_distance(op, detail, inputs, [known.get(slot) if slot >= 0 else ~slot for slot in inputs])
        for slot in outputs:
            known.pop(slot, None)
            if result is not None:
                known[slot] = result - (result >> 31 << 32)
    is_above |= offset is not None and any(top <= distance for slot, distance in known.items() if slot < SP)
    return stored, is_above


def sum_distance(
    op: int, detail: Tuple[int, ...], inputs: Tuple[int, ...], values: List[Optional[int]]
) -> Optional[int]:
    """Give a sum's distance from a register, if it has one.

    :param values: Distances of its inputs from that register, and constants.
    """
    if [slot >= 0 for slot in inputs].count(True) != 1 or None in values:
        return None
    plain = [value for value in values if value is not None]
    if op == Op.COPY or op == Op.BITS and detail == _ALIGNED:
        return next(value for slot, value in zip(inputs, plain) if slot >= 0)
    if op == Op.ADD:
        return sum(plain) & MASK
    return (plain[0] + (~plain[1] & MASK) + plain[2]) & MASK if op == Op.SUB and inputs[0] >= 0 else None
