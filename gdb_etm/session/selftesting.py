"""A self test of the session's connection."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Iterator, List, Optional

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.selftest.findings import StepFinding, StepOutcome
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.session.connection import TargetConnection
    from gdb_etm.traceunit.doctor.findings import DoctorFinding
    from gdb_etm.traceunit.options import TraceOptions
    from gdb_etm.traceunit.session import TraceSession


def selftest(session: DebugSession, ram: Optional[int] = None) -> Iterator[StepFinding]:
    """Test the connection's trace hardware, and put everything back.

    What was traced before is drained first; afterwards tracing is on again where it was.  The hardware stays as a step
    left it until the next finding is asked for.

    :param ram: Address of RAM that may be used and holds code; None: below the stack.
    :returns: A finding for each step.
    :raises CommandError: Not connected, the target runs, or GDB looks at the past.
    :raises CaptureError: The core's state or its RAM could not be put back; nothing was changed.
    :raises AccessError: The connection is lost.
    """
    from gdb_etm.selftest.bench import SelfTestBench

    connection = session.connected()
    _check(session, connection)
    trace = connection.trace
    if trace is None or trace.path.scs is None:
        yield StepFinding("trace hardware", StepOutcome.FAILED, str(connection.failure or "no core is beside it"))
        return
    if connection.is_tracing and session.is_undrained:
        session.drain()
    options, was_tracing = trace.options, connection.is_tracing
    bench = SelfTestBench(trace.path.scs.port, trace)
    bench.check(() if ram is None else (ram,))
    if was_tracing:
        connection.halt_trace()
    try:
        with connection.log.step("selftest"):
            yield from bench.findings()
    except BaseException:
        with suppress(EtmError):
            _give_back(session, connection, trace, options if was_tracing else None)
        raise
    try:
        _give_back(session, connection, trace, options if was_tracing else None)
    except EtmError as error:
        yield StepFinding("trace hardware", StepOutcome.FAILED, "taken anew: %s" % error)


def _give_back(
    session: DebugSession, connection: TargetConnection, trace: TraceSession, options: Optional[TraceOptions]
) -> None:
    # Registers as they were found; then ours again, and tracing as before.
    from gdb_etm.selftest.bench import taken_anew

    connection.trace = None
    try:
        connection.trace = taken_anew(trace)
    except EtmError as error:
        connection.failure = error
        raise
    finally:
        connection.leave_restoration()
    if options is not None:
        connection.start(options)
        session.on_trace_start()


def look_closer(connection: TargetConnection) -> List[DoctorFinding]:
    """Trace as a failed step did, and check all registers.

    :returns: What is wrong.
    :raises AccessError: The connection is lost.
    """
    from gdb_etm.traceunit.doctor.examine import examine
    from gdb_etm.traceunit.doctor.findings import Verdict
    from gdb_etm.traceunit.doctor.unit import Circumstances

    trace = connection.trace
    if trace is None:
        return []
    # Whatever keeps it from that is what is looked for.
    with suppress(EtmError):
        trace.start()
    found = [one for one in examine(trace.path, Circumstances(trace, True, None)) if one.verdict is Verdict.BAD]
    with suppress(EtmError):
        trace.stop()
    return found


def _check(session: DebugSession, connection: TargetConnection) -> None:
    if session.debugger.is_running():
        raise CommandError("the target runs; halt it first (Ctrl-C)")
    if connection.in_the_past:
        raise CommandError('GDB looks at the past; "continue" to the live end first')
    if not connection.has_core:
        raise CommandError(
            "the self test runs a program of its own, and this connection does not reach the core (--dap-only):"
            ' on a Cortex-M connect without that; elsewhere "etm doctor" reads the registers'
        )
    if connection.trace is not None and not is_m_profile(connection.trace.core):
        raise CommandError("the self test's program is for a Cortex-M; this is a %s" % connection.trace.core.type)
