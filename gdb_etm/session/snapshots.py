"""Captures saved in snapshot folders, and loaded from them."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import RecordedPiece, with_images
from gdb_etm.errors import CommandError
from gdb_etm.session.anchor import ram_in_use
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.halt_states import with_anchored
from gdb_etm.session.programs import differences_of, named_files, with_programs
from gdb_etm.session.session import DebugSession
from gdb_etm.snapshot.pieces import MAX_PIECES


class LoadedSnapshot(NamedTuple):
    """What came of a snapshot folder."""

    captures: List[CaptureRecord]
    # What the debugger said of the program files.
    lines: List[str]
    # What to know of the captures.
    notes: List[str]


class SavedHistory(NamedTuple):
    """What was written of a history."""

    # The number of the first capture that is in it.
    first: int
    # The paths of the files.
    paths: List[str]


def save(session: DebugSession, record: CaptureRecord, path: str, replace: bool, with_older: bool) -> SavedHistory:
    """Write a capture as a snapshot folder.

    The program and the states of the core go with it.

    :param with_older: Whether those before it go with it that are one history with it.
    :param replace: Whether a snapshot that is there gives way, once this one is written.
    :raises CommandError: The folder holds something else.
    :raises SnapshotError: It cannot be written.
    """
    from gdb_etm.snapshot.writer import write_snapshot

    if os.path.isdir(path) and os.listdir(path) and not os.path.isfile(os.path.join(path, "snapshot.ini")):
        raise CommandError("%s is not empty and no snapshot; name a new folder" % path)
    records = _consecutive(session, record) if with_older else [record]
    capture = with_images(record.capture, session.images_for(record))
    end = record.anchored.end
    if record.is_live:
        if end is not None:
            with session.meter.task("reading the RAM that the program uses"):
                end.keep(ram_in_use(session.images(), end.registers))
        capture = with_anchored(capture, record.anchored._replace(begin=records[0].anchored.begin))
    if len(records) > 1:
        buffer = b"".join(one.capture.buffer for one in records)
        capture = capture._replace(buffer=buffer, end=records[0].capture.end, pieces=tuple(map(_piece, records)))
    return SavedHistory(records[0].number, list(write_snapshot(capture, path, replace=replace)))


def _consecutive(session: DebugSession, record: CaptureRecord) -> List[CaptureRecord]:
    # As many before this one as there are of the same program that the trace unit traced in the same way.
    joined = session.joined.records if session.joined is not None else []
    if record not in joined:
        return [record]
    before = joined[: joined.index(record)][::-1]
    alike = list(takewhile(lambda one: _traced(one) == _traced(record), before[: MAX_PIECES - 1]))
    return [*alike[::-1], record]


def _traced(record: CaptureRecord) -> List[Tuple[object, ...]]:
    capture = record.capture
    return [(capture.format, one.name, one.registers, one.marks, one.images) for one in capture.sources]


def _piece(record: CaptureRecord) -> RecordedPiece:
    anchored, capture = record.anchored, record.capture
    return RecordedPiece(
        len(capture.buffer),
        capture.end,
        anchored.begin.registers if anchored.begin is not None else {},
        anchored.end.registers if anchored.end is not None else {},
        anchored.is_whole,
        anchored.is_untouched,
        capture.ran,
        record.origin,
        record.unseen,
        record.follows_untouched,
    )


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
