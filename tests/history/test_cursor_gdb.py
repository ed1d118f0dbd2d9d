"""Differential run against GDB's ``record full``, stop by stop.

The same commands on a program in QEMU.

GDB 13 does not record all of Thumb code's pushes, so in the past it sometimes sees wrong callers, and misses a
return.  Stops are compared where it sees the same stack as the cursor.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, List

import pytest

from gdb_etm.history.cursor import Cursor
from gdb_etm.history.steps import Steps
from tests.firmware.build import elf, symbol
from tests.gdb_texts import gdb_version
from tests.history import gdb_record
from tests.history.dwarf import DwarfPlaces
from tests.history.executed import cursor_of, history_of
from tests.qemu import executed

COMMANDS: Dict[str, Callable[[Cursor], object]] = {
    "stepi": lambda cursor: cursor.step(Steps.INSTRUCTION),
    "step": lambda cursor: cursor.step(Steps.LINE),
    "next": lambda cursor: cursor.step(Steps.LINE_OVER_CALLS),
    "finish": lambda cursor: cursor.finish(),
    "until": lambda cursor: cursor.until(),
    "reverse-stepi": lambda cursor: cursor.step(Steps.INSTRUCTION, backward=True),
    "reverse-step": lambda cursor: cursor.step(Steps.LINE, backward=True),
    "reverse-next": lambda cursor: cursor.step(Steps.LINE_OVER_CALLS, backward=True),
    "reverse-finish": lambda cursor: cursor.finish(backward=True),
    "reverse-step 7": lambda cursor: cursor.step(Steps.LINE, 7, backward=True),
    "reverse-stepi 5": lambda cursor: cursor.step(Steps.INSTRUCTION, 5, backward=True),
}


def walk(seed: int, length: int, jumps: int) -> List[str]:
    """Make a script: jumps to somewhere, and a few commands from there."""
    choose = random.Random(seed)
    script: List[str] = []
    for _ in range(jumps):
        script.append("record goto %d" % choose.randint(1, length - 1))
        script += choose.choices(list(COMMANDS), k=8)
    return script


def play(cursor: Cursor, command: str) -> None:
    """Do what GDB is told."""
    if command.startswith("record goto"):
        cursor.goto(int(command.split()[-1]) + 1)  # GDB goes to behind it
    else:
        COMMANDS[command](cursor)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["steps"])
def test_stops_are_gdbs(name: str, seed: int) -> None:
    if gdb_version() >= 16:
        pytest.skip("this GDB takes the program's jmp_buf for glibc's, and does not survive its longjmp")
    path = elf(name)
    first, last = symbol(path, "run"), symbol(path, "finished")
    addresses = executed(path, last)
    recorded = addresses[addresses.index(first) : -1]
    script = walk(seed, len(recorded), 60)
    expected = gdb_record.stops(path, first, last, script)
    cursor = cursor_of(history_of(path, recorded, last), DwarfPlaces(path))
    assert expected[0].number == cursor.end
    before = expected[0]
    compared = 0
    for number, (command, stop) in enumerate(zip(script, expected[1:])):
        if stop.number == 0:
            continue  # GDB does not look for the call of its outermost frame
        goes = command.startswith("record")
        trusted = goes or names(cursor) == before.stack
        play(cursor, command)
        trusted = trusted and (goes or names(cursor) == stop.stack)
        here = cursor.position.number, cursor.address
        missed = "step" not in command and abs(stop.number - before.number) > abs(here[0] - before.number)
        if trusted and not missed:
            compared += 1
            what = "%d: %s at %s: GDB stops at %s, we at %s" % (number, command, before, stop, names(cursor))
            assert here == (stop.number, stop.address), what
        elif here[0] != stop.number:
            cursor.goto(stop.number)
        before = stop
    assert compared > len(script) // 3


def names(cursor: Cursor) -> str:
    """Write the stack as GDB's is written."""
    levels = cursor.stack()
    return ",".join("%s:%x" % (str(level.name).split(".")[0], level.address or 0) for level in levels)
