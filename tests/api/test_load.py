"""Real captures with OpenCSD's result behind them, loaded by a script; and the board's, saved and loaded again."""

from __future__ import annotations

from pathlib import Path

import pytest

import gdb_etm
from gdb_etm.errors import CommandError, SnapshotError
from tests.access.processes import DEMO
from tests.shared import capture_folder


def test_a_snapshot_of_several_cores() -> None:
    captures = gdb_etm.load(capture_folder("juno_r1_1"))
    histories = captures[0].decode()
    assert len(captures) == 2 and 0x10 in histories and 0x11 in histories
    assert len(histories[0x10]) == 38212 and len(captures[0].history(0x11)) == 225
    assert captures[0].content.sources and captures[0].origin.startswith("loaded from ")
    with pytest.raises(CommandError, match="no trace ID 0x01 in capture 1"):
        captures[0].history(1)


def test_loaded_is_what_was_saved(tmp_path: Path) -> None:
    pytest.importorskip("unicorn")
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.start()
        session.run_to("dispatch")
        saved = session.capture()
        saved.save(tmp_path / "snap shot")
        assert session.capture().number == saved.number
    (loaded,) = gdb_etm.load(tmp_path / "snap shot", elf=[DEMO])
    assert list(loaded.history().instructions()) == list(saved.history().instructions())
    assert list(loaded.history().functions()) == list(saved.history().functions())
    (bare,) = gdb_etm.load(str(tmp_path / "snap shot"))
    assert len(bare.history()) == len(saved.history()) and bare.history().instruction(1).function == ""


def test_what_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError):
        gdb_etm.load(tmp_path)
    with pytest.raises(CommandError, match="no file"):
        gdb_etm.load(tmp_path, elf=tmp_path / "none.elf")
