"""Device file: a core's registers and memory, or a source's registers."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.capture import Beginning, MemoryImage
from gdb_etm.errors import plain
from gdb_etm.snapshot.folder import Folder, MissingFile
from gdb_etm.snapshot.ini import IniEntry, IniFile, Section

# Section, and key in it, that names the dumps that hold what the program had changed by the time of the capture.
#
# Others pass over it; OpenCSD reads no snapshot with a key that it does not know in the section of a dump.
STATE_KEY = "state", "dumps"

# Section of a core's file with its registers when the traced run began; dumps of its memory at that
# time are sections whose names begin with :data:`BEGIN_DUMP`.
BEGIN = "begin"

BEGIN_DUMP = "begin_dump"

# Section of a trace source's file with what the numbers of the events in its trace mean, percent-encoded.
#
# Others pass over it, too.
EVENTS = "events"

_EVENT = re.compile(r"[0-9]\Z")


class Device(NamedTuple):
    """One device file, read."""

    name: str
    # Its class, in lower case: ``"core"``, ``"trace_source"`` or another.
    kind: str
    # Empty for devices of other classes.
    type: str
    registers: Dict[str, int]
    # All memory that was dumped.
    images: Tuple[MemoryImage, ...]
    # That of it which the program changes.
    memory: Tuple[MemoryImage, ...]
    notes: Tuple[str, ...]
    # What the numbers of events mean.
    marks: Tuple[Tuple[int, str], ...]
    begin: Optional[Beginning]


def read_device(folder: Folder, origin: IniEntry) -> Device:
    """Read a device's file.

    :param origin: Where the device list names it.
    :raises SnapshotError: Something of it is missing or makes no sense.
    """
    ini = folder.ini(origin.value, origin)
    header = ini.require("device")
    kind = header.require("class").value.lower().replace(" ", "_")
    images, memory, notes = _read_dumps(folder, ini)
    begin, more = _read_begin(folder, ini, kind)
    # Of other devices, such as cross triggers, nothing more is asked.
    product = header.require("type").value if kind in ("core", "trace_source") else ""
    marks = tuple(
        _mark(entry) for section in ini.select(EVENTS.__eq__) for entry in section.entries if _EVENT.match(entry.key)
    )
    registers = _read_registers(ini, "regs", kind)
    return Device(header.require("name").value, kind, product, registers, images, memory, notes + more, marks, begin)


def _mark(entry: IniEntry) -> Tuple[int, str]:
    # Few snapshots have any.
    from urllib.parse import unquote

    return int(entry.key), plain(unquote(entry.value))


def _read_registers(ini: IniFile, name: str, kind: str) -> Dict[str, int]:
    registers: Dict[str, int] = {}
    for section in ini.select(name.__eq__):
        for entry in section.entries:
            register = _register_name(entry, kind)
            if register in registers:
                raise entry.error("register %s is there twice" % register)
            # Registers of a core may be vectors; those of a trace unit have at most 64 bits.
            registers[register] = entry.number(2048 if kind == "core" else 64)
    return registers


def _read_begin(folder: Folder, ini: IniFile, kind: str) -> Tuple[Optional[Beginning], Tuple[str, ...]]:
    # The state when the run began, and notes.
    registers = _read_registers(ini, BEGIN, kind) if kind == "core" else {}
    if not registers:
        return None, ()
    memory: List[MemoryImage] = []
    notes: List[str] = []
    for section in ini.select(lambda name: name.startswith(BEGIN_DUMP)):
        try:
            memory.append(_read_dump(folder, section))
        except MissingFile as error:
            notes.append(str(error))
    return Beginning(registers, tuple(memory)), tuple(notes)


def _register_name(entry: IniEntry, kind: str) -> str:
    # "TRCIDR0(0x078)", "TRCIDR0(id:0x78)", "PC(size:64)": what is in parentheses is no part of the name.
    name = entry.key.partition("(")[0].strip()
    if not name:
        raise entry.error("no register name before the equals sign")
    return name.lower() if kind == "core" else name.upper()


def _read_dumps(
    folder: Folder, ini: IniFile
) -> Tuple[Tuple[MemoryImage, ...], Tuple[MemoryImage, ...], Tuple[str, ...]]:
    # All dumps, those of them that hold what the program changes, and notes.
    # Snapshots are passed on without their (large, or secret) program: the packets can still be listed, and the
    # missing code shows as gaps.
    images: List[MemoryImage] = []
    memory: List[MemoryImage] = []
    notes: List[str] = []
    section = ini.get(STATE_KEY[0])
    states = None if section is None else section.get(STATE_KEY[1])
    changed = () if states is None else tuple(word.lower() for word in states.words())
    for section in ini.select(lambda name: name.startswith("dump")):
        try:
            images.append(_read_dump(folder, section))
        except MissingFile as error:
            notes.append(str(error))
            continue
        if section.name.lower() in changed:
            memory.append(images[-1])
    return tuple(images), tuple(memory), tuple(notes)


def _read_dump(folder: Folder, section: Section) -> MemoryImage:
    # The memory space ("EL2", "S", ...) is not asked for: trace of one core rarely meets two of them at one address.
    address = section.require("address")
    numbers = {"offset": 0, "length": 0}
    for key in numbers:
        entry = section.get(key)
        if entry is not None:
            numbers[key] = entry.number()
    path, data = folder.binary(section.require("file"), numbers["offset"], numbers["length"])
    start = address.number()
    if start + len(data) > 1 << 64:
        raise address.error("%d bytes from %s pass the end of memory" % (len(data), address.value))
    return MemoryImage(start, data, path)
