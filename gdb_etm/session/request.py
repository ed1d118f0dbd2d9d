"""The typed trace request of commands and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.session.numbers import check_number

# First and last byte address, both included.
Range = Tuple[int, int]

DATA_CHOICES = ("off", "addresses", "values", "both")
CONTEXT_CHOICES = ("off", "id", "vmid", "both")
CONDITIONAL_CHOICES = ("off", "loads", "stores", "both", "all")
Q_CHOICES = ("off", "counts", "on")


@dataclass(frozen=True)
class TraceRequest:
    """What to trace after one start.

    What is None, False or empty is as the settings say.

    :raises CommandError: A word is none of its choices, or a number is negative.
    """

    # Trace only these.
    include: Tuple[Range, ...] = ()
    # Do not trace these.
    exclude: Tuple[Range, ...] = ()
    # Trace from the instruction at one of these byte addresses on.
    start_at: Tuple[int, ...] = ()
    # Trace no more from the instruction at one of these byte addresses on.
    stop_at: Tuple[int, ...] = ()
    # Least number of processor cycles between two cycle counts.
    cycles: Optional[int] = None
    timestamps: bool = False
    branch_broadcast: bool = False
    broadcast_range: Tuple[Range, ...] = ()
    no_return_stack: bool = False
    # One of :data:`CONTEXT_CHOICES`.
    context: Optional[str] = None
    # Bytes of trace between two synchronisation points.
    sync_period: Optional[int] = None
    stall: bool = False
    # 0 to 15.
    stall_level: Optional[int] = None
    overflow_prevention: bool = False
    # One of :data:`DATA_CHOICES`.
    data: Optional[str] = None
    data_range: Tuple[Range, ...] = ()
    data_exclude: Tuple[Range, ...] = ()
    # One of :data:`CONDITIONAL_CHOICES`.
    conditional: Optional[str] = None
    # One of :data:`Q_CHOICES`.
    q_elements: Optional[str] = None
    # Of a Micro Trace Buffer: an array of the program, ``ADDRESS,SIZE``, ``free`` or ``free,SIZE``.
    buffer: Optional[str] = None
    # Of a Micro Trace Buffer: bytes after which it traces no more.
    stop_after: Optional[int] = None

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
        check_number("stop_after", self.stop_after)
        check_number("sync_period", self.sync_period)
        check_number("stall_level", self.stall_level)
        if self.stall_level is not None and self.stall_level > 15:
            raise CommandError("levels are 0 to 15, not %d" % self.stall_level)


def _check_choice(name: str, value: Optional[str], choices: Tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise CommandError("%s: %r is none of: %s" % (name, value, ", ".join(choices)))
