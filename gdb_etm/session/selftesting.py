"""A self test of the session's connection."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Iterator, List, Optional

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.selftest.findings import StepFinding, StepOutcome
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.selftest.bench import SelfTestBench
    from gdb_etm.selftest.tested import TestedCore
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
    if trace is None:
        yield StepFinding("trace hardware", StepOutcome.FAILED, str(connection.failure or "there is none"))
        return
    core = _core_beside(trace)
    if core is None:
        yield StepFinding("trace hardware", StepOutcome.FAILED, "no core is beside it")
        return
    if connection.is_tracing and session.is_undrained:
        session.drain()
    with _halted(core, connection):
        yield from _test(session, connection, trace, SelfTestBench(core, trace), ram)


def _test(
    session: DebugSession,
    connection: TargetConnection,
    trace: TraceSession,
    bench: SelfTestBench,
    ram: Optional[int],
) -> Iterator[StepFinding]:
    options, was_tracing = trace.options, connection.is_tracing
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


def _core_beside(trace: TraceSession) -> Optional[TestedCore]:
    path = trace.path
    if path.scs is not None:
        from gdb_etm.selftest.core import HaltedCore

        return HaltedCore(path.scs.port)
    if path.debug is not None:
        from gdb_etm.coresight.core_debug import CoreDebugDriver
        from gdb_etm.selftest.core_a import HaltedCoreA

        return HaltedCoreA(CoreDebugDriver(path.debug.port, path.debug.address))
    return None


@contextmanager
def _halted(core: TestedCore, connection: TargetConnection) -> Iterator[None]:
    # A core that no debugger has is halted for the self test, and runs on afterwards.
    runs = not connection.has_core and not core.is_halted
    if runs:
        core.halt()
    try:
        yield
    finally:
        if runs:
            core.let_run()


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
    if connection.has_core:
        return
    trace = connection.trace
    if trace is not None and is_m_profile(trace.core):
        raise CommandError(
            "the self test runs a program of its own, and this connection does not reach the core (--dap-only):"
            " connect without that"
        )
    if session.debugger.connection() is not None:
        raise CommandError(
            "the self test runs a program of its own, and another server has the core: end that, and connect by"
            ' "etm connect --dap-only" or "gdb-etm selftest --dap-only"'
        )
