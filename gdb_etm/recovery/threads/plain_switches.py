"""Instructions that go over to another thread's stack."""

from __future__ import annotations

from bisect import bisect_right
from typing import Optional, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.objects import Objects
from gdb_etm.program.stack_changes import StackChanges
from gdb_etm.recovery.lift.operations import PSP
from gdb_etm.recovery.lift.template import Template


class PlainSwitches:
    """Tells where SP becomes another stack's, and where PSP does.

    :param program: The program that ran.
    :param objects: Its functions; without any PSP always does, and SP never.
    """

    def __init__(self, program: Program, objects: Optional[Objects]) -> None:
        self._changes = StackChanges(program)
        self._functions = () if objects is None else tuple(objects.functions)

    def has(self, template: Template) -> bool:
        """Check whether a plain function sets SP to another stack there."""
        # It rounds SP, as everything does that sets it to something else.
        bounds = None if template.rounds is None else self._function(template.address)
        if bounds is None:
            return False
        changes = self._changes.of(*bounds, template.isa)
        return template.address in [change.address for change in changes]

    def changes_process_stack(self, template: Template) -> bool:
        """Check whether a handler's instruction sets PSP to another stack's."""
        if PSP not in template.writes:
            return False
        bounds = self._function(template.address)
        if bounds is None:
            return True
        return template.address in [change.address for change in self._changes.of_process(*bounds)]

    def is_entry(self, address: int) -> bool:
        """Check whether a function begins at an address."""
        bounds = self._function(address)
        return bounds is not None and bounds[0] == address

    def _function(self, address: int) -> Optional[Tuple[int, int]]:
        at = bisect_right(self._functions, (address, 1 << 32)) - 1
        return self._functions[at] if at >= 0 else None
