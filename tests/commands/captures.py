"""Big captures with several trace IDs, made of real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Dict

from gdb_etm.board.formatter import Formatter
from gdb_etm.capture import BufferFormat, RawCapture
from gdb_etm.history.build import parts
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.shared import capture_folder

_PIECE = 4096


def repeated(name: str, times: int, path: Path) -> str:
    """Write a snapshot with a repeated buffer; return its folder."""
    capture = read_snapshot(capture_folder(name))[0]
    write_snapshot(capture._replace(buffer=capture.buffer * times), str(path))
    return str(path)


def shared_by(name: str, ids: int, size: int) -> RawCapture:
    """Make a capture of several units with the same trace.

    :param ids: How many units; their trace IDs count from 0x20.
    :param size: How many bytes of each.
    """
    capture = read_snapshot(capture_folder(name))[0]
    part = max(parts(capture), key=lambda one: one.size)
    data = (part.stream.data * (size // part.size + 1))[:size]
    buffer = bytearray()
    formatter = Formatter(buffer.__iadd__)
    for at in range(0, size, _PIECE):
        for number in range(ids):
            formatter.write(0x20 + number, data[at : at + _PIECE])
    formatter.stop()
    sources = []
    for number in range(ids):
        registers: Dict[str, int] = dict(part.stream.source.registers, TRCTRACEIDR=0x20 + number)
        core = part.stream.source.core
        named = core._replace(name="cpu_%d" % number) if core is not None else None
        sources.append(part.stream.source._replace(name="ETM_%d" % number, registers=registers, core=named))
    return RawCapture(bytes(buffer), BufferFormat.FRAMES, tuple(sources), capture.end)
