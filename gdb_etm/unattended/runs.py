"""Runs of a script: connect, load, trace, run, and ask the checks."""

from __future__ import annotations

import _thread
import os
import shlex
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.api.connection import connect
from gdb_etm.api.inside import is_inside
from gdb_etm.api.session import Session, Stop
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.connecting import OWN
from gdb_etm.unattended.checks import RunningCheck
from gdb_etm.unattended.figures import CheckOutcome, CheckResult, Observed
from gdb_etm.unattended.script import CheckScript, RunPlan
from gdb_etm.views.text import plural

# Runs whose report and snapshot are written.
_MOST_WRITTEN = 3
INTERRUPTED = "interrupted"


class RunRecord(NamedTuple):
    """What became of one run."""

    # From 1.
    number: int
    instructions: int
    # Where it ended: a function's name or an address, and its source line.
    ended: str
    line: str
    # Why it is no run that counts; empty where it is.
    error: str
    # What was not seen of it.
    missing: Tuple[str, ...]
    # How its figures are inexact.
    inexact: Tuple[str, ...]
    seconds: float


class ScriptResult(NamedTuple):
    """What became of a script."""

    script: CheckScript
    # Of what was connected to.
    target: str
    runs: Tuple[RunRecord, ...]
    checks: Tuple[CheckResult, ...]
    # Why the script did not come to its end; empty where it did.
    error: str
    # What was written about runs that went wrong, and why something was not.
    written: Tuple[str, ...]
    notes: Tuple[str, ...]
    seconds: float

    @property
    def outcome(self) -> CheckOutcome:
        """What became of it as a whole."""
        found = {one.outcome for one in self.checks}
        if self.error or any(run.error for run in self.runs) or CheckOutcome.FAILED in found:
            return CheckOutcome.FAILED
        return CheckOutcome.UNCERTAIN if CheckOutcome.UNCERTAIN in found else CheckOutcome.PASSED


