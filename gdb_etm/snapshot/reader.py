"""Snapshot folder -> captures.

A snapshot is a folder of ini files and binary dumps, as Arm Development Studio writes it and
OpenCSD's ``trc_pkt_lister`` reads it::

    snapshot.ini   [device_list] device0=cpu_0.ini ...   [trace] metadata=trace.ini
    cpu_0.ini      [device] name= class=core type=Cortex-M33   [regs] PC(size:32)=...   [dump] file= address= ...
    etm_0.ini      [device] name= class=trace_source type=ETM4   [regs] TRCCONFIGR(0x004)=...
    trace.ini      [trace_buffers] buffers=buffer0   [buffer0] name= file= format=
                   [source_buffers] etm_0=ETB_0   [core_trace_sources] cpu_0=etm_0
"""

from __future__ import annotations

import os
import re
from typing import Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import unquote

from gdb_etm.capture import Beginning, BufferEnd, BufferFormat, Capture, Core, MemoryImage, TraceSource
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot.ini import Entry, IniFile, Section, parse_ini

STATE_KEY = "state", "dumps"
"""Section, and key in it, that names the dumps that hold what the program had changed by the time of the capture.

Others pass over it; OpenCSD reads no snapshot with a key that it does not know in the section of a dump.
"""

BEGIN = "begin"
"""Section of a core's file with its registers when the run began that the trace tells of; dumps of its memory at that
time are sections whose names begin with :data:`BEGIN_DUMP`.
"""

BEGIN_DUMP = "begin_dump"

OMITTED_KEY, CHANGED_KEY, NOTHING = "omitted", "changed", "nothing"
"""Keys in a buffer's section, and their value, that say that the trace unit was told to leave nothing out, and that the
debugger changed nothing while cores were halted in between."""

EVENTS = "events"
"""Section of a trace source's file with what the numbers of the events in its trace mean, percent-encoded.

Others pass over it, too.
"""

MAX_BYTES = 1 << 30
"""The most that is read from one folder, in bytes: far more than any trace buffer with its program."""

_MAX_INI_BYTES = 1 << 24

_EVENT = re.compile(r"[0-9]\Z")
# A snapshot comes from somebody else, and these words reach a terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# Device types of trace sources are a protocol name and, mostly, a version: "ETM4.2", "PTM1.1".
_PROTOCOLS = (("etm4", "etmv4"), ("etm3", "etmv3"), ("ptm1", "ptm"), ("pft1", "ptm"))


class _Device(NamedTuple):
    # One device file, read.
    name: str
    kind: str
    type: str
    registers: Dict[str, int]
    images: Tuple[MemoryImage, ...]
    memory: Tuple[MemoryImage, ...]
    notes: Tuple[str, ...]
    marks: Tuple[Tuple[int, str], ...]
    begin: Optional[Beginning]


class _Missing(SnapshotError):
    # A file that the snapshot names is not there.
    pass


