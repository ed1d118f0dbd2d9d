"""Plan: register accesses that program a trace unit, with reasons.

Plans are values.  They print, compare and test without hardware; apply.py carries them out.
"""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from gdb_etm.coresight.steps import RegisterChange, RegisterPoll, RegisterWrite, Step
from gdb_etm.traceunit.options import AddressRange

__all__ = ["Plan", "RegisterChange", "RegisterPoll", "RegisterWrite", "Step", "Taken", "suitable_sync_bytes"]


class Taken(NamedTuple):
    """Comparator or pair that a filter or event takes."""

    # What it does: ``"include"``, ``"exclude"``, ``"start"``, ``"stop"``, ``"data"``, ``"context"`` or ``"event"``.
    use: str
    # What it compares with; of a single address or a Context ID both ends are that.
    where: AddressRange
    # Which one it is, such as ``"pair 3"``.
    name: str


class Plan(NamedTuple):
    """Steps in the order in which they must be made."""

    steps: Tuple[Step, ...]
    # Bytes of trace between two synchronisation points under this plan; 0: none, or nothing is planned.
    sync_bytes: int = 0
    return_stack: bool = False
    # What the user should know about what was asked for, one line each.
    notes: Tuple[str, ...] = ()
    # Writes to the processor's DWT, whose comparators stand in for the unit's own; made before the steps.
    dwt: Tuple[RegisterWrite, ...] = ()
    # Which comparators filters and events take.
    taken: Tuple[Taken, ...] = ()
    # What the numbers of the event packets in the trace mean.
    marks: Tuple[Tuple[int, str], ...] = ()

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
    """Return the synchronisation period that suits a circular buffer, in bytes.

    An eighth of it, so that at least four whole periods remain after the formatter's share and a late one.
    """
    return 1 << max(buffer_bytes // 8, 1).bit_length() - 1
