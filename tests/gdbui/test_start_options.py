"""Real GDB, real pyOCD: options of "etm start"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Sequence

from tests.access.processes import FOREVER_TICK, write_forever
from tests.gdb_session import run_gdb

RETURN = FOREVER_TICK + 2


def run(tmp_path: Path, commands: Sequence[str]) -> str:
    """Start a session on a board with two pairs of comparators.

    Its program runs for ever.
    """
    forever = write_forever(tmp_path / "forever.elf")
    output = run_gdb(["etm connect board:m33 --elf %s --option board.comparators=2" % forever, *commands])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def test_from_one_instruction_to_another(tmp_path: Path) -> None:
    """The handler's two instructions, whatever the main program does between its interrupts."""
    output = run(
        tmp_path,
        [
            "break *0x%x" % FOREVER_TICK,
            "etm start --start-at 0x%x --stop-at 0x%x" % (FOREVER_TICK, RETURN),
            "continue",
            "continue",
            "continue",
            "etm history",
        ],
    )
    start = "Tracing everything from 0x%08x until 0x%08x: return stack on, a sync every " % (FOREVER_TICK, RETURN)
    assert start in output
    ran = [int(address, 16) for address in re.findall(r"^\d+ +0x([0-9a-f]{8}) ", output, re.M)]
    assert ran == [FOREVER_TICK, RETURN] * 2


def test_everything_at_once_in_words(tmp_path: Path) -> None:
    wishes = "--exclude 0x60-0x63 --stop-at 0x70 --timestamps --branch-broadcast --stall --no-return-stack"
    output = run(tmp_path, ["etm start " + wishes, "etm start --data-range 0-4", "etm start --data-range 0"])
    assert (
        "Tracing everything but 0x00000060-0x00000063 until 0x00000070: return stack off, a sync every 512 bytes,"
        " timestamps, branch broadcast, stalling, 4 KiB circular.\n"
    ) in output
    assert "address ranges of loads and stores: data trace is off; set data to addresses, values or both\n" in output
    assert '--data-range: "0" is no range of addresses' in output


def test_what_the_unit_lacks(tmp_path: Path) -> None:
    filters = "--include 0-7 --exclude 4-5 --start-at 2"
    output = run(tmp_path, ["etm start " + filters, "etm start --data both --data-range 0-3"])
    assert "this unit has 2 address comparator pairs (TRCIDR4.NUMACPAIRS); the filters need 3\n" in output
    assert "data trace: not in this trace unit (TRCIDR0.TRCDATA is 0)\n" in output
