"""Real GDB, real pyOCD: target and program change under a session."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Iterator, Sequence

import pytest

from tests.gdb_session import ROOT, run_gdb
from tests.replay.boards import pyocd_server

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
ELF = DEMO / "demo.elf"
SORT = ROOT / "tests" / "firmware" / "sort.elf"
CONNECT = "etm connect board:m33 --elf %s" % ELF
BLANK = "etm connect board:m33 --option board.elf=%s" % ELF
FAULT = "before them the buffer wrapped"


def run(commands: Sequence[str]) -> str:
    output = run_gdb(commands, cwd=DEMO)
    assert "Traceback" not in output and "Python Exception" not in output and "Fatal signal" not in output, output
    return output


@pytest.fixture
def pyocd_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Return the port of pyOCD's own GDB server; parametrised by board."""
    board = getattr(request, "param", "m33")
    with pyocd_server(board=board) as port:
        yield port


def test_gdbs_own_connection_serves_too(pyocd_port: int) -> None:
    output = run(
        ["file %s" % ELF, "target extended-remote localhost:%d" % pyocd_port, "etm connect", "etm start", "continue"]
        + ["etm history -1", "etm disconnect", "info registers pc", "etm connect target", "etm start", "detach", "etm"]
    )
    assert "GDB is connected already: using its connection" in output
    assert "Cortex-M33 through extended-remote localhost:%d\n" % pyocd_port in output
    assert output.count("Trace: ETMv4.2 at 0xe0041000 -> funnel 0xe0042000 ports 0, 1 -> ETF at 0xe0043000") == 2
    assert "<HardFault (exception 3), return address 0x00163332>" in output
    assert "\npc  " in output
    assert "GDB's connection ended while the trace unit was programmed" in output


@pytest.mark.parametrize("pyocd_port", ["m7"], indirect=True)
def test_gdbs_own_connection_to_a_cortex_m7(pyocd_port: int) -> None:
    """Its trace unit is in another ROM table than the rest."""
    connect = ["file %s" % ELF, "target extended-remote localhost:%d" % pyocd_port, "etm connect"]
    output = run(connect + ["etm start --data addresses", "continue", "etm history /d -1"])
    assert "Cortex-M7 through extended-remote localhost:%d\n" % pyocd_port in output
    assert "Trace: ETMv4.0 at 0xe0041000 -> funnel 0xe0042000 ports 0, 1 -> ETF at 0xe0043000" in output
    assert "<HardFault (exception 3), return address 0x00163332>" in output
    assert output.count("store  4 bytes  at 0x") >= 8


@pytest.mark.parametrize("own", [False, True])
def test_run_starts_anew_and_is_traced(own: bool, pyocd_port: int) -> None:
    server = ["file %s" % ELF, "target extended-remote localhost:%d" % pyocd_port, "etm connect"]
    output = run(
        (server if own else [CONNECT]) + ["etm start", "tbreak dispatch", "run", "start", "etm functions -2", "etm"]
    )
    counts = "etm: 1,782 instructions from Reset_Handler to main, 52 calls, 11 exceptions in 240 bytes"
    assert counts + "\n" in output
    assert "      [gap: tracing was off: the debugger moved the core]\n138   Reset_Handler\n139   main\n" in output
    assert "tracing is on; 2 captures at hand" in output


@pytest.mark.parametrize("command", ["detach", "kill", "disconnect"])
def test_letting_go_of_the_target_ends_the_connection(command: str) -> None:
    output = run([CONNECT, "etm start", command, "etm", CONNECT, "etm start", "continue", command])
    assert "\nNot connected; no captures.\n" in output
    assert output.count("Trace: ETMv4.2") == 2 and FAULT in output
    assert "etm: GDB" not in output


def test_load_fills_the_blank_board() -> None:
    output = run(
        ["etm connect board:m33", "file %s" % ELF, "load", "monitor reset halt", "etm start", "continue"]
        + ["etm history -1"]
    )
    assert 'the board\'s flash is blank: "load", then "monitor reset halt"' in output
    assert "<dispatch+20>" in output


def test_without_a_program_the_events_tell_why_and_a_file_helps_later() -> None:
    output = run([BLANK, "etm start", "continue", "etm history", "file %s" % ELF, "etm history -1", "etm functions -2"])
    assert 'no program yet: "file PROGRAM" lets the trace be decoded' in output
    assert 'etm: 4,096 bytes; before them the buffer wrapped; no program: "file PROGRAM" lets them be decoded' in output
    assert re.search(r"^\[\d+ events before these\]$", output, re.M)
    assert "[gap: no code at 0x0000013e]\n<HardFault (exception 3), return address 0x00163332>\n" in output
    assert 'no instructions: there is no program; "file" or --elf gives one\n' in output
    assert re.search(r"^18364 +0x00000304 <dispatch\+20> +blx +r3$", output, re.M)
    assert re.search(r"^1410 +dispatch$", output, re.M)


def test_a_program_that_is_not_the_targets_is_said_everywhere() -> None:
    output = run(["file %s" % SORT, BLANK, "etm start", "continue", "etm history -1", "etm functions -1"])
    assert re.search(r"^etm: .*; the program and the target's memory differ$", output, re.M)
    assert "the program and the target's memory differ: instructions marked ! are not what" in output
    assert re.search(r"^\d+ ! 0x", output, re.M)
    assert "the program and the target's memory differ: some of what is listed may never have run\n" in output


def test_names_follow_the_symbols_that_gdb_has(tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(stripped), str(ELF)], check=True)
    connect = "etm connect board:m33 --elf %s" % stripped
    output = run([connect, "etm start", "continue", "etm functions -2", "file %s" % ELF, "etm functions -2"])
    assert "1410   ?? at 0x000002f0\n" in output and "1410   dispatch\n" in output


def test_a_start_that_the_unit_cannot_do_leaves_tracing_on() -> None:
    output = run([CONNECT, "etm start", "etm start --include 0-0xff", "etm status", "continue"])
    assert "no address comparators (TRCIDR4.NUMACPAIRS), and of the DWT's, which match single addresses, 4" in output
    assert "\ntrace unit: on, " in output and "etm: 18,364 instructions from " in output


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--elf /bin/true", "/bin/true is for EM_X86_64, not for an Arm processor"),
        ("--etb-size 0", "board:m33: a trace buffer of 0 bytes: give a multiple of 16 from 512 to 16 MiB"),
        ("--option board.faults=busy", "board:m33 is in use by another program"),
        ("--option board.fault=busy", 'pyOCD takes no session option "board.fault=busy"; did you mean board.faults?'),
    ],
)
def test_a_failed_connection_is_one_line_and_the_next_one_works(arguments: str, message: str) -> None:
    lines = run(["etm connect board:m33 " + arguments, "echo >>>\\n", CONNECT]).splitlines()
    assert lines[:2] == [message, ">>>"] and lines[-2].startswith("Trace: ")


def test_a_program_for_another_processor_is_told_before_connecting() -> None:
    lines = run(["file /bin/true", "etm connect board:m33", "etm"]).splitlines()
    assert lines[0].endswith(" is for EM_X86_64, not for an Arm processor")
    assert lines[1] == "Not connected; no captures."
