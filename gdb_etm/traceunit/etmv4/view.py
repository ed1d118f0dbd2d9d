"""Which instructions an ETMv4 trace unit traces: the ViewInst registers.

IHI 0064, 4.1.2 and 4.1.3, 7.3.7 (TRCVICTLR); exception levels by profile: table 5-8.
"""

from __future__ import annotations

from typing import Iterator, List, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.comparators import Allotment, bits
from gdb_etm.traceunit.etmv4.resources import counter_to_spare
from gdb_etm.traceunit.options import ExceptionLevel, ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite
from gdb_etm.traceunit.window import Window, WindowMemory, plan_window

_THREAD, _HANDLER = 1 << 0, 1 << 3  # of EXLEVEL_S; on an Armv7-R these are User and all privileged modes


def view_inst(
    options: TraceOptions, allotment: Allotment, capabilities: Capabilities, window: Window, event: int
) -> Iterator[RegisterWrite]:
    """Write the filter of instructions.

    :param window: What starts and stops the trace.
    :param event: The event field that says when anything is traced.

    :raises UnsupportedError: The unit lacks the filter, or nothing would be traced.
    """
    secure, nonsecure, words = _suppressed(options, capabilities)
    # SSSTATUS is unknown after reset; without start points it must be 1, or nothing is traced (4.1.3, 7.3.7).
    waits, forces = window.waits, options.exceptions is ExceptionTrace.ON
    control = etmv4.TRCVICTLR.encode(
        SSSTATUS=int(not waits),
        EVENT=event,
        EXLEVEL_S=secure,
        EXLEVEL_NS=nonsecure,
        TRCRESET=int(forces),
        TRCERR=int(forces and bool(capabilities.field("TRCIDR3.TRCERR"))),
    )
    when = "trace from a start point on" if waits else "trace always"
    when += "" if event == etmv4.EVENT_TRUE else ", while its event is so"
    why = ", ".join([when, *(words or ["at every exception level"])])
    whole = _write(etmv4.TRCVICTLR, control, why)
    # Start and stop addresses change it, and what it is then is not to be written anew.
    moving = etmv4.TRCVICTLR.fields["SSSTATUS"].mask if window.is_used else 0
    yield whole._replace(mask=whole.mask & ~moving)
    if not capabilities.field("TRCIDR4.NUMACPAIRS"):
        return
    include, exclude = bits(allotment.include), bits(allotment.exclude)
    counts = "include %d, exclude %d ranges" % (len(allotment.include), len(allotment.exclude))
    yield _write(
        etmv4.TRCVIIECTLR,
        etmv4.TRCVIIECTLR.encode(INCLUDE=include, EXCLUDE=exclude),
        counts if include | exclude else "trace all addresses",
    )
    start, stop = bits(allotment.start), bits(allotment.stop)
    counts = "%d start, %d stop addresses" % (len(allotment.start), len(allotment.stop))
    yield _write(
        etmv4.TRCVISSCTLR,
        etmv4.TRCVISSCTLR.encode(START=start, STOP=stop),
        counts if start | stop else "no start or stop addresses",
    )


def _suppressed(options: TraceOptions, capabilities: Capabilities) -> Tuple[int, int, List[str]]:
    # A bit that is set suppresses; bits of levels that are not there must stay 0.
    implemented = capabilities.field("TRCIDR3.EXLEVEL_S"), capabilities.field("TRCIDR3.EXLEVEL_NS")
    secure = nonsecure = 0
    words: List[str] = []
    if not options.secure or not options.nonsecure:
        if not all(implemented):
            name = "TRCIDR3.EXLEVEL_S" if not implemented[0] else "TRCIDR3.EXLEVEL_NS"
            raise UnsupportedError(
                "Secure and Non-secure code: this unit does not distinguish them (%s is 0)" % name, name
            )
        secure, nonsecure = (0 if options.secure else implemented[0]), (0 if options.nonsecure else implemented[1])
        words.append("Non-secure code only" if secure else "Secure code only")
    if options.exceptions in (ExceptionTrace.OFF, ExceptionTrace.ONLY):
        if implemented != (_THREAD | _HANDLER, 0):
            raise UnsupportedError(
                "exceptions %s: this unit does not distinguish handlers from other code; it is not a Cortex-M's"
                " (TRCIDR3.EXLEVEL_S is 0x%x)" % (options.exceptions.value, implemented[0]),
                "TRCIDR3.EXLEVEL_S",
            )
        off = options.exceptions is ExceptionTrace.OFF
        secure |= _HANDLER if off else _THREAD
        words.append("no handlers" if off else "handlers only")
    if options.levels:
        secure, nonsecure = _levels(options.levels, implemented, secure, nonsecure)
        words.append("exception levels %s only" % ", ".join(map(str, options.levels)))
    if options.exceptions is ExceptionTrace.ON:
        words.append("resets and system errors wherever they are")
    return secure, nonsecure, words


def _levels(
    levels: Sequence[ExceptionLevel], implemented: Tuple[int, int], secure: int, nonsecure: int
) -> Tuple[int, int]:
    wanted = [0, 0]
    for level in levels:
        if not implemented[level.nonsecure] >> level.number & 1:
            name = "TRCIDR3.EXLEVEL_NS" if level.nonsecure else "TRCIDR3.EXLEVEL_S"
            raise UnsupportedError(
                "exception level %s: not in this trace unit (%s is 0x%x)" % (level, name, implemented[level.nonsecure]),
                name,
            )
        wanted[level.nonsecure] |= 1 << level.number
    secure, nonsecure = secure | implemented[0] & ~wanted[0], nonsecure | implemented[1] & ~wanted[1]
    if (secure, nonsecure) == implemented:
        raise UnsupportedError(
            "nothing is left to trace: every exception level is left out (TRCVICTLR.EXLEVEL_S)", "TRCVICTLR.EXLEVEL_S"
        )
    return secure, nonsecure


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, value, register.mask, why)


def window_of(options: TraceOptions, capabilities: Capabilities) -> Window:
    """Find out what starts and stops the trace.

    :raises UnsupportedError: Nothing is left that can remember whether it is on.
    """
    missing = "TRCIDR5.NUMCNTR" if capabilities.field("TRCIDR5.NUMSEQSTATE") else "TRCIDR5.NUMSEQSTATE"
    memory = WindowMemory(
        bool(capabilities.field("TRCIDR5.NUMSEQSTATE")),
        counter_to_spare(options.counters, capabilities),
        "%s is %d" % (missing, capabilities.field(missing)),
    )
    return plan_window(options, memory)


def watched_writes(window: Window) -> Iterator[RegisterWrite]:
    """Write the start and stop points by processor comparators, if any."""
    if window.watched_start + window.watched_stop:
        register = etmv4.TRCVIPCSSCTLR
        fields = {"START": _mask(window.watched_start), "STOP": _mask(window.watched_stop)}
        why = "start and stop by the processor's comparators"
        yield RegisterWrite(register.name, register.offset, register.encode(**fields), register.mask, why)


def _mask(numbers: Sequence[int]) -> int:
    return sum(1 << n for n in set(numbers))
