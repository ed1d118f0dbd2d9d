"""Decoded and true executions with their loads and stores."""

from __future__ import annotations

from typing import Collection, Iterable, List, NamedTuple, Optional, Tuple

from gdb_etm.capture import RawCapture
from gdb_etm.history.build import build
from gdb_etm.history.store import TracedInstruction
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import DataGap, Exception_, ExceptionReturn, Gap, GapReason, Transfer
from tests.execution import EXCEPTION_RETURN, Event


class Moved(NamedTuple):
    """A transfer, as both truth and trace have it."""

    store: Optional[bool]
    address: Optional[int]
    size: Optional[int]
    value: Optional[int]


# An instruction or event and what it transferred.
Step = Tuple[Event, Tuple[Moved, ...]]


def moved(transfers: Iterable[Transfer]) -> Tuple[Moved, ...]:
    """Return decoded transfers as the truth has them.

    The success of a store-exclusive has the address of the store.
    """
    found: List[Moved] = []
    for each in transfers:
        address = found[0].address if each.role is TransferRole.STATUS and found else each.address
        found.append(Moved(each.store, address, each.size, each.value))
    return tuple(found)


def told(capture: RawCapture, passed_over: Collection[GapReason] = (GapReason.TRACE_ON,)) -> List[Step]:
    """Decode a capture of one core.

    :param passed_over: Reasons of gaps that are left out; other gaps are steps.
    """
    (history,) = build(capture).values()
    found: List[Step] = []
    number = 0
    for item in history.walk(1, len(history)):
        if isinstance(item, TracedInstruction):
            number += 1
            found.append((item.address, moved(history.transfers(number))))
        elif isinstance(item, Exception_):
            found.append((("exception", item.number, item.return_address), moved(history.event_transfers(item))))
        elif isinstance(item, ExceptionReturn):
            found.append((EXCEPTION_RETURN, moved(history.event_transfers(item))))
        elif isinstance(item, (Gap, DataGap)) and item.reason not in passed_over:
            found.append((str(item), ()))
    return found
