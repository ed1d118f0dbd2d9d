"""The Python interface: what ``import gdb_etm`` offers, inside GDB and outside.

Inside GDB a script works on the session of the ``etm`` commands; outside it opens one of its own, with pyOCD in a
process beside it.  The same names do the same in both.  Every error is an :class:`~gdb_etm.errors.EtmError` with one
line.
"""

from __future__ import annotations

from gdb_etm.api.breakpoint import Breakpoint
from gdb_etm.api.capture import Capture, load
from gdb_etm.api.connection import connect, current
from gdb_etm.api.history import Call, CallKind, History, Instruction, Thread
from gdb_etm.api.plan import TracePlan
from gdb_etm.api.session import Session, Stop
from gdb_etm.errors import EtmError
from gdb_etm.recovery.values import Finding, Step, Tier, Value, Write, Written
from gdb_etm.session.chains import Chain, ChainStep
from gdb_etm.session.faults import BadValue, Fault, FaultVerdict
from gdb_etm.traceunit.actions import Counter
from gdb_etm.views.recorded import Recorded

__all__ = [
    "BadValue",
    "Breakpoint",
    "Call",
    "CallKind",
    "Capture",
    "Chain",
    "ChainStep",
    "Counter",
    "EtmError",
    "Fault",
    "FaultVerdict",
    "Finding",
    "History",
    "Instruction",
    "Recorded",
    "Session",
    "Step",
    "Stop",
    "Thread",
    "Tier",
    "TracePlan",
    "Value",
    "Write",
    "Written",
    "connect",
    "current",
    "load",
]
