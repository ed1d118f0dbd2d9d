"""Worked by hand: links in folders where others may write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gdb_etm.errors import CommandError
from gdb_etm.exports.formats import write_lines
from gdb_etm.files import through_own_links


def of_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a link one of another user's."""
    if os.geteuid() == 0:
        os.lchown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)


def test_a_strangers_link_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, link = tmp_path / "mine", tmp_path / "run.info"
    mine.write_text("kept\n")
    link.symlink_to(mine)
    write_lines(str(link), ["written"])
    assert mine.read_text() == "written\n" and link.is_symlink()
    of_another(link, monkeypatch)
    with pytest.raises(CommandError, match="cannot write .*run.info: it is a link of another user's"):
        write_lines(str(link), ["forged"])
    assert mine.read_text() == "written\n"


def test_a_link_that_comes_in_between_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, link = tmp_path / "mine", tmp_path / "run.info"
    mine.write_text("kept\n")
    link.symlink_to(mine)
    monkeypatch.setattr(os.path, "islink", lambda path: False)
    with pytest.raises(CommandError, match="cannot write"):
        write_lines(str(link), ["forged"])
    assert mine.read_text() == "kept\n"


def test_what_is_no_link_is_written(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    for text in ("first, and long", "second"):
        with open(path, "w", encoding="utf-8", opener=through_own_links) as file:
            file.write(text)
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o111 == 0
