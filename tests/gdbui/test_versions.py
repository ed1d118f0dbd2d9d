"""The source, read: the guide's table against scripts/versions (real GDB)."""

from __future__ import annotations

import runpy
import subprocess
from typing import List

import pytest

from tests.gdb_session import ROOT, gdb_program

SCRIPT = ROOT / "scripts" / "versions"
SECONDS = 300


def cells(line: str) -> List[str]:
    """Read a row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table() -> List[List[str]]:
    """Read the table: its header, then its rows."""
    lines = (ROOT / "docs" / "guide" / "versions.md").read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| GDB | its Python |"))
    end = lines.index("", start)
    return [cells(line) for line in (lines[start], *lines[start + 2 : end])]


def test_its_columns_are_those_that_are_tried() -> None:
    header, *rows = table()
    assert header[3:] == [name for name, _ in runpy.run_path(str(SCRIPT))["COLUMNS"]]
    assert [row[0] for row in rows] == ["10.1", "13.1", "16.3", "17.2", "18.1"]
    assert all(len(row) == len(header) and set(row[3:]) <= {"yes", "–"} for row in rows)


def test_this_gdb_does_what_its_row_says() -> None:
    assert gdb_program()
    line = [str(SCRIPT), "--only", "completion"]
    done = subprocess.run(line, stdout=subprocess.PIPE, universal_newlines=True, timeout=SECONDS, check=True)
    row = cells(done.stdout)
    known = {each[0]: each[-1] for each in table()[1:]}
    if row[0] not in known:
        pytest.skip("GDB %s is not in the table" % row[0])
    assert row[-1] == known[row[0]] == "yes"


def test_what_is_not_as_it_should_be_is_told() -> None:
    tried = runpy.run_path(str(SCRIPT))
    with pytest.raises(tried["Wrong"], match="no 'b' in:\n a"):
        tried["expect"]("b a", "b", "b")
