"""The source, read: each program's target against its build attributes."""

from __future__ import annotations

from pathlib import Path

from gdb_etm.program.elf import profile_of
from tests.firmware.cortex_a.build import elf
from tests.gdb_session import ROOT

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"


def test_profiles(tmp_path: Path) -> None:
    assert profile_of(str(DEMO)) == "M"
    assert profile_of(str(elf("sort-a32"))) == profile_of(str(elf("sort-t32"))) == "A"


def test_files_that_do_not_say(tmp_path: Path) -> None:
    whole = DEMO.read_bytes()
    broken = tmp_path / "broken.elf"
    for size in (0, 3, 60, len(whole) // 2, len(whole) - 100):
        broken.write_bytes(whole[:size])
        assert profile_of(str(broken)) == ""
    assert profile_of(str(tmp_path / "none")) == ""
