"""Real GDB session: GDB's commands and the plug-in's stop alike.

Left out is where they cannot: GDB refuses to finish its outermost frame, and steps by instruction past handlers, as it
does on a target whose debugger masks interrupts while it steps.  Backwards over a longjmp each has its own rules, and
newer GDBs miss where one leads: they take every jmp_buf for that of GNU/Linux.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import List

import pytest

from tests.firmware.build import elf
from tests.gdb_texts import gdb_version
from tests.replay.boards import ELF, walk

COMMANDS = ("step", "next", "finish", "reverse-step", "reverse-next", "reverse-finish", "reverse-step 3", "stepi")
COMMANDS += ("reverse-continue", "continue", "reverse-stepi", "reverse-next 2")


def script(seed: int, count: int) -> List[str]:
    """Make a script that goes back and forth."""
    choose = random.Random(seed)
    return ["reverse-stepi 40"] + choose.choices(COMMANDS, k=count)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name, until, seed",
    [
        pytest.param("steps", ["tbreak finished", "continue", "break sink"], 7, marks=pytest.mark.every_gdb),
        ("interrupts", ["tbreak finished", "continue"], 2),
        ("tasks", ["tbreak finished", "continue", "break busy"], 3),
        ("sort", ["tbreak finished", "continue"], 4),
        ("demo", ["continue", "break crc16", "break parse"], 7),
    ],
)
def test_stops_are_the_cursors(name: str, until: List[str], seed: int, tmp_path: Path) -> None:
    path = str(ELF) if name == "demo" else elf(name)
    compared = 0
    for command, before, stock, ours, told in walk(path, until, script(seed, 50), tmp_path):
        misses_longjmp = name == "steps" and command == "finish" and gdb_version() > 15 and int(stock) > int(ours)
        if told == "refused" or "stepi" in command or misses_longjmp:
            continue
        compared += 1
        assert stock == ours, "%s at %s: GDB stops at %s, the cursor at %s" % (command, before, stock, ours)
    assert compared > 20


def test_an_interrupt_directly_behind_a_return(tmp_path: Path) -> None:
    # Where a handler has returned to the instruction after a call, a step back by line goes into the callee.
    commands = ["reverse-continue", "reverse-step"] * 2
    found = walk(str(ELF), ["continue", "break *dispatch+22"], commands, tmp_path)
    assert [stock for _, _, stock, _, _ in found] == [ours for _, _, _, ours, _ in found]
    assert commands == [command for command, *_ in found]
    after = [int(before) - int(ours) for command, before, _, ours, _ in found if command == "reverse-step"]
    assert max(after) > 10, "none of them has an interrupt there"
