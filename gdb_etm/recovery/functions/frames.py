"""Call frame information: the frame's address, and SP under a frame pointer.

In such a function the frame pointer alone gives the frame.  The stack pointer is where it was when the frame pointer
was set, if nothing in the function moves it.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.lift.operations import SP
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
        known: List[SavedRegister] = [SavedRegister(row.register, -row.offset)]
        if row.register != SP:
            distance = self._stack_pointer(template, row)
            if distance is not None:
                known.append(SavedRegister(SP, distance))
        return tuple(known)

    def _stack_pointer(self, template: Template, row: FrameRow) -> Optional[int]:
        # Back to where the frame pointer was set, over what has released a frame, and from there on to here or further.
        start = template.address
        while template.address - start < _LONG:
            before = self._information.row(start - 2)
            if before is None:
                return None
            if before.register != row.register and self._sets(start, template, row.register):
                break
            start -= 2
        else:
            return None
        if before.register != SP:
            return None
        if start not in self._bodies:
            self._bodies[start] = self._body(start, template, row.register, -before.offset)
        end, distance = self._bodies[start]
        return distance if distance is not None and template.address < end else None

    def _sets(self, start: int, like: Template, register: int) -> bool:
        # Whether the instruction before an address writes a register and goes on there, as one that returns does not.
        before = [self._template(start - size, like) for size in (2, 4)]
        found = [one for one in before if one is not None and one.address + one.size == start]
        return any(register in one.writes and one.kind is InstructionKind.OTHER for one in found)

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
