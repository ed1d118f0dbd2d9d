"""Buffers of an MTB that firmware, or a debugger, has put aside.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 3.2.1.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.errors import CommandError
from gdb_etm.files import read_regular
from gdb_etm.program.image import load_elf
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.numbers import count, size
from gdb_etm.session.programs import named_files
from gdb_etm.session.session import DebugSession

_PACKET = 8
_WRAP = 1 << 2
# No MTB reaches more RAM.
_LARGEST = 1 << 24
_PLACE = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*,\s*(\S+)\s*\Z")


class LoadedDump(NamedTuple):
    """What came of a dumped buffer."""

    record: CaptureRecord
    # What the debugger said of the program files.
    lines: List[str]
    # What to know of the capture.
    notes: List[str]


def load_dump(session: DebugSession, where: str, position: Optional[int], elf: Sequence[str]) -> LoadedDump:
    """Make a capture of a dumped buffer.

    :param where: A file, or ``ADDRESS,SIZE`` in the memory that the debugger reads, of a core file too.
    :param position: MTB_POSITION as it was then; None: it is not known.
    :param elf: ELF files with the program.
    :raises CommandError: It is no buffer, or the position is not in it.
    :raises AccessError: The memory cannot be read.
    """
    place = _PLACE.match(where)
    if place is not None:
        wanted = size(place.group(2))
        _check(where, wanted, position)
        data = session.debugger.read_memory(count(place.group(1)), wanted)
    else:
        try:
            data = read_regular(where, _LARGEST)
        except OSError as error:
            raise CommandError("%s: %s" % (where, error.strerror))
        _check(where, len(data), position)
    files = named_files(elf)
    lines = list(session.debugger.load_files(files))
    images = tuple(image for path in files for image in load_elf(path)) or tuple(session.images())
    source = TraceSource("MTB_0", "mtb", {}, Core("cpu_0", "Cortex-M", {}), images)
    notes, end = [], BufferEnd.UNKNOWN
    if position is None:
        notes.append("without --position it is not known which packet is the oldest: they are taken as they lie")
    else:
        within = position & ~(_PACKET - 1) & len(data) - 1
        wrapped = bool(position & _WRAP)
        data = data[within:] + data[:within] if wrapped else data[:within]
        end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
    capture = RawCapture(data, BufferFormat.RAW, (source,), end, "the MTB's buffer in " + where, tuple(notes))
    return LoadedDump(session.add(capture, "loaded from " + where, is_live=False), lines, notes)


def _check(where: str, length: int, position: Optional[int]) -> None:
    if not length or length % _PACKET or length > _LARGEST:
        raise CommandError("%s: %d bytes are no buffer: packets have 8 bytes each" % (where, length))
    if position is not None and length & (length - 1):
        raise CommandError("%s: %d bytes are not the whole buffer, which has a power of two" % (where, length))
