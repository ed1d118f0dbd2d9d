"""Why there is no trace: checks of the whole path, and repairs."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator, List, Optional

from gdb_etm.capture import BufferFormat
from gdb_etm.errors import AccessError, CaptureError, EtmError
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import streams
from gdb_etm.profiles import library
from gdb_etm.protocols.elements import Exception_, Gap, GapReason
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.doctor.examine import NO_ANSWER, examine
from gdb_etm.traceunit.doctor.findings import START, DoctorFinding, Mend, Verdict, bad, ok, unknown
from gdb_etm.traceunit.doctor.unit import Circumstances
from gdb_etm.views.text import plural

# CTRL/STAT.CDBGPWRUPACK and CSYSPWRUPACK (ADIv5.2, B2.2.2).
_DEBUG_POWER, _SYSTEM_POWER = 1 << 29, 1 << 31
# Share of the buffer from which on other sources are too many.
_GREEDY = 0.5
_LET_RUN = "let the program run: continue"
# Of the note of a capture whose trace unit lost its power; and what keeps that.
_LOST_POWER = "lost its power"
_KEEP_POWER = (
    "keep power and clock of debug in sleep by the vendor's register (STM32: DBGMCU_CR, DBG_SLEEP and DBG_STOP)"
)
# The subject of what only a decoded history tells, and so not without the program.
HISTORY = "history"
_DAMAGE = (GapReason.BAD_IMAGE, GapReason.BAD_PACKET, GapReason.OVERFLOW)
# What the architectures call it.
_RESETS = ("PE reset", "Reset")


class Doctor:
    """Checks of a connection, and their repairs."""

    def __init__(self, session: DebugSession, connection: TargetConnection) -> None:
        self._session = session
        self._connection = connection
        # Why nothing answers any more; None while it does.
        self.lost: Optional[AccessError] = None

    def findings(self) -> List[DoctorFinding]:
        """Check everything that can be reached."""
        found: List[DoctorFinding] = []
        with self._connection.log.step("doctor"):
            try:
                found.extend(self._findings(found))
            except AccessError as error:
                advice = "check the target's power and the cable; nothing more was read"
                found.append(bad("answers", str(error), advice))
                self.lost = error if error.kind == "lost" else None
        return found

    def _findings(self, so_far: List[DoctorFinding]) -> Iterable[DoctorFinding]:
        power = _debug_power(self._connection)
        so_far.append(power)
        if power.verdict is Verdict.BAD:
            return []
        so_far.extend(_vendor(self._connection))
        so_far.append(_components(self._connection))
        record = self._record()
        if self._connection.path is None or self._is_empty(record):
            so_far.extend(_profile(self._connection))
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
        return [] if record is None else [*_shares(record), *_incidents(self._session, record)]

    def fix(self) -> Iterator[str]:
        """Apply the repairs in their order, each while something bad needs it."""

        for mend in Mend:
            ill = [one for one in self.findings() if one.verdict is Verdict.BAD and one.mend is mend]
            if not ill or self.lost is not None:
                continue
            subjects = ", ".join(dict.fromkeys(one.subject for one in ill))
            try:
                self.mend(mend)
            except EtmError as error:
                yield "%s: could not be mended: %s" % (subjects, error)
            else:
                yield "%s: %s" % (subjects, mend.value)

    def mend(self, mend: Mend) -> None:
        """Make one repair.

        :raises EtmError: It cannot be made.
        """
        actions: Dict[Mend, Callable[[], object]] = {
            Mend.DEBUG_POWER: self._connection.power_up,
            Mend.VENDOR: self._connection.enable_vendor,
            Mend.TRACE_ENABLE: lambda: self._connection.session().enable_trace(),
            Mend.ATTACH: self._connection.find_again,
            Mend.UNIT: lambda: self._connection.session().unit.recover(),
            Mend.LINKS: lambda: self._connection.session().open_links(),
            Mend.START: self._restart,
        }
        with self._connection.log.step("mend", (mend.name,)):
            actions[mend]()

    def _restart(self) -> None:
        self._connection.restart()
        self._session.on_trace_start()

    def _record(self) -> Optional[CaptureRecord]:
        # The last capture, if it came from this connection's buffer.
        record = self._session.captures[-1] if self._session.captures else None
        return record if record is not None and record.is_live else None

    def _is_empty(self, record: Optional[CaptureRecord]) -> Optional[bool]:
        if record is None:
            return None
        return record.instructions == 0 or not record.capture.buffer and not _is_raw(record)


def _debug_power(connection: TargetConnection) -> DoctorFinding:
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
    for state in connection.vendor_states():
        enable = state.enable
        proof = "%s 0x%08x: %s" % (enable, state.found, enable.why or "as the profile wants it")
        if state.is_right:
            yield ok("vendor enable", proof)
        else:
            wanted = "%s 0x%08x: its bits 0x%08x must be 0x%08x" % (enable, state.found, enable.mask, enable.value)
            yield bad("vendor enable", "%s (%s)" % (wanted, enable.why) if enable.why else wanted, mend=Mend.VENDOR)


def _profile(connection: TargetConnection) -> Iterator[DoctorFinding]:
    # Where there is no trace a profile may be what is missing: some can only be chosen, as nobody says their ID.
    if connection.profile is None:
        names = [name for name in library.built_in() if library.load(name).part_id is None]
        ids = ", ".join("designer 0x%03x part 0x%03x" % each for each in connection.part_ids) or "none"
        advice = "if it is one of these, etm connect --profile NAME: %s" % ", ".join(names)
        proof = "no profile has this chip's ID (ROM table: %s)" % ids
        yield DoctorFinding("profile", Verdict.UNKNOWN, proof, advice)
    elif connection.profile.notes:
        yield unknown("profile", "%s: %s" % (connection.profile.name, "; ".join(connection.profile.notes)))


def _components(connection: TargetConnection) -> DoctorFinding:
    subject = "components"
    # Each note begins with the address of what was passed over.
    silent = ", ".join(note.partition(" ")[0] for note in connection.discovery.notes)
    words = ["%d in the ROM tables answer" % len(connection.discovery.components)]
    words += ["%s: no answer" % silent] if silent else []
    if connection.path is None:
        words += [str(connection.failure)] if connection.failure is not None else []
        hangs = isinstance(connection.failure, AccessError) and connection.failure.kind == "timeout"
        advice = (
            NO_ANSWER if silent or hangs else "this chip may have no trace unit or buffer that a debugger can reach"
        )
        return bad(subject, "; ".join(words), advice, Mend.ATTACH)
    return ok(subject, "; ".join(words))


def _shares(record: CaptureRecord) -> Iterator[DoctorFinding]:
    subject = "last capture"
    size = len(record.capture.buffer)
    if _is_raw(record):
        yield ok(subject, "capture %d: %d bytes, of one source" % (record.number, size))
        return
    if not size:
        lost = next((note for note in record.capture.notes if _LOST_POWER in note), "")
        words = "capture %d is empty" % record.number
        yield bad(subject, "%s: %s" % (words, lost), _KEEP_POWER) if lost else bad(subject, words, _LET_RUN)
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


def _is_raw(record: CaptureRecord) -> bool:
    # A Micro Trace Buffer's, in which what runs straight on is no packet.
    return record.capture.format is BufferFormat.RAW


def _incidents(session: DebugSession, record: CaptureRecord) -> Iterator[DoctorFinding]:
    # What the history tells of the chip, once somebody has looked at it.
    if not record.is_decoded or not record.has_program or not record.capture.buffer:
        return
    events = session.decode(record).history.events
    resets = sum(isinstance(event, Exception_) and event.name in _RESETS for event in events)
    gaps = [event for event in events if isinstance(event, Gap) and event.reason in _DAMAGE]
    if resets:
        words = "capture %d: the core was reset %s while it was traced" % (record.number, plural(resets, "time"))
        advice = "if nobody did: a watchdog; feed it, or freeze it while the core is halted (STM32: DBGMCU_APBxFZ)"
        yield DoctorFinding(HISTORY, Verdict.UNKNOWN, words, advice)
    if gaps:
        words = "capture %d: %s, the first at offset %d: %s"
        proof = words % (record.number, plural(len(gaps), "gap"), gaps[0].offset, gaps[0].reason.value)
        advice = "another program than the chip's, or trace lost on its way: start after clocks and power are set up"
        yield bad(HISTORY, proof, advice)


def _ids(found: Dict[int, int], size: int) -> str:
    shares = ["ID 0x%02x %.0f%%" % (trace_id, 100 * count / size) for trace_id, count in sorted(found.items())]
    return ", ".join(shares) + " of %d bytes" % size if shares else "%d bytes, but of no source" % size
