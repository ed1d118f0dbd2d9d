"""Snapshot folder -> captures.

A snapshot is a folder of ini files and binary dumps, as Arm Development Studio writes it and
OpenCSD's ``trc_pkt_lister`` reads it::

    snapshot.ini   [device_list] device0=cpu_0.ini ...   [trace] metadata=trace.ini   [pieces] metadata=pieces.ini
    cpu_0.ini      [device] name= class=core type=Cortex-M33   [regs] PC(size:32)=...   [dump] file= address= ...
    etm_0.ini      [device] name= class=trace_source type=ETM4   [regs] TRCCONFIGR(0x004)=...
    trace.ini      [trace_buffers] buffers=buffer0   [buffer0] name= file= format=
                   [source_buffers] etm_0=ETB_0   [core_trace_sources] cpu_0=etm_0
"""

from __future__ import annotations

from typing import Dict, List, Optional

from gdb_etm.capture import RawCapture
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot.devices import Device, read_device
from gdb_etm.snapshot.folder import ROOT_FILE, Folder
from gdb_etm.snapshot.ini import IniFile
from gdb_etm.snapshot.pieces import read_pieces
from gdb_etm.snapshot.trace import read_buffers, read_sources

# Section of ``snapshot.ini`` with how many bytes each file holds: what was cut since then is not read.
#
# Others pass over it, too.
SIZES = "sizes"
# Section of ``snapshot.ini`` that names the file with the buffer's parts, see ``pieces.py``.
PIECES = "pieces"

_MAX_DEVICES = 1 << 10


def read_snapshot(path: str, buffer: Optional[str] = None) -> List[RawCapture]:
    """Read a snapshot: one capture a trace buffer, the default first.

    :param path: The folder, or the ``snapshot.ini`` in it.
    :param buffer: The name of the only buffer that is wanted.
    :raises SnapshotError: When something is missing or makes no sense, with file and line.
    """
    return read_folder(Folder(path), buffer)


def read_folder(folder: Folder, buffer: Optional[str] = None) -> List[RawCapture]:
    """Read a snapshot folder that was opened, as :func:`read_snapshot` does."""
    snapshot = folder.ini(ROOT_FILE)
    _check_version(snapshot)
    folder.sizes = {entry.key: entry.number() for section in snapshot.select(SIZES.__eq__) for entry in section.entries}
    devices = _read_devices(folder, snapshot)
    metadata = snapshot.require("trace").require("metadata")
    trace = folder.ini(metadata.value, metadata)
    sources, unknown = read_sources(trace, devices)
    notes = tuple(note for device in devices.values() for note in device.notes) + unknown
    captures = read_buffers(folder, trace, sources, buffer)
    captures[0] = _with_pieces(folder, snapshot, captures[0])
    return [capture._replace(notes=notes + capture.notes) for capture in captures]


def _with_pieces(folder: Folder, snapshot: IniFile, capture: RawCapture) -> RawCapture:
    section = snapshot.get(PIECES)
    if section is None:
        return capture
    try:
        metadata = section.require("metadata")
        pieces = read_pieces(folder.ini(metadata.value, metadata), len(capture.buffer))
    except SnapshotError as error:
        note = "%s; the buffer is decoded as if it was read at one halt" % error
        return capture._replace(notes=capture.notes + (note,))
    return capture._replace(pieces=pieces)


def _read_devices(folder: Folder, snapshot: IniFile) -> Dict[str, Device]:
    devices: Dict[str, Device] = {}
    for entry in snapshot.require("device_list").entries:
        if len(devices) == _MAX_DEVICES:
            raise entry.error("more than %d devices" % _MAX_DEVICES)
        device = read_device(folder, entry)
        if device.name in devices:
            raise entry.error("a second device of name %r" % device.name)
        devices[device.name] = device
    return devices


def _check_version(snapshot: IniFile) -> None:
    section = snapshot.get("snapshot")
    version = section.get("version") if section else None
    if version is not None and version.value not in ("1", "1.0"):
        raise version.error("snapshot version %s is not known; 1.0 is" % version.value)