class _Overdue(EtmError):
    # The time limit of the whole is over.
    pass


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what runs inside after a time, as Ctrl-C would.

    :raises EtmError: The time is over.
    """
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        _thread.interrupt_main()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if is_over.is_set():
            raise _Overdue("the time limit of %g s is over" % seconds) from None
        raise
    finally:
        timer.cancel()


_INSIDE = (
    'connect = "target" is GDB\'s connection, of OpenOCD and others: run the script inside GDB, with "gdb-multiarch '
    '-batch -x FILE"; "gdb-etm guide unattended" shows FILE'
)


class ScriptRuns:
    """One execution of a script.

    :param script: The script.
    :param folder: Where report and snapshot of what goes wrong are written; None: nowhere.
    :param tell: Told each run as it ends.
    """

    def __init__(
        self, script: CheckScript, folder: Optional[str], tell: Callable[[RunRecord], None] = lambda record: None
    ) -> None:
        self._script = script
        self._folder = folder
        self._tell = tell
        self._checks = [RunningCheck(request) for request in script.checks]
        self._runs: List[RunRecord] = []
        self._written: List[str] = []
        self._notes: List[str] = []
        self._target = script.target.arguments["where"] or "a probe"

    def execute(self) -> ScriptResult:
        """Do it all; the target's errors are part of the result.

        The target is left as it was found, whatever ends the runs.
        """
        begin, error = time.monotonic(), ""
        try:
            with limited(self._script.plan.time_limit):
                self._connected()
        except EtmError as cause:
            error = str(cause)
        except KeyboardInterrupt:
            error = INTERRUPTED
        missing = ["run %d: %s" % (run.number, one) for run in self._runs for one in run.missing]
        inexact = list(dict.fromkeys(one for run in self._runs for one in run.inexact))
        checks: List[CheckResult] = []
        if any(not run.error for run in self._runs):
            checks = [check.result(missing, inexact, self._script.plan.accepts) for check in self._checks]
        return ScriptResult(
            self._script,
            self._target,
            tuple(self._runs),
            tuple(checks),
            error,
            tuple(self._written),
            tuple(self._notes),
            time.monotonic() - begin,
        )

    def _connected(self) -> None:
        target = self._script.target
        if target.arguments["where"] == OWN and not is_inside():
            raise CommandError(_INSIDE)
        with connect(**target.arguments) as session:
            self._target = repr(session)[len("<Session: ") : -1]
            session.halt()
            prepare(session, self._script)
            for number in range(1, self._script.plan.times + 1):
                self._run(session, number)

    def _run(self, session: Session, number: int) -> None:
        record, observed = run_once(session, self._script, number)
        self._runs.append(record)
        self._tell(record)
        is_wrong = bool(record.error)
        if observed is not None and not record.error:
            for check in self._checks:
                is_wrong = check.take(observed) or is_wrong
        if observed is not None and number == self._script.plan.times and not self._written:
            # What only all runs together show is shown by the last.
            accepts = self._script.plan.accepts
            is_wrong = is_wrong or any(
                check.result((), (), accepts).outcome is not CheckOutcome.PASSED for check in self._checks
            )
        if is_wrong and observed is not None and self._folder is not None and len(self._written) < 2 * _MOST_WRITTEN:
            written, notes = write_run(session, os.path.join(self._folder, "run-%d" % number))
            self._written += written
            self._notes += notes


def write_run(session: Session, folder: str) -> Tuple[List[str], List[str]]:
    """Write the report and the snapshot of the last run.

    :returns: What was written, and why something was not.
    """
    snapshot = os.path.join(folder, "snapshot")
    written: List[str] = []
    notes: List[str] = []
    steps: Tuple[Tuple[str, Callable[[], object]], ...] = (
        (os.path.join(folder, "index.html"), lambda: session.command("report %s" % shlex.quote(folder))),
        (snapshot, lambda: session.capture().save(snapshot, replace=True)),
    )
    for path, step in steps:
        try:
            os.makedirs(folder, exist_ok=True)
            step()
            written.append(path)
        except OSError as error:
            notes.append("%s: not written: %s" % (path, error.strerror))
        except EtmError as error:
            notes.append("%s: not written: %s" % (path, error))
    return written, notes


def prepare(session: Session, script: CheckScript) -> None:
    """Load the program, change settings, and choose what is traced.

    :raises EtmError: One of it is not possible.
    """
    for name, value in script.settings.items():
        session.command("set %s %s" % (name, value))
    if script.target.load:
        for path in script.target.elf:
            session.load(path)
    session.configure(**script.trace)


def run_once(session: Session, script: CheckScript, number: int) -> Tuple[RunRecord, Optional[Observed]]:
    """Run once, as a script says.

    :param number: Counts the runs from 1.
    :returns: What became of it, and its history, if it has any.
    """
    plan, begin = script.plan, time.monotonic()
    if plan.reset:
        session.reset()
    session.begin_history()
    session.start()
    with session.breakpoint(plan.to) if plan.to else nullcontext() as mark:
        stop, sampled = _stop(session, plan)
    observed = Observed(number, session.history())
    error = "" if mark is None or stop.address == mark.address else _astray(plan, stop)
    if not len(observed.history):
        error = error or "no instruction was traced"
    record = RunRecord(
        number,
        len(observed.history),
        stop.function or "0x%08x" % stop.address,
        observed.history.line_at(stop.address),
        error,
        observed.history.measures.missing + sampled,
        _inexact(script),
        time.monotonic() - begin,
    )
    return record, observed if len(observed.history) else None


def _inexact(script: CheckScript) -> Tuple[str, ...]:
    cycles = script.trace.get("cycles")
    if cycles is None or cycles < 2:
        return ()
    return ("cycles are counted at least %d apart: a figure may be off by that at both its ends" % cycles,)


def _stop(session: Session, plan: RunPlan) -> Tuple[Stop, Tuple[str, ...]]:
    # Where it stopped, and how what was recorded is but a sample.
    if not plan.record:
        return session.run(plan.seconds), ()
    recorded = session.record(plan.seconds, sample=plan.sample)
    if recorded.end == INTERRUPTED:
        raise KeyboardInterrupt
    if plan.sample is None:
        return session.halt(), ()
    seen = "%s in %s" % (plural(recorded.instructions, "instruction"), plural(recorded.pieces, "sample"))
    return session.halt(), ("sampled: %s of %s" % (seen, plural(recorded.cycles or 0, "cycle")),)


def _astray(plan: RunPlan, stop: Stop) -> str:
    # Why the run did not end where it should.
    if stop.timed_out or plan.record and plan.seconds is not None:
        return "%s was not reached in %g s" % (plan.to, plan.seconds or 0)
    return "halted in %s, not at %s" % (stop.function or "0x%08x" % stop.address, plan.to)
