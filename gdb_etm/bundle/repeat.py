"""A bundle without hardware: connect, plan, drain, decode and doctor once more.

What differs from the record is told, with where; nothing is guessed after that.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

from gdb_etm.access.playback import Playback
from gdb_etm.access.recording import DEBUG_PORT, PortAccess, RecordedStep
from gdb_etm.bundle.collect import kept_capture, kept_finding
from gdb_etm.bundle.contents import Bundle, KeptCapture, KeptFinding
from gdb_etm.capture import Core, MemoryImage, RawCapture
from gdb_etm.coresight.romtable import Space
from gdb_etm.errors import CaptureError, EtmError, plain
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.doctor import HISTORY, Doctor
from gdb_etm.session.session import DebugSession
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.traceunit.doctor.findings import Mend
from gdb_etm.views.schema import document
from gdb_etm.views.text import plural
from gdb_etm.views.verdict import verdict_lines, verdict_objects

_NUMBER = re.compile(r"capture (\d{1,4})\Z")
# What stands in the record for a text that is nobody's business.
_TAKEN_OUT = ("(path)", "(name)")


class RecordedConnection(TargetConnection):
    """A connection whose hardware is a record.

    :param bundle: Of which.
    :param playback: Its record.
    """

    def __init__(self, bundle: Bundle, playback: Playback) -> None:
        origin = bundle.origin
        core = None if origin.core is None else Core("cpu_0", plain(origin.core), {})
        spaces = [Space(playback.port(number), rom) for number, rom in enumerate(origin.tables)]
        super().__init__(plain(origin.name), plain(origin.probe), core, spaces, None)
        self._playback = playback
        self._has_debug_port = any(access.operation == DEBUG_PORT for step in bundle.steps for access in step.accesses)

    def debug_port(self) -> Optional[int]:
        """Give the debug port's CTRL/STAT register as it was read."""
        if not self._has_debug_port:
            return None
        value = self._playback.take(PortAccess(DEBUG_PORT, 0, 0, None))
        assert isinstance(value, int)
        return value


class RepeatedStep(NamedTuple):
    """A step that was repeated."""

    name: str
    # Accesses to the hardware that are recorded of it.
    accesses: int
    # What came of it.
    text: str


