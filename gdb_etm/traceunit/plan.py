"""A plan: the register accesses that program a trace unit, each with its reason.

Plans are values.  They print, compare and test without hardware; apply.py carries them out.
"""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from gdb_etm.coresight.steps import RegisterChange, RegisterPoll, RegisterWrite, Step
from gdb_etm.traceunit.options import AddressRange

__all__ = ["Plan", "RegisterChange", "RegisterPoll", "RegisterWrite", "Step", "Taken", "suitable_sync_bytes"]


class Taken(NamedTuple):
    """A comparator, or a pair of them, that a filter or an event takes."""

    use: str
    """What it does: ``"include"``, ``"exclude"``, ``"start"``, ``"stop"``, ``"data"``, ``"context"`` or ``"event"``."""
    where: AddressRange
    """What it compares with; of a single address or a Context ID both ends are that."""
    name: str
    """Which one it is, such as ``"pair 3"``."""


class Plan(NamedTuple):
    """Steps in the order in which they must be made."""

    steps: Tuple[Step, ...]
    sync_bytes: int = 0
    """Bytes of trace between two synchronisation points under this plan; 0: none, or nothing is planned."""
    return_stack: bool = False
    notes: Tuple[str, ...] = ()
    """What the user should know about what was asked for, one line each."""
    dwt: Tuple[RegisterWrite, ...] = ()
    """Writes to the processor's DWT, whose comparators stand in for the unit's own; made before the steps."""
    taken: Tuple[Taken, ...] = ()
    """Which comparators filters and events take."""
    marks: Tuple[Tuple[int, str], ...] = ()
    """What the numbers of the event packets in the trace mean."""

    @property
    def writes(self) -> List[RegisterWrite]:
        """The writes among the steps."""
        return [step for step in self.steps if isinstance(step, RegisterWrite)]

    def value(self, name: str) -> int:
        """Return what the plan writes to a register.

        :raises KeyError: It does not write that register.
        """
        for write in self.writes:
            if write.name == name:
                return write.value
        raise KeyError(name)

    def lines(self) -> List[str]:
        """Describe the plan, a line a step, then its notes."""
        return [str(step) for step in (*self.dwt, *self.steps)] + ["note: " + note for note in self.notes]


def suitable_sync_bytes(buffer_bytes: int) -> int:
    """Return how many bytes of trace should lie between two synchronisation points in a circular buffer.

    An eighth of it, so that at least four whole periods remain after the formatter's share and a late one.
    """
    return 1 << max(buffer_bytes // 8, 1).bit_length() - 1
