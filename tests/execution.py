"""Executions as lists, to compare truth, this decoder and OpenCSD."""

from __future__ import annotations

from typing import Collection, List, Optional, Tuple, Union

from gdb_etm.capture import RawCapture
from gdb_etm.history.build import build
from gdb_etm.history.store import TracedInstruction
from gdb_etm.protocols import elements
from gdb_etm.protocols.elements import GapReason

# An executed instruction's address, an exception with traced type and return address (None when the trace does not
# tell it), or something else in words.
Event = Union[int, Tuple[str, int, Optional[int]], str]

EXCEPTION_RETURN = "exception-return"


def decoded(capture: RawCapture, passed_over: Collection[GapReason] = (GapReason.TRACE_ON,)) -> List[Event]:
    """Decode a capture of one core.

    :param passed_over: Reasons of gaps that are expected; every other gap stands in the list.
    """
    (history,) = build(capture).values()
    found: List[Event] = []
    for item in history.walk(1, len(history)):
        if isinstance(item, TracedInstruction):
            found.append(item.address)
        elif isinstance(item, elements.Exception_):
            found.append(("exception", item.number, item.return_address))
        elif isinstance(item, elements.ExceptionReturn):
            found.append(EXCEPTION_RETURN)
        elif isinstance(item, elements.Gap) and item.reason not in passed_over:
            found.append(str(item))
    return found
