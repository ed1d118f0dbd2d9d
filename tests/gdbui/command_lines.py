"""Random command lines in real GDB: it answers, and goes on."""

from __future__ import annotations

import random
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import List

import gdb_etm
from gdb_etm.commands.registry import COMMANDS
from tests.access.processes import DEMO, PATIENCE
from tests.gdb_session import run_gdb
from tests.gdbui.attacks import WRONG

# Those that leave GDB's program or target alone.
_LEFT_OUT = ("connect", "disconnect", "load", "save", "replay")
_LINES = 40
# The snapshot of a fault; it goes when this process ends.
_KEPT = tempfile.TemporaryDirectory(prefix="fault")
_WORDS = (
    *("-1", "0", "1", "18364", "18365", "99999999999999999999", "1e9", "0x", "4294967296", "0b1", "nan", "1-5", "5-1"),
    *("*0x300", "*0", "*", "*(", "*nosuch", "main", "crc16", "nosuch", "rx.c:121", "rx.c:9999", "rx.c:", "a,b", ", x"),
    *("r0", "r99", "$r0", "$etm_sp", "station", "station.table[1]", "&station", "message", "1/0", "1+", "sizeof(int)"),
    *("/s", "/c", "/x", "/xw", "/zzz", "/", "--at", "--thread", "--", "--id 16", "--cycles 16", "-probe x", "if 1"),
    *(
        "first",
        "last",
        "end",
        "run",
        "all",
        "none",
        "off",
        "on",
        "list",
        "delete",
        "do",
        "trigger",
        "registers",
        "args",
    ),
    *("''", "' '", "'", '"', "\\", "é", "%s", "{}", "\t", "history-size", "recovery", "exact", "unlimited"),
)


def check_command_lines(seed: int) -> None:
    """Run random commands on a snapshot: none raises, and GDB lives on."""
    choose = random.Random(seed)
    load = "etm load %s --elf %s" % (_snapshot(), DEMO)
    # A report may be written.
    with tempfile.TemporaryDirectory() as folder:
        output = run_gdb([load, *lines(choose, _LINES), "python import argparse", "echo alive"], cwd=Path(folder))
    assert output.endswith("alive"), output
    assert not any(word in output for word in (*WRONG, "occurred in Python", "Fatal signal")), output


def lines(choose: random.Random, count: int) -> List[str]:
    """Make command lines of words that may mean something."""
    names = [one.name for one in COMMANDS if one.name not in _LEFT_OUT]
    words = [[choose.choice(_WORDS) for _ in range(choose.choice((0, 1, 1, 1, 2, 2, 3)))] for _ in range(count)]
    return [" ".join(["etm", choose.choice(names), *each]) for each in words]


@lru_cache(maxsize=None)
def _snapshot() -> Path:
    folder = Path(_KEPT.name) / "fault"
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.start()
        session.run(PATIENCE)
        session.command("save %s" % folder)
    return folder
