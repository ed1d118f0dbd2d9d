"""Vectors worked by hand: coverage as a table."""

from __future__ import annotations

from typing import List

from gdb_etm.analysis.coverage import Coverage, FileCoverage, LineCoverage
from gdb_etm.views.coverage import file_lines


def table(unseen: int) -> List[str]:
    files = [FileCoverage("lib/%d.c" % at, "", (LineCoverage(1, 0, ()),) * 3, ()) for at in range(unseen)]
    files.insert(1, FileCoverage("app.c", "", (LineCoverage(1, 7, ()), LineCoverage(2, 0, ())), ()))
    return list(file_lines(Coverage(tuple(files), 9, 0)))


def test_few_files_of_which_nothing_was_seen_are_listed() -> None:
    assert [line.split()[0] for line in table(2)] == ["lines", "lib/0.c", "app.c", "lib/1.c", "all"]


def test_of_many_there_is_one_line_and_all_counts_them() -> None:
    lines = table(11)
    assert [line.split()[:2] for line in lines[1:-1]] == [["app.c", "1/2"], ["all", "1/35"]]
    assert lines[-1] == "[11 more files, with 33 lines: nothing of them was seen]"
