"""Snapshot writer: the form that ``reader.py`` and OpenCSD's ``trc_pkt_lister`` read."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import Dict, Iterable, List, Mapping, Tuple
from urllib.parse import quote

from gdb_etm.capture import BufferEnd, Core, MemoryImage, RawCapture, TraceSource, disjoint
from gdb_etm.errors import SnapshotError
from gdb_etm.registers import etmv3_page, etmv4_page, ptm
from gdb_etm.snapshot.devices import BEGIN, BEGIN_DUMP, EVENTS, STATE_KEY
from gdb_etm.snapshot.folder import ROOT_FILE
from gdb_etm.snapshot.folder_writer import put_files
from gdb_etm.snapshot.pieces import pieces_lines
from gdb_etm.snapshot.reader import PIECES, SIZES
from gdb_etm.snapshot.trace import CHANGED_KEY, NOTHING, OMITTED_KEY

_BUFFER = "ETB_0"
_Memory = Tuple[int, bytes]
_PAGES = {"etmv4": etmv4_page.PAGE, "etmv3": etmv3_page.PAGE, "ptm": ptm.PAGE}

# What could be taken for part of the ini syntax, and blanks at the ends, which are stripped when read.
_UNSAFE = re.compile(r"[\x00-\x1f;#=,()\[\]\"']|^$|^\s|\s$")

# Of what is percent-encoded elsewhere, what can stand in a value.
_PLAIN = " !$&()*+,/:<=>?@[]^{|}"


def write_snapshot(capture: RawCapture, path: str, replace: bool = False) -> List[str]:
    """Write a capture as a snapshot folder, all or nothing.

    The folder is made where there is none.

    :param replace: Whether a snapshot that is there already gives way, once the new one is written.
    :returns: The paths of the files written.
    :raises SnapshotError: When a file cannot be written, or the format has no way to say what the capture holds.
    """
    cores = _cores(capture, path)
    for number in count(1):
        # The files of a snapshot that is there stay until the new one is written.
        files = _files(capture, cores, "" if number == 1 else "_%d" % number)
        if not any(os.path.lexists(os.path.join(path, name)) for name in files if name != ROOT_FILE):
            break
    return put_files(path, files, replace)


def snapshot_files(capture: RawCapture) -> Dict[str, bytes]:
    """Make the files of a snapshot by name, to be kept elsewhere.

    :raises SnapshotError: The format has no way to say what the capture holds.
    """
    return _files(capture, _cores(capture, capture.name), "")


def _files(
    capture: RawCapture, cores: Mapping[str, Tuple[Core, Tuple[MemoryImage, ...]]], mark: str
) -> Dict[str, bytes]:
    # All files by name; each name holds the mark, but the one that names the others, which is the last.
    buffer, trace = "trace%s.bin" % mark, "trace%s.ini" % mark
    files: Dict[str, bytes] = {buffer: capture.buffer}
    names = _name_images(cores, files, mark)
    devices = {}
    for index, (core, images) in enumerate(cores.values()):
        devices["cpu_%d%s.ini" % (index, mark)] = _core_ini(core, images, names)
    for index, source in enumerate(capture.sources):
        devices["source_%d%s.ini" % (index, mark)] = _source_ini(source)
    files.update(devices)
    files[trace] = _text(_trace_lines(capture, buffer))
    pieces = "pieces%s.ini" % mark if capture.pieces else ""
    if pieces:
        files[pieces] = _text(pieces_lines(capture.pieces))
    sizes = {name: len(data) for name, data in files.items()}
    files[ROOT_FILE] = _text(_snapshot_lines(devices, trace, pieces, sizes))
    return files


def _cores(capture: RawCapture, path: str) -> Dict[str, Tuple[Core, Tuple[MemoryImage, ...]]]:
    # The format keeps memory with cores and names everything, so a capture must be sayable in these words.
    cores: Dict[str, Tuple[Core, Tuple[MemoryImage, ...]]] = {}
    taken = set()
    for source in capture.sources:
        for name in (source.name, source.protocol, *source.registers):
            _check_name(name, path)
        if source.name in taken:
            raise SnapshotError("two trace sources of name %r" % source.name, path)
        taken.add(source.name)
        if source.core is None:
            if source.images:
                raise SnapshotError("trace source %r has memory but no core to keep it with" % source.name, path)
            continue
        beginning = source.core.begin.registers if source.core.begin is not None else ()
        for name in (source.core.name, source.core.type, *source.core.registers, *beginning):
            _check_name(name, path)
        entry = (source.core, tuple(disjoint(source.core.memory + source.images)))
        if cores.setdefault(source.core.name, entry) != entry:
            raise SnapshotError("two trace sources disagree about core %r" % source.core.name, path)
    both = taken.intersection(cores)
    if both:
        raise SnapshotError("%r names both a core and a trace source" % both.pop(), path)
    return cores


def _check_name(name: str, path: str) -> None:
    if _UNSAFE.search(name) or not name.isprintable():
        raise SnapshotError("%r cannot be a name in a snapshot" % name, path)


def _name_images(
    cores: Mapping[str, Tuple[Core, Tuple[MemoryImage, ...]]], files: Dict[str, bytes], mark: str
) -> Dict[_Memory, str]:
    # One file for each different piece of memory: the cores of a cluster mostly share theirs.  Pieces of the same bytes
    # at other addresses have files of their own: OpenCSD reads a file at the first address that it is given for.
    names: Dict[_Memory, str] = {}
    for core, images in cores.values():
        for image in images + (core.begin.memory if core.begin is not None else ()):
            piece = image.address, image.data
            if piece not in names:
                names[piece] = "memory_%d_%x%s.bin" % (len(names), image.address, mark)
                files[names[piece]] = image.data
    return names


def _core_ini(core: Core, images: Tuple[MemoryImage, ...], names: Mapping[_Memory, str]) -> bytes:
    lines = ["[device]", "name=%s" % core.name, "class=core", "type=%s" % core.type]
    if core.registers:
        lines += _register_lines("regs", core.registers)
    lines += _dump_lines("dump", images, names)
    changed = ["dump%d" % number for number, image in enumerate(images, 1) if image in core.memory]
    if changed:
        lines += ["", "[%s]" % STATE_KEY[0], "%s=%s" % (STATE_KEY[1], ",".join(changed))]
    if core.begin is not None:
        lines += _register_lines(BEGIN, core.begin.registers)
        lines += _dump_lines(BEGIN_DUMP, core.begin.memory, names)
    return _text(lines)


def _register_lines(section: str, registers: Mapping[str, int]) -> List[str]:
    # Tools take a register for 32 bits wide unless the file says otherwise.
    lines = ["", "[%s]" % section]
    for name, value in registers.items():
        lines.append("%s%s=0x%08X" % (name.upper(), "(size:64)" if value >> 32 else "", value))
    return lines


def _dump_lines(section: str, images: Iterable[MemoryImage], names: Mapping[_Memory, str]) -> List[str]:
    lines: List[str] = []
    for number, image in enumerate(images, 1):
        lines += ["", "[%s%d]" % (section, number), "file=%s" % names[image.address, image.data]]
        lines += ["address=0x%08X" % image.address, "length=0x%X" % len(image.data)]
    return lines


def _source_ini(source: TraceSource) -> bytes:
    lines = ["[device]", "name=%s" % source.name, "class=trace_source", "type=%s" % _device_type(source)]
    if source.registers:
        lines += ["", "[regs]"]
        lines += ["%s=0x%08X" % (_register_key(source, name), value) for name, value in source.registers.items()]
    if source.marks:
        lines += ["", "[%s]" % EVENTS, *("%d=%s" % (number, quote(text, safe=_PLAIN)) for number, text in source.marks)]
    return _text(lines)


def _device_type(source: TraceSource) -> str:
    # ETMIDR, bits 11:8 and 7:4: the architecture's version, counted from 2 for ETMv3 and from 3 for PTM.
    version = source.registers.get("ETMIDR", 0)
    major, minor = version >> 8 & 0xF, version >> 4 & 0xF
    if source.protocol == "etmv4":
        return "ETM4"
    if source.protocol == "etmv3":
        return "ETM%d.%d" % (major + 1, minor) if major == 2 else "ETM3.5"
    if source.protocol == "ptm":
        return "PTM1.%d" % minor
    return source.protocol.upper()


def _register_key(source: TraceSource, name: str) -> str:
    # With its number, as debuggers write it: the offset in words.
    page = _PAGES.get(source.protocol)
    if page is None or name not in page.by_name:
        return name
    return "%s(0x%03X)" % (name, page.by_name[name].offset // 4)


def _snapshot_lines(devices: Iterable[str], trace: str, pieces: str, sizes: Mapping[str, int]) -> List[str]:
    # What is needed most stands last: of a file that is cut nothing is read.
    lines = ["[snapshot]", "version=1.0", "", "[%s]" % SIZES]
    lines += ["%s=%d" % size for size in sizes.items()] + ["", "[device_list]"]
    lines += ["device%d=%s" % (index, name) for index, name in enumerate(devices)]
    lines += ["", "[%s]" % PIECES, "metadata=%s" % pieces] if pieces else []
    return lines + ["", "[trace]", "metadata=%s" % trace]


def _trace_lines(capture: RawCapture, buffer: str) -> List[str]:
    lines = ["[trace_buffers]", "buffers=buffer0", "", "[buffer0]", "name=%s" % _BUFFER, "file=%s" % buffer]
    lines.append("format=%s" % capture.format.value)
    if capture.end is not BufferEnd.UNKNOWN:
        lines.append("oldest=%s" % capture.end.name.lower())
    for key, is_nothing in ((OMITTED_KEY, capture.is_whole), (CHANGED_KEY, capture.is_untouched)):
        lines += ["%s=%s" % (key, NOTHING)] if is_nothing else []
    lines += ["", "[source_buffers]"]
    lines += ["%s=%s" % (source.name, _BUFFER) for source in capture.sources]
    lines += ["", "[core_trace_sources]"]
    lines += ["%s=%s" % (source.core.name, source.name) for source in capture.sources if source.core]
    return lines


def _text(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8")
