"""``etm replay``: a snapshot as GDB's target, forward and backward, without hardware."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Iterator, List

from gdb_etm.commands.captures import ELF
from gdb_etm.commands.declare import Argument, Command, Completion, Values
from gdb_etm.commands.interpreter import interpreter
from gdb_etm.commands.parse import count
from gdb_etm.commands.session import Session
from gdb_etm.errors import CommandError, ConnectError
from gdb_etm.replay.reliance import RELIED_ON

SNAPSHOT = Argument("SNAPSHOT", os.path.expanduser, "the snapshot's folder", completion=Completion.FILE, required=True)
TRACE_ID = Argument("--id", count, "the core with this trace ID, where the snapshot has several", "N")

# Neither the working directory nor GDB's own Python decides what the process imports.
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from gdb_etm.commands import remote; "
_BOOT += "sys.exit(remote.main_replay(sys.argv[1:]))"
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
_LISTENS = re.compile(r"target remote (\S.*)$")


def run_replay(session: Session, values: Values) -> Iterator[str]:
    """Start the process that replays, and connect the debugger to it."""
    snapshot = values.get(SNAPSHOT)
    assert snapshot is not None
    files = values.all(ELF)
    for name in files:
        if not os.path.isfile(name):
            raise CommandError("--elf: no file %s" % name)
    connection = session.debugger.connection()
    if connection is not None:
        raise ConnectError('GDB is connected to %s: "disconnect" first' % connection)
    session.debugger.load_files([os.path.abspath(name) for name in files], replace=True)
    trace_id = values.get(TRACE_ID)
    words = [snapshot, "--socket", *("--elf=%s" % name for name in files or session.debugger.program_files())]
    words += ["--%s=%s" % (name, session.settings[name]) for name in RELIED_ON if name in session.settings]
    session.debugger.connect_replay(_start(words + ([] if trace_id is None else ["--id=%d" % trace_id])))
    session.replays = session.debugger.connection()
    yield 'replaying %s from its end: "reverse-step", "reverse-continue" and GDB\'s other commands' % snapshot


def _start(words: List[str]) -> str:
    # The process lets one GDB in, and ends with it.
    process = subprocess.Popen(
        [interpreter(), "-c", _BOOT, _PACKAGE_ROOT, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    found = _LISTENS.search(process.stdout.readline().strip())
    if found is None:
        lines = process.stderr.read().strip().splitlines()
        raise ConnectError(lines[-1].partition(": ")[2] if lines else "the process that replays ended")
    return found.group(1)


REPLAY = Command(
    "replay",
    "Replay a snapshot to GDB, forward and backward.",
    run_replay,
    details=(
        "GDB is connected to the snapshot as to a target that is halted where the capture ends: its own commands go\n"
        "back and forth in it.  Registers and memory that are not known are unavailable; nothing can be written."
    ),
    arguments=(SNAPSHOT, ELF, TRACE_ID),
    examples=(
        ("replay /tmp/crash --elf app.elf", "then: reverse-step, reverse-continue, backtrace"),
        ("replay /tmp/crash", "with the program that GDB has"),
    ),
)
