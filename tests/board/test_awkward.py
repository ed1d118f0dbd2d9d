"""Real pyOCD on awkward boards, and the board's truth.

What the doctor says, and what mends it.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import List

import pytest

from gdb_etm.board.awkward import ClockSwitch, SlowFlash
from gdb_etm.board.bus import Bus
from gdb_etm.board.dap import WaitResponse
from tests.access.processes import write_forever
from tests.bundle.boards import SECONDS, bundle, repeated, session_on

pytest.importorskip("unicorn")

# The board's own register for the trace clock.
CLOCK = """
title = "the simulated board"
sources = ["gdb_etm/board/domain.py"]

[identity]
name = "CPUID"
address = 0xE000ED00
mask = 0xFF0FFFF0
value = 0x410FD210

[[enable]]
name = "TRACE_CLOCK"
address = 0xE0044004
mask = 0x20
value = 0x20
why = "the trace clock"
"""
LARGE = {"etb_size": 65536}


def bad(lines: List[str], subject: str) -> str:
    """Return what is wrong with something, and the advice below it."""
    (at,) = [n for n, line in enumerate(lines) if re.match(r"[ \d]\d  bad +%s  " % re.escape(subject), line)]
    return lines[at] + " " + lines[at + 1]


@pytest.mark.parametrize("faults", ["clock-hang", "clock-gate"])
def test_no_clock_and_a_profile_that_switches_it_on(
    faults: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session_on("m33", faults) as session:
        lines = session.command("doctor")
        assert "0xe0041" in bad(lines, "components") and "vendor's register" in bad(lines, "components")
        assert any("no profile has this chip's ID" in line for line in lines)
    (tmp_path / "mine.etm.toml").write_text(CLOCK, "utf-8")
    monkeypatch.chdir(tmp_path)
    with session_on("m33", faults, profile="mine") as session:
        session.command("start")
        session.run(SECONDS)
        assert len(list(session.captures[0].history().instructions())) > 500
        lines = session.command("doctor")
        assert lines[-1] == "Nothing is wrong." and any("TRACE_CLOCK at 0xe0044004" in line for line in lines)


def test_power_lost_in_sleep(tmp_path: Path) -> None:
    program = tmp_path / "sleeps.elf"
    content = write_forever(program).read_bytes()
    # Its loop becomes: wfi; b.
    loop = struct.pack("<2H", 0x3301, 0xE7FD)
    assert content.count(loop) == 1
    program.write_bytes(content.replace(loop, struct.pack("<2H", 0xBF30, 0xE7FD)))
    with session_on("m33", "sleep-power", elf=(str(program),)) as session:
        session.command("start")
        session.run(0.5)
        found = bad(session.command("doctor"), "last capture")
        assert "lost its power" in found and "DBG_SLEEP" in found
        # It is programmed again by itself.
        assert any("registers read as they were written" in line for line in session.command("doctor"))


def test_another_agent_has_claimed_the_unit() -> None:
    with session_on("m33", "claimed") as session:
        lines = session.command("doctor")
        assert "TRCCLAIMCLR 0x00000002: software on the target uses the unit" in bad(lines, "claim")
        assert "0xe0041fa4 = 0x2" in bad(lines, "claim")
        fixed = session.command("doctor --fix")
        assert any("could not be mended" in line and "stop that software" in line for line in fixed)


def test_a_clock_is_switched_in_the_middle_of_a_run(tmp_path: Path) -> None:
    with session_on("m33", "clock-switch:2000", **LARGE) as session:
        session.command("start")
        session.run(SECONDS)
        found = bad(session.command("doctor"), "history")
        assert "trace and program disagree" in found and "lost on its way" in found
        path, _ = bundle(session, tmp_path)
    # Without the program nobody can know; with it the line is the same.
    assert repeated(path)[1][-1] == "The same as recorded."


def test_a_watchdog_resets_the_chip(tmp_path: Path) -> None:
    with session_on("m33", "watchdog:20000", truth=str(tmp_path / "truth"), **LARGE) as session:
        session.command("start")
        session.run(SECONDS)
        lines = session.command("doctor")
        (at,) = [n for n, line in enumerate(lines) if "the core was reset 1 time while it was traced" in line]
        assert "watchdog" in lines[at + 1]
        ran = [each.address for each in session.captures[0].history().instructions()]
    truth = [int(line.split()[0], 16) for line in (tmp_path / "truth").read_text().splitlines() if line[:2] == "0x"]
    # The history goes on after the reset, as the board did; a reset does not say what ran since the last branch.
    again = ran.index(ran[0], 1)
    text = ",".join(map(str, truth)) + ","
    for part in (ran[:again], ran[again:]):
        assert len(part) > 10000 and ",".join(map(str, part)) + "," in text


def test_slow_flash_costs_time_alone(tmp_path: Path) -> None:
    with session_on("m33", "slow-flash:5") as session:
        session.command("start")
        session.run(SECONDS)
        assert session.command("doctor")[-1] == "Nothing is wrong."
        assert len(list(session.captures[0].history().instructions())) > 500


def test_slow_flash_waits_each_time() -> None:
    memory = Bus()
    slow = SlowFlash(memory, 2)
    for _ in range(3):
        for _ in range(2):
            with pytest.raises(WaitResponse):
                slow.read(0, 4)
        assert slow.read(0, 4) == 0xFFFFFFFF
    assert slow.read(0x20000000, 4) == 0


def test_a_clock_switch_loses_bytes_once_in_any_split() -> None:
    data = bytes(range(200))
    expected = data[:50] + data[90:]
    for size in (1, 7, 200):
        switch = ClockSwitch(50)
        assert b"".join(switch.passed(data[at : at + size]) for at in range(0, 200, size)) == expected
    assert ClockSwitch(0).passed(data) == data
