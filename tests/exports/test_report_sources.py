"""Worked by hand: which source files a report shows to others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest

from gdb_etm.__main__ import main
from gdb_etm.analysis.coverage import Coverage, FileCoverage, LineCoverage
from gdb_etm.exports.report import coverage_document
from gdb_etm.session.source_files import only_within, read_lines, read_source, refusal
from gdb_etm.session.source_folders import SourceFolders
from gdb_etm.views.coverage import source_lines
from tests.exports.browser import document_of
from tests.gdb_session import run_gdb
from tests.test_style import ROOT

_FIRMWARE = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_LOOPING = ROOT / "scripts" / "benchmark" / "looping.py"
_SECRET = "my secret, which is on line two"
OUTSIDE, HIDDEN, MISSING = "the source is in no folder", "the source is a hidden file", "the source is not there"


@pytest.fixture(name="home")
def fixture_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a checkout, a toolkit, and secrets."""
    home = tmp_path / "home"
    for name in ("work/.git/config", "work/app/src/rx.c", "work/app/build/app.elf", "work/lib/ring.c", "sdk/hal.c"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("text\n")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("secret\n")
    (home / "notes.txt").write_text("secret\n")
    (home / "work" / "app" / "link.c").symlink_to(home / "notes.txt")
    (home / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return home


@pytest.mark.parametrize(
    "file, reason",
    [
        ("work/app/src/rx.c", ""),
        ("work/app/build/../src/rx.c", ""),
        ("work/lib/ring.c", ""),
        ("work/app/src/gone.c", MISSING),
        ("work/.git/config", HIDDEN),
        ("work/app/link.c", OUTSIDE),
        ("work/app/../../notes.txt", OUTSIDE),
        ("sdk/hal.c", OUTSIDE),
        (".ssh/id_rsa", OUTSIDE),
        ("/etc/passwd", OUTSIDE),
        ("/usr/include/stdio.h", ""),
        ("work/app/src/rx.c\0", MISSING),
    ],
)
def test_sources_are_those_of_the_program(file: str, reason: str, home: Path) -> None:
    folders = SourceFolders([str(home / "work" / "app" / "build" / "app.elf")])
    path = os.path.join(str(home), file)
    if file.startswith("/") and not os.path.exists(path):
        pytest.skip("no %s" % file)
    found = folders.refusal(path)
    assert found.startswith(reason) and bool(found) == bool(reason)
    with only_within(folders):
        assert bool(read_lines(path)) == bool(read_source(path, 1)) == (not reason)
        assert refusal(path) == found
    assert refusal(path) == ""


def test_folders_that_the_user_names_are_shown(home: Path) -> None:
    folders = SourceFolders([], [str(home / "sdk"), str(home / ".ssh")])
    assert not folders.refusal(str(home / "sdk" / "hal.c"))
    assert not folders.refusal(str(home / ".ssh" / "id_rsa"))
    assert folders.refusal(str(home / "notes.txt")).startswith(OUTSIDE)


@pytest.mark.parametrize("there", ["", "work"])
def test_the_current_folder_counts_unless_it_is_home(there: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home / there)
    folders = SourceFolders([str(home / "app.elf")])
    assert bool(folders.refusal(str(home / "work" / "app" / "src" / "rx.c"))) == (not there)
    assert folders.refusal(str(home / "notes.txt")).startswith(OUTSIDE)


def snapshot_of(folder: Path) -> Dict[str, Path]:
    """Make a snapshot of a program that names a file above it."""
    (folder / "in").mkdir()
    (folder / "s.c").write_text("\n".join([_SECRET] * 200))
    program = folder / "in" / "demo.elf"
    program.write_bytes(_FIRMWARE.read_bytes().replace(b"\0main.c\0", b"\0../s.c\0"))
    snapshot = folder / "in" / "snapshot"
    command = [sys.executable, str(_LOOPING), str(snapshot), str(program), "16384", "16384"]
    subprocess.run(command, check=True, timeout=120)
    return {"program": program, "snapshot": snapshot}


def test_a_strangers_program_has_no_file_of_mine_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = snapshot_of(tmp_path)
    monkeypatch.chdir(tmp_path / "in")
    begin = ["report", str(made["snapshot"]), "--elf", str(made["program"])]
    assert main([*begin, "-o", "out"]) == 0
    document = document_of(Path("out/index.html"))
    assert _SECRET not in json.dumps(document)
    (file,) = [one for one in document["coverage"] if one["path"].endswith("/s.c")]
    assert file["note"].startswith(OUTSIDE) and file["counts"] and not file["source"]
    assert main([*begin, "-o", "more", "--source", ".."]) == 0
    document = document_of(Path("more/index.html"))
    (file,) = [one for one in document["coverage"] if one["path"].endswith("/s.c")]
    assert _SECRET in file["source"] and file["note"] == ""
    assert main([*begin, "-o", "none", "--source", "gone"]) == 1


@pytest.mark.gdb
def test_gdb_s_own_source_folders_count(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path)
    begin = ["cd %s" % (tmp_path / "in"), "file %s" % made["program"], "etm load %s" % made["snapshot"]]
    for name, words in (("out", []), ("directory", ["directory %s" % tmp_path])):
        run_gdb([*begin, *words, "etm report %s" % (tmp_path / name)])
    pages = [json.dumps(document_of(tmp_path / name / "index.html")) for name in ("out", "directory")]
    assert [_SECRET in page for page in pages] == [False, True]


def test_a_line_far_behind_the_source_takes_no_room() -> None:
    file = FileCoverage("x.c", "x.c", (LineCoverage(2, 1, ()), LineCoverage(1 << 60, 1, ())), ())
    (document,) = coverage_document(Coverage((file,), 2, 0), lambda name: (["one", "two "], ""))
    assert document["source"] == ["one", "two"] and len(document["counts"]) == 2
    listed = list(source_lines(file, 1, 1 << 60, ["one", "two"]))
    assert [line.split()[-1] for line in listed] == ["one", "two", str(1 << 60)]
