"""Big captures, made of real ones."""

from __future__ import annotations

from pathlib import Path

from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.shared import capture_folder


def repeated(name: str, times: int, path: Path) -> str:
    """Write a snapshot with a repeated buffer; return its folder."""
    capture = read_snapshot(capture_folder(name))[0]
    write_snapshot(capture._replace(buffer=capture.buffer * times), str(path))
    return str(path)
