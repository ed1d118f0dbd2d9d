"""``trace.ini``: cores and buffers of the trace sources."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot.devices import Device
from gdb_etm.snapshot.folder import Folder
from gdb_etm.snapshot.ini import IniEntry, IniFile, Section

# Keys in a buffer's section, and their value: that the trace unit was programmed to leave nothing out, and that the
# debugger changed nothing while cores were halted in between.
OMITTED_KEY, CHANGED_KEY, NOTHING = "omitted", "changed", "nothing"

_MAX_BUFFERS = 1 << 6
# So many unknown devices are named in a note.
_TOLD = 4

# Device types of trace sources are a protocol name and, mostly, a version: "ETM4.2", "PTM1.1".
_PROTOCOLS = (("etm4", "etmv4"), ("etm3", "etmv3"), ("ptm1", "ptm"), ("pft1", "ptm"))


def read_sources(trace: IniFile, devices: Dict[str, Device]) -> Tuple[Dict[str, TraceSource], Tuple[str, ...]]:
    """Make the trace sources of the devices, each with its core.

    :returns: The sources by name, in the order of the device list, and notes.
    :raises SnapshotError: A device is none of the class that it should be.
    """
    cores: Dict[str, Device] = {}
    unknown: Dict[str, IniEntry] = {}
    for section in trace.select("core_trace_sources".__eq__):
        for entry in section.entries:
            core = _listed(devices, entry.key, "core", entry, unknown)
            for name in entry.words():
                source = _listed(devices, name, "trace_source", entry, unknown)
                if core is not None and source is not None:
                    cores[source.name] = core
    sources: Dict[str, TraceSource] = {}
    for device in devices.values():
        if device.kind != "trace_source":
            continue
        owner = cores.get(device.name)
        core_value = Core(owner.name, owner.type, owner.registers, owner.memory, owner.begin) if owner else None
        images = owner.images if owner else ()
        sources[device.name] = TraceSource(
            device.name, _protocol(device.type), device.registers, core_value, images, device.marks
        )
    for section in trace.select("source_buffers".__eq__):
        for entry in section.entries:
            _listed(devices, entry.key, "trace_source", entry, unknown)
    return sources, _unknown_devices(unknown)


def _listed(
    devices: Dict[str, Device], name: str, kind: str, origin: IniEntry, unknown: Dict[str, IniEntry]
) -> Optional[Device]:
    # The makers' own tools name every core of a chip, whichever of them the snapshot is of.
    device = devices.get(name)
    if device is None:
        unknown.setdefault(name, origin)
    elif device.kind != kind:
        raise origin.error("%r is a device of class %r, not %r" % (name, device.kind, kind))
    return device


def _unknown_devices(unknown: Dict[str, IniEntry]) -> Tuple[str, ...]:
    if not unknown:
        return ()
    names, first = list(unknown), next(iter(unknown.values()))
    more = " and %d more" % (len(names) - _TOLD) if len(names) > _TOLD else ""
    return (str(first.error("not in the device list, and passed over: %s%s" % (", ".join(names[:_TOLD]), more))),)


def _protocol(device_type: str) -> str:
    lowered = device_type.lower()
    for prefix, protocol in _PROTOCOLS:
        if lowered.startswith(prefix):
            return protocol
    return lowered


def read_buffers(
    folder: Folder, trace: IniFile, sources: Dict[str, TraceSource], wanted: Optional[str] = None
) -> List[RawCapture]:
    """Read the trace buffers; an unreadable one leaves a note.

    :param sources: All trace sources by name.
    :param wanted: The name of the only one that is.
    :raises SnapshotError: None can be read.
    """
    entry = trace.require("trace_buffers").require("buffers")
    words = entry.words()
    if not words:
        raise entry.error("no buffer is named")
    if len(words) > _MAX_BUFFERS:
        raise entry.error("%d buffers; at most %d are read" % (len(words), _MAX_BUFFERS))
    held = _sources_in(trace, sources)
    captures: List[RawCapture] = []
    failures: List[SnapshotError] = []
    for name, section in _sections(trace, entry, words, wanted, failures):
        inside = tuple(sources.values() if held is None else held.get(name, {}).values())
        try:
            captures.append(_read_buffer(folder, section, inside))
        except SnapshotError as error:
            failures.append(error)
    if not captures:
        raise failures[0]
    notes = tuple(map(str, failures))
    return [
        one._replace(name="%s, buffer %s" % (folder.path, one.name) if len(words) > 1 else folder.path, notes=notes)
        for one in captures
    ]


def _sections(
    trace: IniFile, entry: IniEntry, words: List[str], wanted: Optional[str], failures: List[SnapshotError]
) -> List[Tuple[str, Section]]:
    # Of the buffers that are wanted, with their names.
    found: List[Tuple[str, Section]] = []
    for word in words:
        section = trace.get(word)
        try:
            if section is None:
                raise entry.error("no section [%s] for this buffer" % word)
            found.append((section.require("name").value, section))
        except SnapshotError as error:
            failures.append(error)
    if wanted is None:
        return found
    if wanted not in [name for name, _ in found]:
        raise entry.error("no buffer %s; there are: %s" % (wanted, ", ".join(name for name, _ in found)))
    failures.clear()
    return [(name, section) for name, section in found if name == wanted]


def _read_buffer(folder: Folder, section: Section, sources: Tuple[TraceSource, ...]) -> RawCapture:
    format_entry = section.require("format")
    try:
        buffer_format = BufferFormat(format_entry.value.lower())
    except ValueError:
        known = ", ".join(sorted(known.value for known in BufferFormat))
        raise format_entry.error("buffer format %r is not known (%s are)" % (format_entry.value, known)) from None
    _, data = folder.binary(section.require("file"))
    return RawCapture(
        data,
        buffer_format,
        sources,
        _buffer_end(section),
        section.require("name").value,
        is_whole=is_nothing(section, OMITTED_KEY),
        is_untouched=is_nothing(section, CHANGED_KEY),
    )


def is_nothing(section: Section, key: str) -> bool:
    """Tell whether a key says that nothing was left out, or changed.

    Only our own writer has such keys.

    :raises SnapshotError: It says something else.
    """
    entry = section.get(key)
    if entry is not None and entry.value.lower() != NOTHING:
        raise entry.error("%r is not known" % entry.value)
    return entry is not None


def _sources_in(trace: IniFile, sources: Dict[str, TraceSource]) -> Optional[Dict[str, Dict[str, TraceSource]]]:
    # By the buffers' names.  None where nothing says what is where: then the trace IDs decide.
    sections = trace.select("source_buffers".__eq__)
    if not sections:
        return None
    found: Dict[str, Dict[str, TraceSource]] = {}
    for section in sections:
        for entry in section.entries:
            for name in entry.words():
                if entry.key in sources:
                    found.setdefault(name, {})[entry.key] = sources[entry.key]
    return found


def _buffer_end(section: Section) -> BufferEnd:
    # Only our own writer says it; other readers pass over a key that they do not know.
    entry = section.get("oldest")
    return BufferEnd.UNKNOWN if entry is None else read_end(entry)


def read_end(entry: IniEntry) -> BufferEnd:
    """Read why a buffer's oldest byte is the oldest.

    :raises SnapshotError: No such reason is known.
    """
    try:
        return BufferEnd[entry.value.upper()]
    except KeyError:
        raise entry.error("%r is not known" % entry.value) from None
