"""GDB as what runs and halts the core for scripts inside it."""

from __future__ import annotations

from typing import Dict, Optional

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.gdbui.version import VERSION


class GdbRunner:
    """The :class:`~gdb_etm.api.target.Runner` that GDB is."""

    def __init__(self) -> None:
        self._breakpoints: Dict[int, gdb.Breakpoint] = {}

    def run(self, seconds: Optional[float]) -> bool:
        """Run ``continue``, which returns at the halt."""
        if seconds is not None:
            raise CommandError("seconds: GDB itself waits for the halt; Ctrl-C halts the core")
        _execute("continue")
        return True

    def halt(self) -> None:
        """Refuse: while Python runs, GDB takes no note of a halt."""
        raise CommandError('the core runs in the background; "interrupt" at the prompt halts it')

    def reset(self) -> None:
        """Have the server reset the chip."""
        _execute("monitor reset halt")
        # Nothing was run that would tell GDB that the registers have changed.
        _execute("maintenance flush register-cache" if VERSION >= (11,) else "flushregs")

    def pc(self) -> int:
        """Ask GDB's newest frame."""
        try:
            return int(gdb.newest_frame().pc())
        except gdb.error as error:
            raise CommandError(str(error).rstrip(".")) from None

    def set_breakpoint(self, address: int) -> int:
        """Set a breakpoint of GDB's."""
        try:
            made = gdb.Breakpoint("*0x%x" % address)
        except gdb.error as error:
            raise CommandError(str(error).rstrip(".")) from None
        self._breakpoints[made.number] = made
        return int(made.number)

    def clear_breakpoint(self, number: int) -> None:
        """Delete it, unless the user did."""
        made = self._breakpoints.pop(number, None)
        if made is not None and made.is_valid():
            made.delete()


def _execute(line: str) -> None:
    try:
        gdb.execute(line)
    except gdb.error as error:
        raise CommandError(str(error).rstrip(".")) from None
