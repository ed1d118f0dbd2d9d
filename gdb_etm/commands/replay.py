"""``etm replay``: a snapshot as GDB's target, forward and backward, without hardware."""

from __future__ import annotations

import re
import subprocess
from typing import Iterator, List, Tuple

from gdb_etm.access.process import python_command
from gdb_etm.commands.captures import BUFFER, ELF
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import path
from gdb_etm.errors import ConnectError
from gdb_etm.replay.reliance import RELIED_ON
from gdb_etm.session.interpreter import interpreter
from gdb_etm.session.numbers import count
from gdb_etm.session.programs import named_files
from gdb_etm.session.session import DebugSession

SNAPSHOT = path("SNAPSHOT", "the snapshot's folder", required=True)
TRACE_ID = Argument("--id", count, "the core with this trace ID, where the snapshot has several", "N")

# What the process says in the end; before that it tells notes, with words of the snapshot.
_LISTENS = re.compile(r"In GDB: target remote (/.+|localhost:\d+)\Z")


def run_replay(session: DebugSession, values: Values) -> Iterator[str]:
    """Start the process that replays, and connect the debugger to it."""
    snapshot = values.get(SNAPSHOT)
    assert snapshot is not None
    files = named_files(values.all(ELF))
    connection = session.debugger.connection()
    if connection is not None:
        raise ConnectError('GDB is connected to %s: "disconnect" first' % connection)
    trace_id, buffer = values.get(TRACE_ID), values.get(BUFFER)
    words = [snapshot, "--socket", "--with-stdin"]
    words += ["--elf=%s" % name for name in files or session.debugger.program_files()]
    words += ["--%s=%s" % (name, session.settings[name]) for name in RELIED_ON if name in session.settings]
    words += [] if trace_id is None else ["--id=%d" % trace_id]
    words += [] if buffer is None else ["--buffer=%s" % buffer]
    process = _start(words)
    try:
        # By the time that it listens, it has compared program and snapshot.
        where, notes = _listens(process)
        yield from session.debugger.load_files(files)
        session.debugger.connect_replay(where)
    except BaseException:
        process.kill()
        raise
    yield from notes
    session.replays = session.debugger.connection()
    session.replayer = process
    yield 'replaying %s from its end: "reverse-step", "reverse-continue" and GDB\'s other commands' % snapshot


def _start(words: List[str]) -> "subprocess.Popen[str]":
    # The process lets one GDB in, and ends with it; it ends with us before that.
    return subprocess.Popen(
        python_command(interpreter(), "gdb_etm.beside.shell", words, "main_replay"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        start_new_session=True,
    )


def _listens(process: "subprocess.Popen[str]") -> Tuple[str, List[str]]:
    # Where GDB may connect, and what the user should know.
    assert process.stdout is not None and process.stderr is not None
    notes: List[str] = []
    for line in process.stdout:
        found = _LISTENS.match(line.strip())
        if found is not None:
            return found.group(1), notes
        notes.append(line.strip())
    lines = process.stderr.read().strip().splitlines()
    raise ConnectError(lines[-1].partition(": ")[2] if lines else "the process that replays ended")


REPLAY = Command(
    "replay",
    "Replay a snapshot to GDB, forward and backward.",
    run_replay,
    details=(
        "GDB is connected to the snapshot as to a target that is halted where the capture ends: its own commands go\n"
        "back and forth in it.  Registers and memory that are not known are unavailable; nothing can be written."
    ),
    arguments=(SNAPSHOT, ELF, TRACE_ID, BUFFER),
    examples=(
        ("replay /tmp/crash --elf app.elf", "then: reverse-step, reverse-continue, backtrace"),
        ("replay /tmp/crash", "with the program that GDB has"),
    ),
)
