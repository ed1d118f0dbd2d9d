"""Captures of the demo firmware, and questions to their tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, List, Sequence, Tuple

from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.pages import ROOT

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_LOOPING = ROOT / "scripts" / "benchmark" / "looping.py"
_SIZE = 2048


def cut_captures(folder: Path, count: int) -> List[Path]:
    """Make captures of 2 KiB, no two with the same content."""
    whole = folder / "whole"
    command = [sys.executable, str(_LOOPING), str(whole), str(ELF), str(1 << 20), "20000"]
    subprocess.run(command, check=True, timeout=120)
    (capture,) = [one for one in read_snapshot(str(whole)) if one.sources]
    found = []
    for number in range(count):
        path = folder / "captures" / ("%02d" % number)
        at = 256 * number
        assert at + _SIZE <= len(capture.buffer)
        write_snapshot(capture._replace(buffer=capture.buffer[at : at + _SIZE]), str(path))
        found.append(path)
    return found


def analyse(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run ``gdb-etm analyse``."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "gdb_etm", "analyse", *words]
    return subprocess.run(command, stdout=pipe, stderr=pipe, text=True, timeout=240, check=False)


def query(out: Path, text: str) -> List[Tuple[Any, ...]]:
    """Ask DuckDB; tables are named as in the guide."""
    import duckdb

    connection = duckdb.connect()
    for table in sorted(path.name for path in out.iterdir() if path.is_dir()):
        connection.execute("CREATE VIEW %s AS FROM '%s/*.parquet'" % (table, out / table))
    return connection.execute(text).fetchall()


def everything(out: Path, tables: Sequence[str]) -> List[List[Tuple[Any, ...]]]:
    """Give all rows of some tables, in order."""
    return [query(out, "FROM %s ORDER BY ALL" % table) for table in tables]
