"""Instructions that go over to another thread's stack."""

from __future__ import annotations

from enum import Enum
from typing import Dict, Optional, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.image import Program
from gdb_etm.program.objects import Objects
from gdb_etm.program.stack_changes import StackChanges
from gdb_etm.recovery.lift.operations import CONTROL, MSP, PSP, SP
from gdb_etm.recovery.lift.template import Template


class SwitchedBy(Enum):
    """What goes over to another thread."""

    # A handler that sets PSP, or MSP.
    PROCESS_STACK = "psp"
    MAIN_STACK = "msp"
    # A plain function that sets SP.
    FUNCTION = "sp"


def may_leave_stack(template: Template, in_handler: bool) -> bool:
    """Check whether SP may be another stack's behind an instruction.

    It sets MSP, PSP or CONTROL; those of the other security state are in use behind BXNS.

    :param in_handler: Whether it is known to run in Handler mode, where CONTROL selects nothing.
    """
    sets = [slot in template.writes for slot in (MSP, PSP, CONTROL)]
    if in_handler and template.target is None:
        return sets == [True, False, False]
    return any(sets)


class SwitchingInstructions:
    """Tells where SP becomes another stack's, and where PSP does.

    :param program: The program that ran.
    :param objects: Its functions; without any PSP always does, and SP never.
    """

    def __init__(self, program: Program, objects: Optional[Objects]) -> None:
        self._changes = StackChanges(program)
        self._objects = objects
        # Of handlers, by the instruction's address.
        self._in_handlers: Dict[int, Optional[SwitchedBy]] = {}

    def has(self, template: Template) -> bool:
        """Check whether a plain function sets SP to another stack there."""
        # It rounds SP, as everything does that sets it to something else.
        bounds = None if template.rounds is None else self._function(template.address)
        if bounds is None:
            return False
        changes = self._changes.of(*bounds, template.isa)
        return template.address in [change.address for change in changes]

    def in_handler(self, template: Template) -> Optional[SwitchedBy]:
        """Tell whether a handler goes over to another stack.

        :param template: Of a core of M-profile.
        :returns: None if it does not.
        """
        # What writes CONTROL writes all of them.
        if not (SP in template.writes or MSP in template.writes) or CONTROL in template.writes:
            return None
        if template.address not in self._in_handlers:
            self._in_handlers[template.address] = self._of_handler(template)
        return self._in_handlers[template.address]

    def is_either(self, template: Template) -> bool:
        """Check whether a handler sets PSP, or else MSP, as EXC_RETURN says.

        :param template: With which it goes over to another stack.
        """
        bounds = None if template.condition == ALWAYS else self._function(template.address)
        return bounds is not None and all(self._changes.of_handler(*bounds, process) for process in (False, True))

    def _of_handler(self, template: Template) -> Optional[SwitchedBy]:
        is_process = PSP in template.writes
        if not is_process and self.is_either(template):
            # That is told by where it sets PSP.
            return None
        bounds = self._function(template.address)
        if bounds is None:
            return SwitchedBy.PROCESS_STACK if is_process else None
        changes = self._changes.of_handler(*bounds, is_process)
        if template.address not in [change.address for change in changes]:
            return None
        return SwitchedBy.PROCESS_STACK if is_process else SwitchedBy.MAIN_STACK

    def is_entry(self, address: int) -> bool:
        """Check whether a function begins at an address."""
        bounds = self._function(address)
        return bounds is not None and bounds[0] == address

    def _function(self, address: int) -> Optional[Tuple[int, int]]:
        return self._objects.function(address) if self._objects is not None else None
