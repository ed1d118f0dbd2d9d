"""Edits of a gdbinit, worked by hand, and a real GDB."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gdb_etm.offline.install import gdbinit_paths, installed, main, removed, script_folder
from tests.gdb_session import gdb_program

USERS = "set history save on\nset print pretty on\n"


def test_install_is_done_once_and_undone_exactly() -> None:
    for text in ("", USERS, "directory /opt/src\n" + USERS):
        first = installed(text, "/opt/a")
        assert first.changed and first.text.startswith(text) and first.text.endswith("directory /opt/a\n")
        assert not installed(first.text, "/opt/a").changed
        assert removed(first.text) == (text, True)
    assert removed(USERS) == (USERS, False)


def test_another_folder_replaces_the_line() -> None:
    moved = installed(installed(USERS, "/opt/a").text + "set width 0\n", "/opt/b")
    assert "/opt/a" not in moved.text and moved.text.count("directory") == 1
    assert removed(moved.text).text == USERS + "set width 0\n"


def test_a_last_line_without_newline_stays_whole() -> None:
    assert installed("set width 0", "/opt/a").text.startswith("set width 0\n#")


def test_line_endings_stay() -> None:
    text = "set width 0\r\n"
    assert installed(text, "/opt/a").text.startswith(text)


def test_where_gdb_looks() -> None:
    assert gdbinit_paths({}, "/h") == ["/h/.config/gdb/gdbinit", "/h/.gdbinit"]
    assert gdbinit_paths({"XDG_CONFIG_HOME": "/x"}, "/h") == ["/x/gdb/gdbinit", "/h/.gdbinit"]
    assert gdbinit_paths({}, "/h", is_mac=True)[0] == "/h/Library/Preferences/gdb/gdbinit"


def gdb_finds_it(home: Path, folder: Path) -> bool:
    environment = dict(os.environ, HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"))
    command = [gdb_program(), "-batch", "-ex", "source gdb_etm", "-ex", "etm"]
    done = subprocess.run(command, cwd=str(folder), env=environment, capture_output=True, text=True, timeout=60)
    return "Not connected" in done.stdout


@pytest.mark.every_gdb
@pytest.mark.parametrize("where", [".gdbinit", ".config/gdb/gdbinit"])
def test_install_for_a_real_gdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, where: str
) -> None:
    home = tmp_path / "home dir"
    elsewhere = tmp_path / "elsewhere"
    (home / ".config" / "gdb").mkdir(parents=True)
    (elsewhere / "gdb_etm").mkdir(parents=True)  # a folder of that name does not hide the file
    file = home / where
    file.write_text(USERS)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert not gdb_finds_it(home, elsewhere)

    assert main([]) == 0
    assert capsys.readouterr().out.startswith("wrote to %s: directory %s" % (file, script_folder()))
    assert gdb_finds_it(home, elsewhere)
    written = file.read_bytes()

    assert main([]) == 0
    assert "already says" in capsys.readouterr().out
    assert file.read_bytes() == written

    assert main(["--undo"]) == 0
    assert capsys.readouterr().out == "took the line out of %s\n" % file
    assert file.read_text() == USERS
    assert main(["--undo"]) == 0
    assert "nothing to undo" in capsys.readouterr().out


def test_a_new_file_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main([]) == 0 and (tmp_path / ".gdbinit").exists()
    assert main(["--undo"]) == 0 and not (tmp_path / ".gdbinit").exists()


def test_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main([]) == 1
    error = capsys.readouterr().err
    assert error.startswith("gdb-etm install: ") and error.count("\n") == 1
