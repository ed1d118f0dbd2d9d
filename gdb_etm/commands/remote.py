"""``gdb-etm replay``: GDB's reverse execution for the shell, and the processes that GDB's commands start."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import List, Optional, Sequence

from gdb_etm.errors import CaptureError, EtmError
from gdb_etm.replay.target import Replay, Target
from gdb_etm.replay.wires import Door, Wire, serve

LISTENING = "In GDB: target remote localhost:%d"
"""What is printed once GDB may connect."""


def main(argv: Sequence[str]) -> int:
    """Run ``gdb-etm replay`` until GDB is gone.

    :param argv: Arguments after the word ``replay``.
    :returns: The exit status: 0, or 1 after an error that was told in one line.
    """
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN if arguments.port is None else signal.default_int_handler)
    try:
        wire = standard_wire() if arguments.port is None else None
        replay = _load(arguments.snapshot, arguments.elf, arguments.id)
        if wire is None:
            door = Door(arguments.port)
            print(LISTENING % door.number, flush=True)
            wire = door.admit()
            door.close()
        if wire is not None:
            serve(wire, Target(replay))
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "Replay a snapshot to GDB, both ways.  In GDB: target remote | gdb-etm replay SNAPSHOT --elf FILE"
    parser = argparse.ArgumentParser(prog="gdb-etm replay", description=about)
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="snapshot folder")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument("--id", metavar="N", type=lambda text: int(text, 0), help="the core with this trace ID")
    parser.add_argument("--port", metavar="PORT", type=port_number, help="serve on localhost; 0 takes a free port")
    return parser


def port_number(text: str) -> int:
    """Read a TCP port's number."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise ValueError(text)
    return value


def standard_wire() -> Wire:
    """Keep standard input and output for GDB alone: whatever else prints goes to standard error."""
    reader, writer = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Wire(reader, writer)


def _load(snapshot: str, files: List[str], trace_id: Optional[int]) -> Replay:
    from gdb_etm.commands.offline import OfflineDebugger
    from gdb_etm.commands.records import with_images
    from gdb_etm.commands.replaying import make_replay
    from gdb_etm.commands.session import Session
    from gdb_etm.program.image import load_elf
    from gdb_etm.snapshot.reader import read_snapshot

    debugger = OfflineDebugger(files)
    session = Session(debugger)
    images = tuple(image for name in files for image in load_elf(name))
    problem: EtmError = CaptureError("%s holds no trace" % snapshot)
    for capture in read_snapshot(snapshot):
        record = session.add(with_images(capture, images, first=True), "loaded from " + snapshot, is_live=False)
        try:
            return make_replay(session.decode(record, trace_id), debugger.function_at, files)
        except CaptureError as error:
            problem = error
    raise problem