class _Folder:
    # The only place that opens files: everything is inside the folder and within MAX_BYTES.

    def __init__(self, path: str) -> None:
        self.path = path
        self._left = MAX_BYTES
        self._parts: Dict[Tuple[str, int, int], bytes] = {}

    def ini(self, name: str, origin: Optional[Entry] = None) -> IniFile:
        path = self._file(name, origin)
        size = os.path.getsize(path)
        if size > _MAX_INI_BYTES:
            raise SnapshotError("%d bytes is too much for an ini file" % size, path)
        return parse_ini(self._read(path, 0, size).decode("utf-8", "replace"), path)

    def binary(self, origin: Entry, offset: int = 0, length: int = 0) -> Tuple[str, bytes]:
        # Length 0 means to the end of the file, as it does for OpenCSD.
        path = self._file(origin.value, origin)
        size = os.path.getsize(path)
        if offset > size or length > size - offset:
            raise origin.error("%d bytes from offset %d: the file holds %d" % (length, offset, size))
        length = length or size - offset
        # Several cores often share a dump: read it, and count it, once.
        key = (path, offset, length)
        if key not in self._parts:
            if length > self._left:
                raise origin.error("more than %d bytes in all" % MAX_BYTES)
            self._left -= length
            self._parts[key] = self._read(path, offset, length)
        return path, self._parts[key]

    def _file(self, name: str, origin: Optional[Entry]) -> str:
        # A snapshot comes from somebody else: its names must not lead out of its folder.
        if os.path.isabs(name) or os.pardir in name.replace("\\", "/").split("/"):
            message = "%r leads out of the snapshot folder" % name
            raise origin.error(message) if origin else SnapshotError(message, self.path)
        path = os.path.join(self.path, name)
        if not os.path.exists(path):
            if origin:
                raise _Missing("%s: no such file" % name, origin.path, origin.line)
            raise _Missing("no such file", path)
        if not os.path.isfile(path):
            raise origin.error("%s: not a file" % name) if origin else SnapshotError("not a file", path)
        return path

    def _read(self, path: str, offset: int, length: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise SnapshotError(error.strerror or str(error), path) from error


def read_snapshot(path: str) -> List[Capture]:
    """Read a snapshot folder: one capture for each of its trace buffers, the default buffer first.

    :param path: The folder, or the ``snapshot.ini`` in it.
    :raises SnapshotError: When something is missing or makes no sense, with file and line.
    """
    if os.path.basename(path) == "snapshot.ini":
        path = os.path.dirname(path) or "."
    folder = _Folder(path)
    snapshot = folder.ini("snapshot.ini")
    _check_version(snapshot)
    devices: Dict[str, _Device] = {}
    for entry in snapshot.require("device_list").entries:
        device = _read_device(folder, entry)
        if device.name in devices:
            raise entry.error("a second device of name %r" % device.name)
        devices[device.name] = device
    metadata = snapshot.require("trace").require("metadata")
    trace = folder.ini(metadata.value, metadata)
    sources = _read_sources(trace, devices)
    buffers = _buffer_sections(trace)
    notes = tuple(note for device in devices.values() for note in device.notes)
    captures = [_read_buffer(folder, trace, section, sources) for section in buffers]
    if len(captures) > 1:
        captures = [
            capture._replace(name="%s, buffer %s" % (path, section.require("name").value))
            for capture, section in zip(captures, buffers)
        ]
    return [capture._replace(notes=notes) for capture in captures]


def _check_version(snapshot: IniFile) -> None:
    section = snapshot.get("snapshot")
    version = section.get("version") if section else None
    if version is not None and version.value not in ("1", "1.0"):
        raise version.error("snapshot version %s is not known; 1.0 is" % version.value)


def _read_device(folder: _Folder, origin: Entry) -> _Device:
    ini = folder.ini(origin.value, origin)
    header = ini.require("device")
    kind = header.require("class").value.lower().replace(" ", "_")
    images, memory, notes = _read_dumps(folder, ini)
    begin, more = _read_begin(folder, ini, kind)
    # Of other devices, such as cross triggers, nothing more is asked.
    product = header.require("type").value if kind in ("core", "trace_source") else ""
    marks = tuple((int(entry.key), _CONTROL.sub("?", unquote(entry.value)))
                  for section in ini.select(EVENTS.__eq__) for entry in section.entries if _EVENT.match(entry.key))
    registers = _read_registers(ini, "regs", kind)
    return _Device(header.require("name").value, kind, product, registers, images, memory, notes + more, marks, begin)


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


def _read_begin(folder: _Folder, ini: IniFile, kind: str) -> Tuple[Optional[Beginning], Tuple[str, ...]]:
    # The state when the run began, and notes.
    registers = _read_registers(ini, BEGIN, kind) if kind == "core" else {}
    if not registers:
        return None, ()
    memory: List[MemoryImage] = []
    notes: List[str] = []
    for section in ini.select(lambda name: name.startswith(BEGIN_DUMP)):
        try:
            memory.append(_read_dump(folder, section))
        except _Missing as error:
            notes.append(str(error))
    return Beginning(registers, tuple(memory)), tuple(notes)


def _register_name(entry: Entry, kind: str) -> str:
    # "TRCIDR0(0x078)", "TRCIDR0(id:0x78)", "PC(size:64)": what is in parentheses is no part of the name.
    name = entry.key.partition("(")[0].strip()
    if not name:
        raise entry.error("no register name before the equals sign")
    return name.lower() if kind == "core" else name.upper()


def _read_dumps(
    folder: _Folder, ini: IniFile
) -> Tuple[Tuple[MemoryImage, ...], Tuple[MemoryImage, ...], Tuple[str, ...]]:
    # All dumps, those of them that hold what the program changes, and notes.
    # Snapshots are passed on without their (large, or secret) program: the packets can still be listed, and the
    # missing code shows as gaps.
    images: List[MemoryImage] = []
    memory: List[MemoryImage] = []
    notes: List[str] = []
    told = ini.get(STATE_KEY[0])
    states = None if told is None else told.get(STATE_KEY[1])
    changed = () if states is None else tuple(word.lower() for word in states.words())
    for section in ini.select(lambda name: name.startswith("dump")):
        try:
            images.append(_read_dump(folder, section))
        except _Missing as error:
            notes.append(str(error))
            continue
        if section.name.lower() in changed:
            memory.append(images[-1])
    return tuple(images), tuple(memory), tuple(notes)


def _read_dump(folder: _Folder, section: Section) -> MemoryImage:
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


def _read_sources(trace: IniFile, devices: Dict[str, _Device]) -> Dict[str, TraceSource]:
    # All trace sources by name, in the order of the device list.
    cores: Dict[str, _Device] = {}
    for section in trace.select("core_trace_sources".__eq__):
        for entry in section.entries:
            core = _listed(devices, entry.key, "core", entry)
            for name in entry.words():
                cores[_listed(devices, name, "trace_source", entry).name] = core
    sources: Dict[str, TraceSource] = {}
    for device in devices.values():
        if device.kind != "trace_source":
            continue
        owner = cores.get(device.name)
        core_value = Core(owner.name, owner.type, owner.registers, owner.memory, owner.begin) if owner else None
        images = owner.images if owner else ()
        sources[device.name] = TraceSource(
            device.name, _protocol(device.type), device.registers, core_value, images, device.marks)
    return sources


def _listed(devices: Dict[str, _Device], name: str, kind: str, origin: Entry) -> _Device:
    device = devices.get(name)
    if device is None:
        raise origin.error("%r is not in the device list" % name)
    if device.kind != kind:
        raise origin.error("%r is a device of class %r, not %r" % (name, device.kind, kind))
    return device


def _protocol(device_type: str) -> str:
    lowered = device_type.lower()
    for prefix, protocol in _PROTOCOLS:
        if lowered.startswith(prefix):
            return protocol
    return lowered


def _buffer_sections(trace: IniFile) -> List[Section]:
    names = trace.require("trace_buffers").require("buffers")
    sections = []
    for name in names.words():
        section = trace.get(name)
        if section is None:
            raise names.error("no section [%s] for this buffer" % name)
        sections.append(section)
    if not sections:
        raise names.error("no buffer is named")
    return sections


def _read_buffer(folder: _Folder, trace: IniFile, section: Section, sources: Dict[str, TraceSource]) -> Capture:
    name = section.require("name").value
    format_entry = section.require("format")
    try:
        buffer_format = BufferFormat(format_entry.value.lower())
    except ValueError:
        known = ", ".join(sorted(known.value for known in BufferFormat))
        raise format_entry.error("buffer format %r is not known (%s are)" % (format_entry.value, known)) from None
    _, data = folder.binary(section.require("file"))
    return Capture(
        data,
        buffer_format,
        _sources_in(trace, name, sources),
        _buffer_end(section),
        folder.path,
        is_whole=_is_nothing(section, OMITTED_KEY),
        is_untouched=_is_nothing(section, CHANGED_KEY),
    )


def _is_nothing(section: Section, key: str) -> bool:
    # Said by our own writer alone, as the next one is.
    entry = section.get(key)
    if entry is not None and entry.value.lower() != NOTHING:
        raise entry.error("%r is not known" % entry.value)
    return entry is not None


def _sources_in(trace: IniFile, buffer: str, sources: Dict[str, TraceSource]) -> Tuple[TraceSource, ...]:
    sections = trace.select("source_buffers".__eq__)
    if not sections:
        # Nothing says what is where: then anything may be anywhere, and the trace IDs will tell.
        return tuple(sources.values())
    chosen = []
    for section in sections:
        for entry in section.entries:
            if entry.key not in sources:
                raise entry.error("%r is not in the device list as a trace source" % entry.key)
            if buffer in entry.words():
                chosen.append(sources[entry.key])
    return tuple(chosen)


def _buffer_end(section: Section) -> BufferEnd:
    # Only our own writer says it; other readers pass over a key that they do not know.
    entry = section.get("oldest")
    if entry is None:
        return BufferEnd.UNKNOWN
    try:
        return BufferEnd[entry.value.upper()]
    except KeyError:
        raise entry.error("%r is not known" % entry.value) from None
