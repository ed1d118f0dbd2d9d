"""Real GDB, real pyOCD: profiles in GDB's folder."""

from __future__ import annotations

import os
from pathlib import Path

from tests.firmware.build import elf
from tests.gdb_session import run_gdb

# The board's first ROM table is Arm's part 0x4c9; a word of SRAM stands for a vendor's register.
MINE = """
title = "The board"
sources = ["gdb_etm/board/variants.py"]
notes = ["it is only simulated"]

[part-id]
designer = 0x43B
part = 0x4C9

[identity]
name = "CPUID"
address = 0xE000ED00
mask = 0xFFF0
value = 0xD210

[[enable]]
name = "CLOCKS"
address = 0x20060000
mask = 0xFF
value = 0x5A
why = "the trace clock runs"

[[funnel-port]]
funnel = 0xE0042000
port = 0

[inputs]
button = 2
"""
CONNECT = "etm connect board:m33 --elf %s" % elf("sort")
WITH_MINE = CONNECT + " --profile mine"
LOOK = "output/x *(unsigned *) 0x20060000"


def test_what_lies_in_the_folder_is_not_used_unasked(tmp_path: Path) -> None:
    """One line describes the unused profile; an unreadable one is skipped."""
    (tmp_path / "mine.etm.toml").write_text(MINE, "utf-8")
    (tmp_path / "nested.etm.toml").write_text("a = " + "[" * 50000, "utf-8")
    (tmp_path / "lists.etm.toml").write_text("a = " + "[\n" * 5000, "utf-8")
    os.mkfifo(tmp_path / "waits.etm.toml")
    output = run_gdb([CONNECT, LOOK, "echo \\n", "etm info", "etm start", "continue", "etm history -1"], tmp_path)
    assert "note: ./mine.etm.toml knows this chip, and is used only when it is named: etm connect --profile mine\n" in (
        output
    )
    assert "note: cannot read ./waits.etm.toml: it is a FIFO, not a file; it is passed over\n" in output
    assert output.count("it is passed over\n") == 3
    assert "Profile mine" not in output and "0x5a" not in output
    assert "-> ETF at 0xe0043000" in output and "<finished>" in output and "Traceback" not in output


def test_it_is_used_when_it_is_named_and_put_back(tmp_path: Path) -> None:
    (tmp_path / "mine.etm.toml").write_text(MINE, "utf-8")
    output = run_gdb(
        [
            WITH_MINE,
            LOOK,
            "echo \\n",
            "monitor write32 0x20060000 0x11",
            "etm doctor",
            "etm doctor --fix",
            LOOK,
            "echo \\n",
            "etm on input button do mark",
            "etm info",
            "etm start",
            "continue",
            "etm history -1",
            "etm disconnect",
        ],
        tmp_path,
    )
    assert "Profile mine: The board\n" in output and "note: it is only simulated" in output
    assert "-> funnel 0xe0042000 port 0 ->" in output
    assert output.count("0x5a") >= 2 and "vendor enable: wrote what the board profile wants" in output
    assert "bad  vendor enable        CLOCKS at 0x20060000 0x00000011" in output
    assert "Event 1: on input button do mark" in output
    assert "\nProfile mine: The board\n  external inputs by name: button 2\n" in output
    assert "Traceback" not in output and "<finished>" in output


def test_another_chip_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.etm.toml").write_text(MINE.replace("0xD210", "0xD220"), "utf-8")
    output = run_gdb([WITH_MINE, "output/x *(unsigned *) 0x20060000", "echo \\n", "etm info"], tmp_path)
    assert "this is no mine: CPUID at 0xe000ed00 is 0x" in output and "nothing was written" in output
    assert "0x5a" not in output
    output = run_gdb([CONNECT + " --profile stm32h743", "output/x *(unsigned *) 0x20060000"], tmp_path)
    assert "this is no stm32h743: DBGMCU_IDC at 0x5c001000 does not answer; nothing was written" in output


def test_none_and_others_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.etm.toml").write_text(MINE, "utf-8")
    output = run_gdb([CONNECT + " --profile none", LOOK, "etm disconnect", CONNECT + " --profile nosuch"], tmp_path)
    assert "Profile mine" not in output and "ports 0, 1" in output and "0x5a" not in output
    assert 'no profile "nosuch"; there are ' in output and ", imxrt1176, " in output and "mine" in output
    assert "etm connect --profile stm32h743" in run_gdb(["complete etm connect --profile stm32h"], tmp_path)


def test_a_chip_without_a_buffer_says_so(tmp_path: Path) -> None:
    """The board has a buffer; a profile that denies it changes nothing."""
    (tmp_path / "mine.etm.toml").write_text(MINE.replace("notes =", 'no-buffer = "none there"\nnotes ='), "utf-8")
    assert "-> ETF at 0xe0043000" in run_gdb([WITH_MINE], tmp_path)
