"""Worked by hand: lines of source files that others wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gdb_etm.session.source_files import read_source


@pytest.mark.parametrize("coding", ["hex", "punycode", "no-such", "utf-16", "\0"])
def test_what_a_file_says_of_its_encoding_is_not_followed(coding: str, tmp_path: Path) -> None:
    path = tmp_path / "rx.c"
    path.write_text("# coding: %s\nint x;\n" % coding)
    assert read_source(str(path), 2) == "int x;\n"


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "rx.c"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo \xf6\rthree\x0c\x1c\xe2\x80\xa8\n\nlast")
    lines = [read_source(str(path), line) for line in range(-1, 7)]
    assert lines == ["", "", "one\n", "two \ufffd\n", "three\x0c\x1c\u2028\n", "\n", "last\n", ""]


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rx.c"
    for text in ("one\n", "other\n"):
        path.write_text(text)
        assert read_source(str(path), 1) == text
    path.unlink()
    assert read_source(str(path), 1) == ""


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in (str(tmp_path), str(tmp_path / "fifo"), "/dev/zero", "a\0b", ""):
        assert read_source(name, 1) == ""


def test_one_file_of_many_names_is_kept_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdb_etm.session import source_files

    kept = {"old": source_files._Source((1 << 26, 0), [])}
    monkeypatch.setattr(source_files, "_kept", kept)
    (tmp_path / "rx.c").write_text("x\n")
    assert read_source(str(tmp_path / "rx.c"), 1) == "x\n" and len(kept) == 1
