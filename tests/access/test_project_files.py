"""Real pyOCD in a folder with pyOCD's project files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.access.processes import DEMO, start_board
from tests.gdb_session import run_gdb

_UNUSED = '%s in the working directory is not used; "--option %s=%s" (of gdb-etm serve: -O) uses it'
_USER = ("pyocd_user.py", "user_script", "pyocd_user.py")
_SCRIPT = "open('ran', 'w').close()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyocd_user.py").write_text(_SCRIPT)
    (tmp_path / "pyocd.yaml").write_text("frequency: 12345\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_lies_there_decides_nothing_and_is_named(folder: Path) -> None:
    client = start_board(DEMO)
    client.close()
    assert not (folder / "ran").exists()
    assert list(client.hello.warnings) == [_UNUSED % ("pyocd.yaml", "config_file", "pyocd.yaml"), _UNUSED % _USER]


@pytest.mark.gdb
def test_the_user_is_told_in_gdb(folder: Path) -> None:
    output = run_gdb(["etm connect board:m33 --elf %s" % DEMO, "etm disconnect"], cwd=folder)
    assert output.splitlines().count("note: " + _UNUSED % _USER) == 1, output


@pytest.mark.parametrize("option", ["user_script=pyocd_user.py", "project_dir=."])
def test_what_is_named_is_used(folder: Path, option: str) -> None:
    start_board(DEMO, option).close()
    assert (folder / "ran").exists()
