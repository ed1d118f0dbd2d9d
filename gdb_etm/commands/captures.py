"""``etm captures``, ``etm save``, ``etm load``: captures at hand and in folders."""

from __future__ import annotations

import os
from typing import Iterable

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag, path
from gdb_etm.errors import CommandError
from gdb_etm.session.captures import KEPT
from gdb_etm.session.dumps import DumpRequest, load_dump
from gdb_etm.session.numbers import count
from gdb_etm.session.session import DebugSession
from gdb_etm.session.snapshots import load, save
from gdb_etm.snapshot.pieces import MAX_PIECES
from gdb_etm.views.captures import CaptureRow, capture_lines
from gdb_etm.views.text import plural

_ALL = "all"


def _number(text: str) -> int:
    # 0 stands for all of them.
    return 0 if text == _ALL else count(text)


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise CommandError('"%s" is neither yes nor no' % text)
    return text == "yes"


NUMBER = Argument("N|all", _number, "show capture N alone; all of a connection as one history again", choices=(_ALL,))
DIRECTORY = path("DIR", "the snapshot's folder", required=True)
FORCE = flag("-f", "replace a snapshot that is in the folder")
BUFFER = Argument("--buffer", str, "the trace buffer of this name, where the snapshot has several", "NAME")
LOADED = path("PATH", "a snapshot's folder, or a dump: an ELF core file, Zephyr's, CrashCatcher's")
MEMORY = Argument("--memory", str, "where the trace is in memory: SYMBOL, or ADDRESS,SIZE", "WHERE")
RAW = path("--raw", "a file with a trace buffer's bytes", "FILE")
POSITION = Argument("--position", count, "the buffer's write pointer: MTB_POSITION, or an offset in bytes", "VALUE")
UNIT = Argument("--unit", str, "what traced: a file with its registers, their address, or mtb", "WHAT")
PROFILE = Argument("--profile", str, "the chip's profile, which may say what traced", "NAME")
FRAMED = Argument(
    "--framed", _yes_or_no, "whether the trace is in the formatter's frames", "yes|no", choices=("yes", "no")
)
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
    saved = save(session, record, path, values.get(FORCE) is not None, not session.is_alone)
    numbers = "%d" % record.number if saved.first == record.number else "%d to %d" % (saved.first, record.number)
    names = ", ".join(os.path.basename(name) for name in saved.paths)
    return ["%s %s saved in %s: %s" % ("capture" if saved.first == record.number else "captures", numbers, path, names)]


def run_load(session: DebugSession, values: Values) -> Iterable[str]:
    """Read a snapshot or trace left in memory as new captures."""
    path, raw, memory = values.get(LOADED), values.get(RAW), values.get(MEMORY)
    if raw is not None and (path is not None or memory is not None):
        raise CommandError("--raw is a buffer alone: neither a dump nor --memory goes with it")
    if path is None and raw is None and memory is None:
        raise CommandError("a snapshot's folder or a dump, or --memory, or --raw with a file")
    others = (memory, raw, values.get(POSITION), values.get(UNIT), values.get(PROFILE), values.get(FRAMED))
    if path is not None and not os.path.isfile(path):
        if any(one is not None for one in others):
            raise CommandError("%s is no dump: a snapshot's folder says itself what it holds" % path)
        return _load_folder(session, path, values)
    return _load_dump(session, DumpRequest(path, *others), values)


def _load_dump(session: DebugSession, request: DumpRequest, values: Values) -> Iterable[str]:
    loaded = load_dump(session, request, values.all(ELF))
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
    "Save the history that is shown, with the program, as a snapshot folder.",
    run_save,
    details='Arm Development Studio, OpenCSD\'s trc_pkt_lister and "etm load" read such folders.\n'
    "All captures of the connection go with it that are one history, at most %d; of others, and after\n"
    '"etm captures N", one capture.\n'
    "The registers at the halt and at the beginning of the run are saved too.  So is the RAM that the program uses,\n"
    'if the target is still halted there; the RAM at the beginning, if "set etm anchor-memory on" had it read.'
    % MAX_PIECES,
    arguments=(DIRECTORY, FORCE),
    examples=(
        ("save /tmp/crash", "make the folder /tmp/crash"),
        ("save -f /tmp/crash", "replace it; the old snapshot stays until the new one is complete"),
    ),
)

LOAD = Command(
    "load",
    "Load a snapshot folder, or trace that a crash has left; no target is needed.",
    run_load,
    details="A dump, or the memory that GDB's target has (of a core file too), holds the record of the black box\n"
    "(etm guide dumps), which says all that is needed.  Of other trace say where it is (--memory), what traced\n"
    "(--unit), and how far it was written (--position), if that is known.",
    arguments=(LOADED, ELF, BUFFER, MEMORY, RAW, POSITION, UNIT, PROFILE, FRAMED),
    examples=(
        ("load /tmp/crash", "look at what was saved"),
        ("load /tmp/capture --elf app.elf", "a capture without code"),
        ("load crash.core --elf app.elf", "what the black box kept, in a dump"),
        ("load --memory etm_blackbox", "the same in what GDB's target has"),
        ("load --memory 0x20001000,1K --unit mtb", "an MTB of which nothing else is known"),
        ("load --raw mtb.bin --unit mtb --position 0x1e2c", "a buffer that firmware has put aside"),
    ),
)
