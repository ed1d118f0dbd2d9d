"""What was saved, with its program: a snapshot's folder, or a dump."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Dict, Iterable, List, Optional, Sequence

from gdb_etm.capture import RawCapture
from gdb_etm.errors import CommandError
from gdb_etm.session.programs import with_programs

if TYPE_CHECKING:
    from gdb_etm.history.build import SourceStream
    from gdb_etm.history.store import ExecutionHistory
    from gdb_etm.session.progress import Meter


def read_captures(path: str, elf: Sequence[str], buffer: Optional[str] = None) -> List[RawCapture]:
    """Read a snapshot's folder, or a dump with a record in it.

    :param elf: ELF files with the program.
    :param buffer: The name of a snapshot's only trace buffer that is wanted.
    :raises SnapshotError: The folder cannot be read.
    :raises ImageError: A file cannot be read, or is another program than the one that ran.
    """
    # What a dump needs takes time to load, and so does a snapshot's reader.
    if os.path.isfile(path):
        from gdb_etm.session.dumps import captures_of

        return with_programs(captures_of(path, elf), elf)
    from gdb_etm.snapshot.reader import read_snapshot

    return with_programs(read_snapshot(path, buffer), elf)


def histories_of(capture: RawCapture, meter: Meter, trace_id: Optional[int]) -> Dict[int, ExecutionHistory]:
    """Decode a capture; what was read at several halts is one history.

    :param trace_id: Only this trace ID; None takes all.
    :raises CaptureError: Nothing in it can be decoded.
    :raises CommandError: There is no such trace ID.
    """
    from gdb_etm.history.build import DecoderCache, streams
    from gdb_etm.session.decoding import decode_capture

    if capture.pieces:
        from gdb_etm.session.captures import CaptureRecord

        record = CaptureRecord(1, capture, capture.name, False, meter)
        decoded = record.decoded((), DecoderCache(), None, trace_id)
        found = {one: each.history for one, each in decoded.items()}
    else:
        found = decode_capture(capture, meter, trace_id=trace_id)
    if not found:
        _check_id(trace_id, [stream.trace_id for stream in streams(capture)])
    return found


def streams_of(capture: RawCapture, meter: Meter, trace_id: Optional[int]) -> List[SourceStream]:
    """Take a capture apart by trace IDs.

    :param trace_id: Only this trace ID; None takes all.
    :raises CaptureError: Nothing in it can be decoded.
    :raises CommandError: There is no such trace ID.
    """
    from gdb_etm.history.build import all_streams
    from gdb_etm.session.decoding import taking_apart

    with taking_apart(capture, meter) as taken:
        found = all_streams(capture, taken.advance)
    _check_id(trace_id, [stream.trace_id for stream in found])
    return [stream for stream in found if trace_id in (None, stream.trace_id)]


def _check_id(wanted: Optional[int], found: Iterable[int]) -> None:
    known = list(dict.fromkeys(found))
    if wanted is not None and wanted not in known:
        names = ", ".join("0x%02x" % number for number in known) or "none"
        raise CommandError("no trace with ID 0x%02x; the snapshot has: %s" % (wanted, names))
