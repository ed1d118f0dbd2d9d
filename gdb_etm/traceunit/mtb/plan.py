"""Plan of a Micro Trace Buffer's registers.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 3.2.2 and 3.2.3.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_etm.coresight.steps import RegisterChange, RegisterWrite, write
from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import mtb
from gdb_etm.traceunit.dwt_match import MatchTarget, note
from gdb_etm.traceunit.mtb.capabilities import MtbCapabilities
from gdb_etm.traceunit.options import ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import Plan

_CONTROL = mtb.MASTER.encode(EN=1, HALTREQ=1, TSTARTEN=1, TSTOPEN=1)


def plan_program(options: TraceOptions, capabilities: MtbCapabilities, buffer_bytes: int) -> Plan:
    """Plan how to program it, tracing off.

    :param buffer_bytes: Size of the buffer, a power of two; 0 where none is chosen yet.
    :raises UnsupportedError: It lacks what the options ask for.
    """
    for feature in _refused(options):
        raise UnsupportedError("%s: a Micro Trace Buffer traces branches, and all of them" % feature, "MTB_MASTER")
    starts, stops, watched = _points(options, capabilities)
    mask = max(buffer_bytes // mtb.SMALLEST, 1).bit_length() - 1
    size = "a circular buffer of %d bytes" % buffer_bytes if buffer_bytes else "no buffer is chosen"
    steps = [
        write(mtb.MASTER, mtb.MASTER.encode(SFRWPRIV=1, MASK=mask), size + ", tracing off"),
    ]
    if capabilities.inputs:
        steps.append(write(mtb.TSTART, starts, "comparators that start it"))
        steps.append(write(mtb.TSTOP, stops, "comparators that stop it"))
    used = tuple(n for n in range(capabilities.inputs) if (starts | stops) >> n & 1)
    return Plan(tuple(steps), dwt=watched, notes=(note(used),) if used else ())


def _points(options: TraceOptions, capabilities: MtbCapabilities) -> Tuple[int, int, Tuple[RegisterWrite, ...]]:
    # Of start and stop points the comparators, one bit each, and what is written to the DWT.
    free = capabilities.comparators
    wanted = [(address, True) for address in options.start_at] + [(address, False) for address in options.stop_at]
    if wanted and not capabilities.inputs:
        words = (
            "start and stop points: what starts and stops this MTB is the chip maker's own, and not known (TSTARTEN)"
        )
        raise UnsupportedError(words, mtb.TSTART.name)
    if len(wanted) > len(free.free):
        words = "start and stop points: of the DWT's comparators %d are free, and %d are needed"
        raise UnsupportedError(words % (len(free.free), len(wanted)), "DWT_CTRL.NUMCOMP")
    masks = [0, 0]
    writes: List[RegisterWrite] = []
    for number, (address, starts) in zip(free.free, wanted):
        masks[not starts] |= 1 << number
        why = "%s at 0x%08x" % ("start" if starts else "stop", address)
        writes += free.writes(number, MatchTarget(address, 1, why))
    return masks[0], masks[1], tuple(writes)


def plan_enable(starts: bool, stops: bool) -> Plan:
    """Plan its start.

    :param starts: Whether a start point begins the trace, and not this.
    :param stops: Whether there are stop points.
    """
    value = mtb.MASTER.encode(EN=not starts, TSTARTEN=starts, TSTOPEN=stops)
    why = "trace from a start point on" if starts else "trace"
    return Plan((RegisterChange(mtb.MASTER.name, mtb.MASTER.offset, _CONTROL, value, why),))


def plan_disable() -> Plan:
    """Plan its end."""
    return Plan((RegisterChange(mtb.MASTER.name, mtb.MASTER.offset, _CONTROL, 0, "no more packets"),))


def watermark(options: TraceOptions, size: int) -> Optional[int]:
    """Give the bytes of the buffer before its watermark; None without.

    :raises UnsupportedError: The buffer is full before.
    """
    # A core that is asked to halt may still make some branches (DDI 0486, 2.4).
    if options.halts_when_full:
        return size - min(max(size // 8, 32), size // 2)
    if options.stop_after is not None and size and options.stop_after >= size:
        words = "to stop after %d bytes: the buffer of %d bytes holds at most %d before it is full"
        raise UnsupportedError(words % (options.stop_after, size, size - 8), "MTB_FLOW.WATERMARK")
    return options.stop_after


def _refused(options: TraceOptions) -> Tuple[str, ...]:
    asked = (
        (bool(options.include or options.exclude), "address ranges"),
        (options.cycle_count is not None, "cycle counts"),
        (options.timestamps, "timestamps"),
        (options.context_id or options.vmid or bool(options.contexts), "Context IDs"),
        (options.branch_broadcast, "branch broadcast"),
        (options.sync_bytes is not None, "a synchronisation period"),
        (options.exceptions is not ExceptionTrace.AS_OTHERS, "a choice of exceptions"),
        (not options.secure or not options.nonsecure, "a choice of security states"),
        (bool(options.levels), "exception levels"),
        (options.stall or options.overflow_prevention, "stalling"),
        (bool(options.data), "data trace"),
        (bool(options.conditional), "conditions"),
        (bool(options.q_elements), "Q elements"),
        (bool(options.rules or options.counters), "events"),
    )
    return tuple(feature for is_asked, feature in asked if is_asked)
