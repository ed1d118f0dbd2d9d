"""Captures saved in snapshot folders, and loaded from them."""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional, Sequence

from gdb_etm.capture import with_images
from gdb_etm.errors import CommandError
from gdb_etm.session.anchor import ram_in_use
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.halt_states import with_anchored
from gdb_etm.session.programs import differences_of, named_files, with_programs
from gdb_etm.session.session import DebugSession


class LoadedSnapshot(NamedTuple):
    """What came of a snapshot folder."""

    captures: List[CaptureRecord]
    # What the debugger said of the program files.
    lines: List[str]
    # What to know of the captures.
    notes: List[str]


def save(session: DebugSession, record: CaptureRecord, path: str, replace: bool) -> List[str]:
    """Write a capture as a snapshot folder.

    The program and the states of the core go with it.

    :param replace: Whether a snapshot that is there gives way, once this one is written.
    :returns: The paths of the files.
    :raises CommandError: The folder holds something else.
    :raises SnapshotError: It cannot be written.
    """
    from gdb_etm.snapshot.writer import write_snapshot

    if os.path.isdir(path) and os.listdir(path) and not os.path.isfile(os.path.join(path, "snapshot.ini")):
        raise CommandError("%s is not empty and no snapshot; name a new folder" % path)
    capture = with_images(record.capture, session.images_for(record))
    end = record.anchored.end
    if record.is_live:
        if end is not None:
            with session.meter.task("reading the RAM that the program uses"):
                end.keep(ram_in_use(session.images(), end.registers))
        capture = with_anchored(capture, record.anchored)
    return list(write_snapshot(capture, path, replace=replace))


def load(session: DebugSession, path: str, elf: Sequence[str], buffer: Optional[str] = None) -> LoadedSnapshot:
    """Read a snapshot folder as captures; the first becomes current.

    :param elf: ELF files with the program.
    :param buffer: The name of the only trace buffer that is wanted.
    :raises SnapshotError: The folder cannot be read.
    :raises ImageError: An ELF file cannot be read, or is another program than the one whose code the snapshot holds.
    :raises CommandError: An ELF file is not there.
    """
    from gdb_etm.snapshot.reader import read_snapshot

    files = named_files(elf)
    captures = read_snapshot(path, buffer)
    mine = [name for name in session.debugger.program_files() if name not in files]
    filled = with_programs(captures, files)
    lines = list(session.debugger.load_files(files))
    left = [name for name in session.debugger.program_files() if name in mine]
    doubts = [difference for difference in differences_of(captures[0], left) if difference.path in left]
    records = [session.add(capture, "loaded from " + path, is_live=False) for capture in filled]
    session.current = records[0]
    return LoadedSnapshot(records, lines, [*filled[0].notes, *map(str, doubts)])
