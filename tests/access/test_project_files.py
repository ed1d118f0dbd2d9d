"""Real pyOCD in a folder with pyOCD's project files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.access.processes import DEMO, start_board

_SCRIPT = "open('ran', 'w').close()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyocd_user.py").write_text(_SCRIPT)
    (tmp_path / "pyocd.yaml").write_text("frequency: 12345\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_lies_there_decides_nothing_and_is_named(folder: Path) -> None:
    client = start_board(DEMO)
    lines = client.log()
    client.close()
    assert not (folder / "ran").exists()
    named = [line for line in lines if "is not used" in line]
    assert [line.split()[1] for line in named] == ["pyocd.yaml", "pyocd_user.py"]
    assert named[1].endswith('"--option user_script=pyocd_user.py" (of gdb-etm serve: -O) uses it')


@pytest.mark.parametrize("option", ["user_script=pyocd_user.py", "project_dir=."])
def test_what_is_named_is_used(folder: Path, option: str) -> None:
    start_board(DEMO, option).close()
    assert (folder / "ran").exists()
