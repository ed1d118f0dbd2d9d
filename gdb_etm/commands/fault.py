"""``etm fault``: why the program went wrong."""

from __future__ import annotations

from typing import List

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.session.diagnosed import Diagnosed, diagnosed
from gdb_etm.session.scenes import words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.views.fault import fault_lines


def run_fault(session: DebugSession, values: Values) -> List[str]:
    """Say why the program went wrong."""
    return explained(session, diagnosed(session, values.get(TRACE_ID)))


def explained(session: DebugSession, found: Diagnosed) -> List[str]:
    """Write a diagnosis as lines; the background stands still meanwhile."""
    with found.known.solved(len(found.decoded.history) + 1, session.meter):
        words = words_for(session, found.decoded, found.scene)
        return fault_lines(found.diagnosis, found.status, found.scene, words)


FAULT = Command(
    "fault",
    "Say why the program went wrong: at a fault, or where it stopped itself.",
    run_fault,
    details=(
        "What the fault status registers say; the instruction that faulted, and which of its operands is bad; where\n"
        "the bad value came from, step by step; and the first of these steps that looks wrong.  A failed assertion,\n"
        "abort() and a watchdog's reset are explained in the same way.\n"
        "A verdict rests on values that are exact or assumed, and says which."
    ),
    arguments=(TRACE_ID,),
    examples=(("fault", "after a halt in HardFault_Handler"),),
)
