"""Call frame information: the frame's address, and SP under a frame pointer.

In such a function the frame pointer alone gives the frame.  The stack pointer is where it was when the frame pointer
was set, if nothing in the function moves it.  What the code shows to be no frame pointer is not taken for one: a
handler in assembly may give the frame of what it has interrupted as its own.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, NamedTuple, Optional, Tuple

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.functions.losses import sum_distance
from gdb_etm.recovery.lift.operations import MASK, SP, Op
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.rules import FrameInformation

# Bytes of a function that are looked at.
_LONG: Final = 1 << 14


class SavedRegister(NamedTuple):
    """A register and its distance from the canonical frame address."""

    register: int
    distance: int


class StackFrames:
    """Gives registers by call frame information, for each address.

    :param information: Of the program.
    :param template: Gives the T32 or A32 instruction at an address, the instruction set of another one.
    """

    def __init__(self, information: FrameInformation, template: Callable[[int, Template], Optional[Template]]) -> None:
        self._information = information
        self._template = template
        self._known: Dict[int, Tuple[SavedRegister, ...]] = {}
        self._bodies: Dict[int, Tuple[int, Optional[int]]] = {}

    def at(self, template: Template) -> Tuple[SavedRegister, ...]:
        """Give the registers that are known before an instruction runs, if any."""
        found = self._known.get(template.address)
        if found is None:
            found = self._known[template.address] = self._find(template)
        return found

    def _find(self, template: Template) -> Tuple[SavedRegister, ...]:
        row = self._information.row(template.address)
        if row is None:
            return ()
        known = [SavedRegister(row.register, -row.offset)]
        if row.register != SP:
            start, bounds = self._setting(template, row), self._information.function(template.address)
            near = bounds is not None and template.address - bounds[0] < _LONG
            first = self._information.row(bounds[0]) if bounds is not None and near else None
            if start is None and first is not None and first.register != row.register:
                # Nothing has set the frame pointer, unless the part of a function that is elsewhere.
                return ()
            distance = None if start is None else self._stack_pointer(start, template, row)
            if distance is not None:
                known.append(SavedRegister(SP, distance))
        return tuple(known)

    def _setting(self, template: Template, row: FrameRow) -> Optional[int]:
        # Back to where the frame pointer was set, over what has released a frame.
        bounds = self._information.function(template.address)
        first = max(template.address - _LONG, 0 if bounds is None else bounds[0])
        for start in range(template.address, first, -2):
            before = self._information.row(start - 2)
            if before is None:
                return None
            if before.register != row.register and self._sets(start, template, row.register, before):
                return start
        return None

    def _sets(self, start: int, like: Template, register: int, before: FrameRow) -> bool:
        # Whether the instruction before an address makes the frame pointer of what was known of the frame, and goes on
        # there, as one that returns does not.
        row = self._information.row(start)
        if row is None or row.register != register:
            return False
        made = [self._template(start - size, like) for size in (2, 4)]
        found = [one for one in made if one is not None and one.address + one.size == start]
        return any(one.kind is InstructionKind.OTHER and _makes(one, row, before) for one in found)

    def _stack_pointer(self, start: int, template: Template, row: FrameRow) -> Optional[int]:
        # From where the frame pointer was set to here or further.
        before = self._information.row(start - 2)
        if before is None or before.register != SP:
            return None
        if start not in self._bodies:
            self._bodies[start] = self._body(start, template, row.register, -before.offset)
        end, distance = self._bodies[start]
        return distance if distance is not None and template.address < end else None

    def _body(self, start: int, like: Template, register: int, distance: int) -> Tuple[int, Optional[int]]:
        # Where the part that begins with a frame pointer ends, and the stack pointer's distance in it, if it is fixed.
        bounds = self._information.function(start)
        end = min(bounds[1] if bounds is not None else start, start + _LONG)
        at = start
        while at < end:
            template = self._template(at, like)
            row = self._information.row(at)
            if template is None or row is None:
                return at, distance
            following = self._information.row(at + template.size)
            if SP in template.writes and row.register == register and following is not None:
                if following.register == register:
                    return at, None
            at += template.size
        return (at, distance) if at - start < _LONG else (at, None)


def _makes(template: Template, row: FrameRow, before: FrameRow) -> bool:
    # Whether an instruction sets a row's register to what that of the row before shows, as far as that can be seen.
    known: Dict[int, int] = {before.register: 0}
    is_seen = True
    for op, outputs, inputs, detail in template.steps:
        result = sum_distance(op, detail, inputs, [known.get(slot) if slot >= 0 else ~slot for slot in inputs])
        if row.register in outputs:
            is_seen = result is not None or op not in (Op.ADD, Op.SUB) or before.register not in inputs
        for slot in outputs:
            known.pop(slot, None)
            if result is not None:
                known[slot] = result
    made = known.get(row.register)
    return not is_seen if made is None else not (made + row.offset - before.offset) & MASK
