"""Calls one by one: cost, place, latency, and order of each.

The cost of a call is its own and that of what it called; handlers that interrupted it are no part of it.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional

from gdb_etm.analysis.activity import Activity, ActivityReader
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame
from gdb_etm.protocols.elements import DEBUG_HALT

_BEGINS = (Entered.CALL, Entered.TAIL_CALL, Entered.EXCEPTION)


class MeasuredCall(NamedTuple):
    """One activation of a function."""

    name: str
    # The exception whose handler it is, or that it was called from; empty in a thread.
    exception: str
    # Whether that handler is this function itself.
    is_handler: bool
    # Number of its first instruction that was seen.
    first: int
    # Whether its call was seen.
    begun: bool
    # What it cost; None where it was not seen from begin to end, or where that was not counted.
    cost: Optional[int]


class TakenException(NamedTuple):
    """An exception that was taken."""

    name: str
    # Number of the instruction before it; 0 where there is none.
    after: int


class Latency(NamedTuple):
    """From an exception to a function that its handler enters."""

    # Number of the instruction before the exception.
    after: int
    # Number of the function's first instruction.
    first: int


def measured_calls(reader: ActivityReader) -> List[MeasuredCall]:
    """List the activations, in the order in which they were first seen."""
    found: List[MeasuredCall] = []
    exceptions: Dict[Activity, str] = {}
    for one in reader.inner_last():
        above = one.caller
        exceptions[one] = one.exception or (exceptions[above] if above is not None else "")
        if one.first and one.frame.function is not None:
            cost = one.inclusive if one.is_whole and not one.unmeasured else None
            handles = bool(one.exception)
            name = one.frame.function.name
            found.append(MeasuredCall(name, exceptions[one], handles, one.first, one.begun, cost))
    return sorted(found, key=lambda one: one.first)


def taken_exceptions(calls: CallHistory) -> Iterator[TakenException]:
    """List the exceptions that were taken, without halts of the debugger."""
    for row in calls.rows():
        if row.event is not None and row.frame.event is not None and row.frame.event.name != DEBUG_HALT:
            yield TakenException(row.frame.event.name, row.first - 1)


def latencies(calls: CallHistory, exception: str, function: str) -> Iterator[Latency]:
    """Find where exceptions came to a function.

    :param exception: By its name, such as ``"SysTick"``.
    """
    entered: Dict[Frame, int] = {}
    for row in calls.rows():
        if row.event is not None and row.frame.event is not None and row.frame.event.name == exception:
            entered[row.frame] = row.first - 1
        elif row.event is None and row.function is not None and row.function.name == function:
            up: Optional[Frame] = row.frame if row.entered in _BEGINS else None
            while up is not None and (up.event is None or up.event.name != exception):
                up = up.up
            # The first time only: then it is forgotten.
            after = entered.pop(up, None) if up is not None else None
            if after is not None:
                yield Latency(after, row.first)
