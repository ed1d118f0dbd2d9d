"""GDB's reverse execution, for the cursor that it shares."""

from __future__ import annotations

from typing import Dict, Optional

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.gdbui.debugger import selected_level
from gdb_etm.gdbui.target import read_registers


class GdbReverse:
    """The :class:`~gdb_etm.session.places.ReverseExecution` that GDB has."""

    def execute(self, command: str) -> None:
        """Run one of GDB's commands as if the user had typed it."""
        _execute(command, False)

    def jump(self, place: str, leave: bool) -> None:
        """Run ``monitor goto``, then the step that goes there."""
        said = _execute("monitor goto " + place, True)
        if "goes to" not in said:
            raise CommandError(said.strip() or "GDB's server does not know the history")
        _execute("stepi" if leave else "reverse-stepi", False)

    def inlined(self) -> int:
        """Count GDB's frames of functions inlined where it is."""
        count, frame = 0, _newest()
        while frame is not None and frame.type() == gdb.INLINE_FRAME:
            count, frame = count + 1, frame.older()
        return count

    def selected(self) -> int:
        """Give the level of the selected frame."""
        return selected_level()

    def registers(self) -> Dict[str, int]:
        """Read the registers of GDB's newest frame."""
        return read_registers()


def _execute(command: str, silently: bool) -> str:
    try:
        return str(gdb.execute(command, True, silently) or "")
    except gdb.error as error:
        raise CommandError(str(error).rstrip("."))


def _newest() -> Optional[gdb.Frame]:
    try:
        return gdb.newest_frame()
    except gdb.error:
        return None
