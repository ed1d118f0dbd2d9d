"""Plain functions that go over to another thread's stack."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, FrozenSet, Optional, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.objects import Objects
from gdb_etm.program.stack_changes import stack_changes
from gdb_etm.recovery.lift.template import Template


class PlainSwitches:
    """Tells where SP becomes another stack's.

    :param program: The program that ran.
    :param objects: Its functions; without any nothing is told.
    """

    def __init__(self, program: Program, objects: Optional[Objects]) -> None:
        self._program = program
        self._functions = () if objects is None else tuple(objects.functions)
        self._known: Dict[Tuple[int, int], FrozenSet[int]] = {}

    def has(self, template: Template) -> bool:
        """Check whether an instruction goes over to another stack."""
        # It rounds SP, as everything does that sets it to something else.
        if template.rounds is None:
            return False
        at = bisect_right(self._functions, (template.address, 1 << 32)) - 1
        if at < 0:
            return False
        bounds = self._functions[at]
        if bounds not in self._known:
            code = self._program.read(bounds[0], bounds[1] - bounds[0])
            changes = stack_changes(code, bounds[0], template.isa)
            self._known[bounds] = frozenset([change.address for change in changes])
        return template.address in self._known[bounds]
