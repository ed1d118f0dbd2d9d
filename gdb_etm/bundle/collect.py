"""From a session to a bundle of its connection."""

from __future__ import annotations

import hashlib
import platform
import struct
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.access.recording import RecordedStep
from gdb_etm.bundle.contents import Bundle, BundleError, BundleOrigin, KeptCapture, KeptFinding
from gdb_etm.bundle.privacy import public_steps
from gdb_etm.capture import Core, RawCapture, TraceSource, with_images
from gdb_etm.errors import EtmError
from gdb_etm.history.store import ExecutionHistory, TracedInstruction
from gdb_etm.offline.installed import version
from gdb_etm.profiles.library import built_in
from gdb_etm.profiles.profile import Profile
from gdb_etm.protocols.elements import Gap
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.doctor import Doctor
from gdb_etm.session.session import DebugSession
from gdb_etm.snapshot.writer import snapshot_files
from gdb_etm.traceunit.doctor.findings import DoctorFinding, bad
from gdb_etm.traceunit.options import TraceOptions

# Bytes of a capture that is decoded for the sake of the bundle, and instructions whose addresses are summed up.
_DECODED, _MOST_SUMMED = 1 << 16, 1 << 19
# Captures of the last halts that are kept.
_MOST_CAPTURES = 16


def bundle_of(session: DebugSession, with_program: bool) -> Bundle:
    """Make a bundle of the connection.

    Without one, of the last one that ended.  The doctor looks once more.

    :param with_program: Whether the program's bytes and the core's registers at the halts go with it.
    :raises BundleError: Nothing was ever connected.
    """
    connection = session.connection or session.gone
    if connection is None:
        raise BundleError('nothing was connected, so there is nothing to tell. Try "etm connect"')
    records = _records(session, connection)
    captures = tuple(_kept(session, record) for record in records)
    findings = _findings(session, connection)
    steps, left = public_steps(connection.log.steps, with_program)
    notes = []
    if connection.log.dropped:
        notes.append("left out: %d older steps" % connection.log.dropped)
    if left:
        notes.append("left out: %d accesses to memory and to core registers" % left)
    return Bundle(
        _origin(session, connection),
        tuple(connection.log.ports),
        [_public(step, with_program) for step in steps],
        captures,
        tuple(kept_finding(each) for each in findings),
        tuple("0x%08x %s" % (each.address, each.name) for each in connection.discovery.components),
        tuple(notes),
        {record.number: _files(session, record, with_program) for record in records},
    )


def kept_finding(finding: DoctorFinding) -> KeptFinding:
    """Give what is kept of a finding."""
    return KeptFinding(finding.subject, finding.verdict.value, finding.proof, finding.advice)


def kept_capture(record: CaptureRecord, history: Optional[ExecutionHistory]) -> KeptCapture:
    """Give what is kept of a capture.

    :param history: Of its first core that has any; None where nobody has looked.
    """
    size = len(record.capture.buffer)
    if history is None:
        return KeptCapture(record.capture.name, record.instructions, "", size)
    digest = digest_of(history) if len(history) <= _MOST_SUMMED else ""
    return KeptCapture(record.capture.name, len(history), digest, size)


def digest_of(history: ExecutionHistory) -> str:
    """Sum up what ran: addresses, events, and gaps with their reasons."""
    summed = hashlib.sha256()
    for item in history.walk(1, len(history)):
        if isinstance(item, TracedInstruction):
            summed.update(struct.pack("<Q", item.address))
        else:
            summed.update((item.reason.name if isinstance(item, Gap) else type(item).__name__).encode("ascii"))
    return summed.hexdigest()


def _records(session: DebugSession, connection: TargetConnection) -> List[CaptureRecord]:
    # The captures whose drains are in the log.
    names = [step.asked[0] for step in connection.log.steps if step.name in ("drain", "stop") and step.asked]
    found = [record for record in session.captures if record.is_live and record.capture.name in names]
    return found[-_MOST_CAPTURES:]


def _kept(session: DebugSession, record: CaptureRecord) -> KeptCapture:
    if not record.capture.buffer or not (record.is_decoded or len(record.capture.buffer) <= _DECODED):
        return kept_capture(record, None)
    try:
        history = session.decode(record).history
    except EtmError:
        return kept_capture(record, None)
    return kept_capture(record, history if record.has_program else None)


def _findings(session: DebugSession, connection: TargetConnection) -> Sequence[DoctorFinding]:
    if session.connection is None:
        return [bad("connection", "it has ended", "etm connect")]
    return Doctor(session, connection).findings()


def _origin(session: DebugSession, connection: TargetConnection) -> BundleOrigin:
    versions: Dict[str, str] = {"gdb_etm": version(), "debugger": session.debugger.version()}
    versions["Python in it"] = platform.python_version()
    versions["system"] = "%s %s" % (platform.system(), platform.machine())
    versions.update(connection.versions())
    core = connection.core
    kind = None if core is None else core.type
    return BundleOrigin(
        versions, connection.name, connection.probe, kind, tuple(connection.tables), session.connection is None
    )


def _files(session: DebugSession, record: CaptureRecord, with_program: bool) -> Mapping[str, bytes]:
    capture = with_images(record.capture, session.images_for(record)) if with_program else record.capture
    end = record.anchored.end
    registers = dict(end.registers) if with_program and end is not None else {}
    sources = tuple(_public_source(source, with_program, registers) for source in capture.sources)
    public = RawCapture(capture.buffer, capture.format, sources, capture.end, capture.name)
    try:
        return snapshot_files(public)
    except EtmError:
        return {}  # the record of the drain has it, too


def _public_source(source: TraceSource, with_program: bool, registers: Mapping[str, int]) -> TraceSource:
    core = None if source.core is None else Core(source.core.name, source.core.type, registers)
    images = source.images if with_program and core is not None else ()
    return source._replace(core=core, images=images, marks=source.marks if with_program else ())


def _public(step: RecordedStep, with_program: bool) -> RecordedStep:
    made = RecordedStep(step.name, tuple(_without_words(each, with_program) for each in step.asked))
    made.accesses, made.error, made.is_cut = step.accesses, step.error, step.is_cut
    return made


def _without_words(asked: Any, with_program: bool) -> Any:
    # Events in the user's words hold symbols; a profile of the user's own holds what she says of her chip.
    if isinstance(asked, TraceOptions) and not with_program:
        asked = _replaced_rules(asked)
    if isinstance(asked, Profile) and asked.name not in built_in():
        asked = asked._replace(title="", sources=(), notes=())
    return asked


def _replaced_rules(options: TraceOptions) -> TraceOptions:
    rules: Tuple[Any, ...] = tuple(rule._replace(text="") for rule in options.rules)
    return replace(options, rules=rules)
