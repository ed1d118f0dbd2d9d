"""Plan for a PTM: options and capabilities to register writes.

IHI 0035B, 3.16.  After reset most registers hold an unknown value, so every
register that the unit has is written, used or not.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.capabilities import PtmCapabilities
from gdb_etm.traceunit.armv7.filter import plan_filter
from gdb_etm.traceunit.armv7.plan import (
    check_common,
    common_writes,
    control,
    disable_steps,
    marks,
    notes,
    sync_bytes,
    unused_resources,
)
from gdb_etm.traceunit.armv7.resources import with_uses
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan


def plan_program(options: TraceOptions, capabilities: PtmCapabilities, buffer_bytes: int) -> Plan:
    """Plan the programming of a unit.

    :param buffer_bytes: Size of the circular buffer that the trace goes to; decides how often to synchronise.
    :raises UnsupportedError: The unit lacks what the options ask for.
    """
    _check(options, capabilities)
    sync = sync_bytes(options, capabilities, buffer_bytes)
    stack = _return_stack(options, capabilities)
    chosen = plan_filter(options, capabilities)
    settings = (
        control(options, capabilities, ReturnStack=int(stack)),
        *common_writes(sync, options, capabilities),
        *chosen.writes,
        *unused_resources(capabilities, chosen.contexts),
    )
    steps = (*disable_steps(), *with_uses(settings, chosen.uses))
    all_notes = (*notes(capabilities), *_own_notes(options, capabilities), *chosen.notes)
    return Plan(steps, sync, stack, all_notes, chosen.dwt, chosen.taken, marks(options))


def _check(options: TraceOptions, capabilities: PtmCapabilities) -> None:
    check_common(options, capabilities)
    if options.return_stack:
        capabilities.require("ETMCCER.ReturnStack", "return stack")
        if options.branch_broadcast:
            # What comes out of both together is not the same in all units.
            raise UnsupportedError(
                "return stack and branch broadcast: choose one of them (ETMCR.ReturnStack)", "ETMCR.ReturnStack"
            )
    if options.conditional:
        raise UnsupportedError("conditional instructions: a PTM traces branches only (ETMIDR.Major)", "ETMIDR.Major")
    if options.data:
        raise UnsupportedError("data trace: a PTM has none (ETMIDR.Major)", "ETMIDR.Major")


def _return_stack(options: TraceOptions, capabilities: PtmCapabilities) -> bool:
    there = bool(capabilities.field("ETMCCER.ReturnStack"))
    return there and options.return_stack is not False and not options.branch_broadcast


def _own_notes(options: TraceOptions, capabilities: PtmCapabilities) -> Iterator[str]:
    if options.branch_broadcast and options.return_stack is None and capabilities.field("ETMCCER.ReturnStack"):
        yield "branch broadcast turns the return stack off"