class Repetition:
    """A bundle that is repeated.

    :param bundle: Of which.
    :param files: ELF files with the program, which the bundle may not have.
    :raises ImageError: A file cannot be read.
    """

    def __init__(self, bundle: Bundle, files: Sequence[str] = ()) -> None:
        self.bundle = bundle
        self.playback = Playback(bundle.ports, bundle.steps)
        self.session = DebugSession(OfflineDebugger(files))
        self.connection = RecordedConnection(bundle, self.playback)
        self.session.connection = self.connection
        # What the doctor found.
        self.findings: List[KeptFinding] = []
        # What came out otherwise than it is recorded, a line each.
        self.differences: List[str] = []
        self._actions: Dict[str, Callable[[RecordedStep], Optional[str]]] = {
            "connect": self._connect,
            "vendor enable": self._vendor,
            "start": self._start,
            "program": self._program,
            "restart": self._restart,
            "mend": self._mend,
            "drain": self._drain,
            "stop": self._drain,
            "halt": self._halt,
            "doctor": self._doctor,
            "release": self._release,
        }

    def lines(self) -> Iterator[str]:
        """Repeat it, and say what came of each step."""
        versions = ", ".join("%s %s" % pair for pair in self.bundle.origin.versions.items())
        yield "%s through %s; %s" % (self.connection.name, self.connection.title, plain(versions))
        yield from ("note: " + note for note in self.bundle.notes)
        for step in self.steps():
            yield "%-8s %s: %s" % (step.name, plural(step.accesses, "access", "accesses"), step.text)
        yield from verdict_lines(self.findings)
        yield from self.playback.divergences
        yield from self.differences
        if not self.differences:
            yield "The same as recorded%s." % (", but for the accesses above" if self.playback.divergences else "")

    def steps(self) -> Iterator[RepeatedStep]:
        """Repeat it, until something comes out otherwise."""
        doctors = [step for step in self.bundle.steps if step.name == "doctor"]
        for number, step in enumerate(self.bundle.steps, 1):
            action = self._actions.get(step.name)
            if action is None or step.is_cut or (step.name == "doctor" and step is not doctors[-1]):
                self.playback.pass_over(step)
                continue
            text = self._repeat(step, "step %d (%s)" % (number, step.name), action)
            yield RepeatedStep(step.name, len(step.accesses), text)
            if self.differences:
                return

    def _repeat(self, step: RecordedStep, title: str, action: Callable[[RecordedStep], Optional[str]]) -> str:
        self.playback.enter(title, step)
        error: Optional[str] = None
        words = "done"
        try:
            words = action(step) or words
        except EtmError as found:
            error = str(found)
        if not _is_same(error, step.error):
            recorded = "it went well" if step.error is None else plain(step.error)
            self.differences.append("%s: %s; recorded: %s" % (title, error or "it goes well", recorded))
        self.playback.leave()
        return words if error is None else error

    def _connect(self, step: RecordedStep) -> str:
        self.connection.find(*step.asked)
        return self.connection.greeting()[0]

    def _vendor(self, step: RecordedStep) -> None:
        self.connection.enable_vendor()

    def _start(self, step: RecordedStep) -> str:
        lines = self.connection.start(*step.asked)
        self.session.on_trace_start()
        return lines[0]

    def _program(self, step: RecordedStep) -> None:
        self.connection.program(*step.asked)

    def _restart(self, step: RecordedStep) -> None:
        self.connection.restart()

    def _mend(self, step: RecordedStep) -> str:
        mend = Mend.__members__.get(step.asked[0])
        if mend is None:
            raise CaptureError("no repair is called %r" % step.asked[0][:40])
        Doctor(self.session, self.connection).mend(mend)
        return mend.value

    def _halt(self, step: RecordedStep) -> None:
        self.connection.halt_trace()

    def _release(self, step: RecordedStep) -> None:
        self.connection.release()

    def _drain(self, step: RecordedStep) -> str:
        name = step.asked[0]
        images = self.session.images() or self._images(name)
        drain = self.connection.stop if step.name == "stop" else self.connection.drain
        record = self.session.add(drain(images, name), "bundle", is_live=True)
        kept = next((each for each in self.bundle.captures if each.name == name), None)
        words = "%s, %s" % (name, plural(len(record.capture.buffer), "byte"))
        if kept is None:
            return words
        self._compare(record.capture, kept)
        return words + self._decode(record, kept)

    def _compare(self, capture: RawCapture, kept: KeptCapture) -> None:
        files = self._files(kept.name)
        if len(capture.buffer) != kept.size or files.get("trace.bin", capture.buffer) != capture.buffer:
            self.differences.append("%s: other bytes are drained than recorded" % kept.name)

    def _decode(self, record: CaptureRecord, kept: KeptCapture) -> str:
        if not record.has_program or not kept.digest:
            record.instructions = kept.instructions
            return "" if kept.instructions < 0 else "; without the program: %s were recorded" % _count(kept)
        found = kept_capture(record, self.session.decode(record).history)
        if found.digest != kept.digest:
            words = "%s: %s are decoded; recorded: %s, in another way or of another program"
            self.differences.append(words % (kept.name, _count(found), _count(kept)))
        return "; %s" % _count(found)

    def _doctor(self, step: RecordedStep) -> str:
        self.findings = [kept_finding(each) for each in Doctor(self.session, self.connection).findings()]
        if self.bundle.origin.has_ended:
            return plural(len(self.findings), "line")
        expected = [each for each in self.bundle.findings if each.subject != HISTORY or self._has_program]
        for number, (now, then) in enumerate(zip(self.findings, expected), 1):
            if not all(_is_same(*pair) for pair in zip(now, then)):
                words = "line %d of the doctor: recorded as %s, %s: %s"
                self.differences.append(words % (number, plain(then.verdict), plain(then.subject), plain(then.proof)))
        if len(self.findings) != len(expected):
            self.differences.append("the doctor: %d lines were recorded" % len(expected))
        return plural(len(self.findings), "line")

    @property
    def _has_program(self) -> bool:
        return any(record.has_program for record in self.session.captures)

    def _images(self, name: str) -> Sequence[MemoryImage]:
        # The program, where the bundle has it.
        files = self._files(name)
        if not any(each.startswith("memory_") for each in files):
            return ()
        with tempfile.TemporaryDirectory() as folder:
            for each, data in files.items():
                with open(os.path.join(folder, each), "wb") as file:
                    file.write(data)
            return read_snapshot(folder)[0].sources[0].images

    def _files(self, name: str) -> Dict[str, bytes]:
        match = _NUMBER.match(name)
        return {} if match is None else dict(self.bundle.snapshots.get(int(match.group(1)), {}))


def repeated_object(repetition: Repetition) -> Dict[str, Any]:
    """Repeat a bundle, and make its object; a row is a step."""
    rows = [step._asdict() for step in repetition.steps()]
    origin = repetition.bundle.origin
    fields = {
        "target": repetition.connection.name,
        "versions": {name: plain(version) for name, version in origin.versions.items()},
        "notes": list(repetition.bundle.notes),
        "same": not repetition.differences,
        "differences": list(repetition.differences),
        "other_accesses": list(repetition.playback.divergences),
        "doctor": verdict_objects(repetition.findings),
    }
    return document("replay-bundle", {**fields, "rows": rows})


def _count(kept: KeptCapture) -> str:
    return plural(kept.instructions, "instruction")


def _is_same(now: Optional[str], then: Optional[str]) -> bool:
    # Where something was taken out of the text, what is left cannot be compared.
    if now is None or then is None:
        return now is then
    return now == then or any(mark in then for mark in _TAKEN_OUT)
