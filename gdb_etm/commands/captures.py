"""``etm captures``, ``etm save``, ``etm load``: captures at hand and in folders."""

from __future__ import annotations

import os
from typing import Iterable, Optional

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag, path
from gdb_etm.errors import CommandError
from gdb_etm.session.captures import KEPT
from gdb_etm.session.mtb_dumps import load_dump
from gdb_etm.session.numbers import count
from gdb_etm.session.session import DebugSession
from gdb_etm.session.snapshots import load, save
from gdb_etm.views.captures import CaptureRow, capture_lines
from gdb_etm.views.text import plural

_ALL = "all"


def _number(text: str) -> int:
    # 0 stands for all of them.
    return 0 if text == _ALL else count(text)


NUMBER = Argument("N|all", _number, "show capture N alone; all of a connection as one history again", choices=(_ALL,))
DIRECTORY = path("DIR", "the snapshot's folder", required=True)
FORCE = flag("-f", "replace a snapshot that is in the folder")
BUFFER = Argument("--buffer", str, "the trace buffer of this name, where the snapshot has several", "NAME")
FOLDER = path("DIR", "the snapshot's folder")
MTB = Argument("--mtb", str, "in place of a folder: an MTB's buffer: a file, or ADDRESS,SIZE in memory", "WHERE")
POSITION = Argument("--position", count, "with --mtb: what MTB_POSITION held", "VALUE")
ELF = path("--elf", "ELF file with the program; may be given more than once", "FILE", many=True)


def run_captures(session: DebugSession, values: Values) -> Iterable[str]:
    """List the captures, or choose one."""
    number = values.get(NUMBER)
    if number == 0:
        if session.joined is None:
            raise CommandError("no captures of a connection are at hand")
        session.show(session.joined.records[-1], is_alone=False)
        return ["the captures of the connection are one history"]
    if number is not None:
        for record in session.captures:
            if record.number == number:
                session.show(record)
                return ["capture %d: %s" % (number, session.summary(record))]
        known = ", ".join(str(record.number) for record in session.captures) or "none"
        raise CommandError("no capture %d; at hand: %s" % (number, known))
    if not session.captures:
        return ["no captures yet"]
    rows = []
    for record in session.captures:
        counted = record.instructions if record.capture.buffer else -1
        rows.append(CaptureRow(record.number, record is session.current, record.capture, counted, record.origin))
    return capture_lines(rows)


def run_save(session: DebugSession, values: Values) -> Iterable[str]:
    """Write the current capture as a snapshot folder."""
    path = values.get(DIRECTORY)
    assert path is not None
    record = session.look()
    written = save(session, record, path, replace=values.get(FORCE) is not None)
    return ["capture %d saved in %s: %s" % (record.number, path, ", ".join(os.path.basename(name) for name in written))]


def run_load(session: DebugSession, values: Values) -> Iterable[str]:
    """Read a snapshot folder as new captures."""
    path, dump, position = values.get(FOLDER), values.get(MTB), values.get(POSITION)
    if (path is None) == (dump is None):
        raise CommandError("a snapshot's folder, or --mtb with a file or ADDRESS,SIZE")
    if dump is not None:
        return _load_dump(session, dump, position, values)
    if position is not None:
        raise CommandError("--position goes with --mtb")
    return _load_folder(session, path or "", values)


def _load_dump(session: DebugSession, where: str, position: Optional[int], values: Values) -> Iterable[str]:
    loaded = load_dump(session, where, position, values.all(ELF))
    yield from loaded.lines
    yield "capture %d: %s" % (loaded.record.number, session.summary(loaded.record))
    for note in loaded.notes:
        yield "note: " + note


def _load_folder(session: DebugSession, path: str, values: Values) -> Iterable[str]:
    loaded = load(session, path, values.all(ELF), values.get(BUFFER))
    yield from loaded.lines
    for record in loaded.captures:
        names = ", ".join("%s (%s)" % (source.name, source.protocol) for source in record.capture.sources)
        size = plural(len(record.capture.buffer), "byte")
        yield "capture %d: %s of %s" % (record.number, size, names or "no source")
    for note in loaded.notes:
        yield "note: " + note


CAPTURES = Command(
    "captures",
    "List the captures at hand, or choose what is shown.",
    run_captures,
    details="Every halt while tracing is on makes one; those of a connection\n"
    'are one history, as far as "set etm history-limit" goes.  Of others the last %d are kept.  A capture that is\n'
    "chosen is shown alone, until the next halt." % KEPT,
    arguments=(NUMBER,),
    examples=(
        ("captures", "list them"),
        ("captures 3", "show the third alone"),
        ("captures all", "show their history again"),
    ),
)

SAVE = Command(
    "save",
    "Save the capture that is shown, with the program, as a snapshot folder.",
    run_save,
    details='Arm Development Studio, OpenCSD\'s trc_pkt_lister and "etm load" read such folders.\n'
    "The registers at the halt and at the beginning of the run are saved too.  So is the RAM that the program uses,\n"
    'if the target is still halted there; the RAM at the beginning, if "set etm anchor-memory on" had it read.',
    arguments=(DIRECTORY, FORCE),
    examples=(
        ("save /tmp/crash", "make the folder /tmp/crash"),
        ("save -f /tmp/crash", "replace it; the old snapshot stays until the new one is complete"),
    ),
)

LOAD = Command(
    "load",
    "Load a snapshot folder, or an MTB's buffer; no target is needed.",
    run_load,
    details="Firmware may put its MTB's buffer aside in a fault's handler, and MTB_POSITION with it.  In memory it is\n"
    "read through GDB: of a target, or of a core file.",
    arguments=(FOLDER, ELF, BUFFER, MTB, POSITION),
    examples=(
        ("load /tmp/crash", "look at what was saved"),
        ("load /tmp/capture --elf app.elf", "a capture without code"),
        ("load --mtb crash.bin --position 0x1e2c --elf app.elf", "a buffer that firmware has put aside"),
    ),
)
