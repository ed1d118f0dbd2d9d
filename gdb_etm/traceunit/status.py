"""What the hardware is doing at a moment, as values."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Tuple

from gdb_etm.coresight.sink import SinkStatus
from gdb_etm.traceunit.plan import Plan


class UnitStatus(NamedTuple):
    """A trace unit at a moment."""

    enabled: bool
    # All trace has left it.
    idle: bool
    powered: bool
    # None where there is no OS Lock.
    os_locked: Optional[bool]
    # By a debugger: us.
    claimed: bool


class SessionState(Enum):
    """Where a session is between attaching and closing."""

    READY = "not tracing"
    TRACING = "tracing"
    STOPPED = "stopped, the buffer holds trace"
    CLOSED = "closed"


class SessionStatus(NamedTuple):
    """A session at a moment."""

    state: SessionState
    unit: UnitStatus
    sink: SinkStatus
    # Of the buffer, in bytes.
    size: int
    # Of each funnel on the path: bit mask of its open input ports.
    inputs: Tuple[int, ...]
    # DEMCR.TRCENA; None where there is no such register.
    trace_enabled: Optional[bool]
    # How the unit is programmed; None before the first start.
    plan: Optional[Plan]
