"""What a user wishes to trace: the one typed way from words or keywords to the trace unit's options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.session.numbers import check_number

Range = Tuple[int, int]
"""First and last byte address, both included."""

DATA_CHOICES = ("off", "addresses", "values", "both")
CONTEXT_CHOICES = ("off", "id", "vmid", "both")
CONDITIONAL_CHOICES = ("off", "loads", "stores", "both", "all")
Q_CHOICES = ("off", "counts", "on")


@dataclass(frozen=True)
class TraceRequest:
    """What is wished of the trace unit for one start; what is None, False or empty is as the settings say.

    :raises CommandError: A word is none of its choices, or a number is negative.
    """

    include: Tuple[Range, ...] = ()
    """Trace only these."""
    exclude: Tuple[Range, ...] = ()
    """Do not trace these."""
    start_at: Tuple[int, ...] = ()
    """Trace from the instruction at one of these byte addresses on."""
    stop_at: Tuple[int, ...] = ()
    """Trace no more from the instruction at one of these byte addresses on."""
    cycles: Optional[int] = None
    """Least number of processor cycles between two cycle counts."""
    timestamps: bool = False
    branch_broadcast: bool = False
    broadcast_range: Tuple[Range, ...] = ()
    no_return_stack: bool = False
    context: Optional[str] = None
    """One of :data:`CONTEXT_CHOICES`."""
    sync_period: Optional[int] = None
    """Bytes of trace between two synchronisation points."""
    stall: bool = False
    stall_level: Optional[int] = None
    """0 to 15."""
    overflow_prevention: bool = False
    data: Optional[str] = None
    """One of :data:`DATA_CHOICES`."""
    data_range: Tuple[Range, ...] = ()
    data_exclude: Tuple[Range, ...] = ()
    conditional: Optional[str] = None
    """One of :data:`CONDITIONAL_CHOICES`."""
    q_elements: Optional[str] = None
    """One of :data:`Q_CHOICES`."""

    def __post_init__(self) -> None:
        _check_choice("context", self.context, CONTEXT_CHOICES)
        _check_choice("data", self.data, DATA_CHOICES)
        _check_choice("conditional", self.conditional, CONDITIONAL_CHOICES)
        _check_choice("q_elements", self.q_elements, Q_CHOICES)
        for name, ranges in (
            ("include", self.include),
            ("exclude", self.exclude),
            ("broadcast_range", self.broadcast_range),
            ("data_range", self.data_range),
            ("data_exclude", self.data_exclude),
            ("start_at", (self.start_at,)),
            ("stop_at", (self.stop_at,)),
        ):
            for addresses in ranges:
                for address in addresses:
                    check_number(name, address)
        check_number("cycles", self.cycles)
        check_number("sync_period", self.sync_period)
        check_number("stall_level", self.stall_level)
        if self.stall_level is not None and self.stall_level > 15:
            raise CommandError("levels are 0 to 15, not %d" % self.stall_level)


def _check_choice(name: str, value: Optional[str], choices: Tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise CommandError("%s: %r is none of: %s" % (name, value, ", ".join(choices)))
