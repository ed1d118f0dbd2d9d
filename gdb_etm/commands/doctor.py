"""``etm doctor``: why is there no trace?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.overview import standing
from gdb_etm.commands.parse import flag
from gdb_etm.errors import AccessError, CaptureError, CommandError, EtmError
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import align, plural

if TYPE_CHECKING:
    # At run time only when the command is used: their rooms take a while to import.
    from gdb_etm.session.captures import CaptureRecord
    from gdb_etm.session.connection import TargetConnection
    from gdb_etm.traceunit.doctor.findings import DoctorFinding

FIX = flag("--fix", "set right what can be set right from here, and say what")

# CTRL/STAT.CDBGPWRUPACK and CSYSPWRUPACK (ADIv5.2, B2.2.2).
_DEBUG_POWER, _SYSTEM_POWER = 1 << 29, 1 << 31
# Share of the buffer from which on other sources are too many.
_GREEDY = 0.5


def run_doctor(session: DebugSession, values: Values) -> Iterator[str]:
    """Check the path from processor to buffer, and repair it on request."""
    connection = session.connected()
    if session.debugger.is_running():
        if not connection.has_process:
            raise CommandError("the target runs, and nothing can be read through GDB meanwhile; halt it first (Ctrl-C)")
        if values.get(FIX):
            raise CommandError("the target runs; halt it first (Ctrl-C)")
    yield standing(session)
    doctor = Doctor(session, connection)
    if values.get(FIX):
        yield from doctor.fix()
    yield from verdict_lines(doctor.findings())
    if doctor.lost is not None:
        raise doctor.lost


class Doctor:
    """The checks of one connection.

    :param session: Whose captures are looked at.
    :param connection: The connection.
    """

    def __init__(self, session: DebugSession, connection: TargetConnection) -> None:
        self._session = session
        self._connection = connection
        # Why nothing more can be read; None while it can.
        self.lost: Optional[AccessError] = None

    def findings(self) -> List[DoctorFinding]:
        """Check everything that can be reached."""
        found: List[DoctorFinding] = []
        try:
            found.extend(self._findings(found))
        except AccessError as error:
            from gdb_etm.traceunit.doctor.findings import bad

            found.append(bad("answers", str(error), "check the target's power and the cable; nothing more was read"))
            self.lost = error if error.kind == "lost" else None
        return found

    def _findings(self, so_far: List[DoctorFinding]) -> Iterable[DoctorFinding]:
        from gdb_etm.traceunit.doctor.examine import examine
        from gdb_etm.traceunit.doctor.findings import Mend, Verdict, bad
        from gdb_etm.traceunit.doctor.unit import Circumstances

        power = _debug_power(self._connection)
        so_far.append(power)
        if power.verdict is Verdict.BAD:
            return []
        so_far.extend(_vendor(self._connection))
        so_far.append(_components(self._connection))
        record = self._record()
        path = self._connection.path
        if path is not None:
            around = Circumstances(self._connection.trace, self._connection.is_tracing, self._is_empty(record))
            for finding in examine(path, around):
                # Until they are ours, most registers hold what they held at power-up: that is no reason for anything.
                if self._connection.trace is not None or finding.mend in (None, Mend.ATTACH):
                    so_far.append(finding)
        if path is not None and self._connection.trace is None:
            so_far.append(
                bad("session", "unit and buffer are not ours: %s" % self._connection.failure, mend=Mend.ATTACH)
            )
        return [] if record is None else _shares(record)

    def fix(self) -> Iterator[str]:
        """Apply the repairs in their order, each while something bad needs it."""
        from gdb_etm.traceunit.doctor.findings import Mend, Verdict

        actions: Dict[Mend, Callable[[], None]] = {
            Mend.DEBUG_POWER: self._connection.power_up,
            Mend.VENDOR: self._enable_vendor,
            Mend.TRACE_ENABLE: lambda: self._connection.session().enable_trace(),
            Mend.ATTACH: self._connection.find_again,
            Mend.UNIT: lambda: self._connection.session().unit.recover(),
            Mend.LINKS: lambda: self._connection.session().open_links(),
            Mend.START: self._restart,
        }
        for mend in Mend:
            ill = [one for one in self.findings() if one.verdict is Verdict.BAD and one.mend is mend]
            if not ill or self.lost is not None:
                continue
            subjects = ", ".join(dict.fromkeys(one.subject for one in ill))
            try:
                actions[mend]()
            except EtmError as error:
                yield "%s: could not be mended: %s" % (subjects, error)
            else:
                yield "%s: %s" % (subjects, mend.value)

    def _restart(self) -> None:
        self._connection.restart()
        self._session.on_trace_start()

    def _enable_vendor(self) -> None:
        self._connection.enable_vendor()

    def _record(self) -> Optional[CaptureRecord]:
        # The last capture, if it came from this connection's buffer.
        record = self._session.captures[-1] if self._session.captures else None
        return record if record is not None and record.is_live else None

    def _is_empty(self, record: Optional[CaptureRecord]) -> Optional[bool]:
        if record is None:
            return None
        if not record.capture.buffer:
            return True
        return record.is_decoded and not len(self._session.decode(record).history)


def _debug_power(connection: TargetConnection) -> DoctorFinding:
    from gdb_etm.traceunit.doctor.findings import Mend, bad, ok, unknown

    subject = "debug power"
    status = connection.debug_port()
    if status is None:
        return unknown(subject, "the debug port cannot be read through GDB's connection")
    quoted = "DP CTRL/STAT 0x%08x: " % status
    if not status & _DEBUG_POWER:
        return bad(subject, quoted + "the debug domain has no power (CDBGPWRUPACK)", mend=Mend.DEBUG_POWER)
    system = "debug and system domain have power" if status & _SYSTEM_POWER else "the debug domain has power"
    return ok(subject, quoted + system)


def _vendor(connection: TargetConnection) -> Iterator[DoctorFinding]:
    from gdb_etm.traceunit.doctor.findings import Mend, bad, ok

    for state in connection.vendor_states():
        enable = state.enable
        proof = "%s 0x%08x: %s" % (enable, state.found, enable.why or "as the profile wants it")
        if state.is_right:
            yield ok("vendor enable", proof)
        else:
            wanted = "%s 0x%08x: its bits 0x%08x must be 0x%08x" % (enable, state.found, enable.mask, enable.value)
            yield bad("vendor enable", "%s (%s)" % (wanted, enable.why) if enable.why else wanted, mend=Mend.VENDOR)


def _components(connection: TargetConnection) -> DoctorFinding:
    from gdb_etm.traceunit.doctor.examine import NO_ANSWER
    from gdb_etm.traceunit.doctor.findings import Mend, bad, ok

    subject = "components"
    # Each note begins with the address of what was passed over.
    silent = ", ".join(note.partition(" ")[0] for note in connection.discovery.notes)
    words = ["%d in the ROM tables answer" % len(connection.discovery.components)]
    words += ["%s: no answer" % silent] if silent else []
    if connection.path is None:
        words += [str(connection.failure)] if connection.failure is not None else []
        advice = NO_ANSWER if silent else "this chip may have no trace unit or buffer that a debugger can reach"
        return bad(subject, "; ".join(words), advice, Mend.ATTACH)
    return ok(subject, "; ".join(words))


def _shares(record: CaptureRecord) -> Iterator[DoctorFinding]:
    from gdb_etm.framing.formatter import deframe
    from gdb_etm.history.build import streams
    from gdb_etm.traceunit.doctor.findings import START, bad, ok

    subject = "last capture"
    size = len(record.capture.buffer)
    if not size:
        yield bad(subject, "capture %d is empty" % record.number, "let the program run: continue")
        return
    try:
        ours = {stream.trace_id for stream in streams(record.capture)}
    except CaptureError as error:
        yield bad(subject, str(error))
        return
    found = {trace_id: len(stream.data) for trace_id, stream in deframe(record.capture.buffer).streams.items()}
    others = {trace_id: count for trace_id, count in found.items() if trace_id not in ours}
    words = "capture %d: %s" % (record.number, _ids(found, size))
    if sum(others.values()) > _GREEDY * size or not any(trace_id in ours for trace_id in found):
        advice = "switch the other source off (the ITM by ITM_TCR: set *(unsigned *)0xe0000e80 = 0)"
        yield bad(subject, words + "; other sources eat the buffer" if others else words, advice if others else START)
    else:
        yield ok(subject, words)


def _ids(found: Dict[int, int], size: int) -> str:
    shares = ["ID 0x%02x %.0f%%" % (trace_id, 100 * count / size) for trace_id, count in sorted(found.items())]
    return ", ".join(shares) + " of %d bytes" % size if shares else "%d bytes, but of no source" % size


def verdict_lines(findings: Sequence[DoctorFinding]) -> Iterator[str]:
    """Write a numbered line a check, with advice where it is bad."""
    rows = [["%2d" % number, one.verdict.value, one.subject, one.proof] for number, one in enumerate(findings, 1)]
    for finding, line in zip(findings, align(rows)):
        yield line
        if finding.advice:
            yield "    -> " + finding.advice
    wrong = [(number, one) for number, one in enumerate(findings, 1) if one.verdict.value == "bad"]
    if not wrong:
        yield "Nothing is wrong."
        return
    number, first = wrong[0]
    more = "; %s more" % plural(len(wrong) - 1, "bad line") if len(wrong) > 1 else ""
    yield "Begin with line %d, %s%s." % (number, first.subject, more)


DOCTOR = Command(
    "doctor",
    "Say why there is no trace.",
    run_doctor,
    details="Checks everything between processor and trace buffer, in that order.  Each line is one check, with the\n"
    "register that proves it; the line below a bad one says what to do.  Nothing is changed without --fix; its\n"
    'changes are undone by "etm disconnect", as all others.  While the target runs, registers are read\n'
    "if pyOCD owns the debug port.",
    arguments=(FIX,),
    examples=(
        ("doctor", 'before "etm start", while tracing, or after a halt without trace'),
        ("doctor --fix", "set right what can be, and look again"),
    ),
)
