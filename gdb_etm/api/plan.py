"""A plan for scripts: the planned register writes, with reasons."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from gdb_etm.coresight.steps import RegisterWrite
from gdb_etm.errors import CommandError


class TracePlan(NamedTuple):
    """Register writes of :meth:`Session.start`, given by :meth:`Session.plan`.

    Printed, it gives the lines of ``etm plan``.
    """

    # The trace unit's register writes in order: name, offset in bytes in the unit's 4 KiB, 32-bit value, reason
    # (IHI 0064, chapter 7; of older units their own architecture).
    writes: Tuple[RegisterWrite, ...]
    # Bytes of trace between two synchronisation points (IHI 0064, 2.5); 0: none are planned.
    sync_bytes: int
    # What to know of what was asked for, one line each.
    notes: Tuple[str, ...]
    # The whole path from processor to buffer, a line a step.
    lines: Tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def value(self, name: str) -> int:
        """Give what is written to a register.

        :param name: The datasheet's, such as ``"TRCCONFIGR"``.
        :returns: 32 bits.
        :raises CommandError: The plan does not write it.
        """
        for write in reversed(self.writes):
            if write.name == name:
                return write.value
        raise CommandError("this plan does not write %s" % name)
