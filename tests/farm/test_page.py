"""Real DuckDB and pandas: the guide's queries and tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

from gdb_etm.farm.tables import TABLES, FarmTable
from tests.farm.made import ELF, analyse, cut_captures
from tests.pages import GUIDE, blocks

for _needed in ("distributed", "cryptography", "pyarrow", "duckdb"):
    pytest.importorskip(_needed)

PAGE = GUIDE / "farm.md"


def written(table: FarmTable) -> str:
    """Write a table as the page has it."""
    rows = ["| `%s` | %s | %s |" % (one.name, one.kind, one.about) for one in table.columns]
    head = ["### %s" % table.name, "", "%s." % (table.about[0].upper() + table.about[1:]), ""]
    return "\n".join([*head, "| column | type | what it is |", "|---|---|---|", *rows])


def test_the_page_has_the_tables() -> None:
    text = PAGE.read_text("utf-8")
    for table in TABLES:
        assert written(table) in text, table.name
    assert text.count("\n### ") == len(TABLES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Analyse captures where the page has them."""
    found = tmp_path_factory.mktemp("page")
    cut_captures(found, 2)
    done = analyse(str(found / "captures"), "--elf", str(ELF), "--out", str(found / "results"), "--workers", "1")
    assert done.returncode == 0, done.stderr
    before = os.getcwd()
    os.chdir(found)
    yield found
    os.chdir(before)


def test_the_queries_are_answered(folder: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    answers: List[List[Tuple[Any, ...]]] = []
    for block in blocks(PAGE):
        assert block.language == "sql"
        answers.append(connection.execute(block.text).fetchall())
    _, builds, branches, verdicts = answers
    ((build_id, _, captures, calls),) = builds
    assert (build_id, captures) == ("", 2) and calls > 0
    assert branches and all((taken == 0) != (not_taken == 0) for _, _, _, taken, not_taken in branches)
    assert verdicts == [("", 2, str(folder / "captures" / "00"))]


def test_pandas_reads_a_folder(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet("results/profile")
    table = next(table for table in TABLES if table.name == "profile")
    assert list(frame.columns) == [column.name for column in table.columns]
    assert frame["own_instructions"].sum() > 1000
