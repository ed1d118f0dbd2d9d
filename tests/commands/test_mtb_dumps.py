"""The board's truth: a buffer that firmware put aside is decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.board.bus import RAM_BASE
from gdb_etm.capture import BufferEnd
from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.mtb_dumps import load_dump
from gdb_etm.session.session import DebugSession
from tests.firmware.cortex_m0.build import elf
from tests.protocols.mtb.boards import BUFFER, POSITION, MtbRun, decoded


def dumped(name: str, size: int, folder: Path) -> MtbRun:
    """Run a program, and write its buffer to a file."""
    run = MtbRun("m0", elf(name), size)
    run.run(9000)
    (folder / "mtb.bin").write_bytes(run.machine.read_block(BUFFER, size))
    return run


@pytest.mark.parametrize("name, size, end", [("nested", 1024, BufferEnd.WRAPPED), ("faults", 4096, BufferEnd.STARTED)])
def test_with_its_position(name: str, size: int, end: BufferEnd, tmp_path: Path) -> None:
    run = dumped(name, size, tmp_path)
    session = DebugSession(OfflineDebugger())
    loaded = load_dump(session, str(tmp_path / "mtb.bin"), run.read(POSITION), [elf(name)])
    assert loaded.record.capture.end is end and not loaded.notes
    found = decoded(session.decode(loaded.record).history)
    # Neither where it began is in the dump, nor where the core halted.
    found = found[1:] if end is BufferEnd.STARTED else found
    truth = run.result().truth
    at = next(n for n in range(len(truth)) if truth[n : n + len(found)] == found)
    assert 0 < at and len(found) > 100 and len(truth) - at - len(found) < 40


def test_without_its_position(tmp_path: Path) -> None:
    run = dumped("faults", 4096, tmp_path)
    filled = (run.read(POSITION) & ~7) - (BUFFER - RAM_BASE)
    (tmp_path / "mtb.bin").write_bytes(run.machine.read_block(BUFFER, filled))
    session = DebugSession(OfflineDebugger())
    loaded = load_dump(session, str(tmp_path / "mtb.bin"), None, [elf("faults")])
    assert "which packet is the oldest" in loaded.notes[0]
    found = decoded(session.decode(loaded.record).history)
    assert any(found[1:] == run.result().truth[n : n + len(found) - 1] for n in range(200))


@pytest.mark.parametrize(
    "content, position, message",
    [
        (b"", None, "0 bytes are no buffer"),
        (bytes(12), None, "12 bytes are no buffer: packets have 8 bytes each"),
        (bytes(24), 0, "24 bytes are not the whole buffer, which has a power of two"),
    ],
)
def test_what_is_no_buffer(content: bytes, position: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mtb.bin"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=message):
        load_dump(DebugSession(OfflineDebugger()), str(path), position, [])
    with pytest.raises(CommandError, match="nothing: No such file"):
        load_dump(DebugSession(OfflineDebugger()), str(tmp_path / "nothing"), position, [])
