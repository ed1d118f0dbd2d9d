"""What the hardware is doing at a moment, as values."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Tuple

from gdb_etm.coresight.sink import SinkStatus
from gdb_etm.traceunit.plan import Plan


class UnitStatus(NamedTuple):
    """A trace unit at a moment."""

    enabled: bool
    idle: bool
    """All trace has left it."""
    powered: bool
    os_locked: Optional[bool]
    """None where there is no OS Lock."""
    claimed: bool
    """By a debugger: us."""


class State(Enum):
    """Where a session is between attaching and closing."""

    READY = "not tracing"
    TRACING = "tracing"
    STOPPED = "stopped, the buffer holds trace"
    CLOSED = "closed"


class SessionStatus(NamedTuple):
    """A session at a moment."""

    state: State
    unit: UnitStatus
    sink: SinkStatus
    size: int
    """Of the buffer, in bytes."""
    inputs: Tuple[int, ...]
    """Of each funnel on the path: bit mask of its open input ports."""
    trace_enabled: Optional[bool]
    """DEMCR.TRCENA; None where there is no such register."""
    plan: Optional[Plan]
    """How the unit is programmed; None before the first start."""
