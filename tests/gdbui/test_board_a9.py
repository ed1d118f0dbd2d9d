"""Real GDB, real pyOCD: the Cortex-A9, its truth, and OpenCSD."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

import pytest

from tests.board.test_etm_unit import assert_ranges
from tests.board.test_ptm_unit import event, known
from tests.firmware.cortex_a.build import elf
from tests.gdb_session import run_gdb
from tests.lister import list_execution

# Until the core has halted at the program's end.
HALTED = "python import time; time.sleep(%.1f)"
_LINE = re.compile(r"(\d+) +0x([0-9a-f]{8}) ")


def session(program: str, folder: Path, start: str = "", connect: str = "", seconds: float = 1.0) -> str:
    """Connect, trace the whole program, and show everything."""
    place = "--elf %s --truth %s --option board.hold=1 %s" % (elf(program), folder / "truth", connect)
    output = run_gdb(
        [
            "etm connect board:a9 --dap-only " + place,
            "etm start " + start,
            HALTED % seconds,
            "etm stop",
            "etm history 1,1000000",
            "echo >>>\\n",
            "etm functions /c -20",
            "etm save %s" % (folder / "saved"),
            "etm disconnect",
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def addresses(output: str) -> List[int]:
    return [int(match[2], 16) for match in map(_LINE.match, output.split(">>>\n")[0].splitlines()) if match]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "program, start",
    [("modes", ""), ("modes", "--cycles 1 --timestamps"), ("tables-t32", "--branch-broadcast"), ("sort-a32", "")],
)
def test_executed_is_decoded(program: str, start: str, tmp_path: Path) -> None:
    output = session(program, tmp_path, start, "--etb-size 64K")
    lines = output.splitlines()
    assert re.match(r"pyOCD [\d.]+, .*board a9: access ports only: AHB-AP 0, APB-AP 1$", lines[0])
    assert lines[1].startswith("Trace: PTM 1.0 at 0x8009c000 -> funnel 0x80004000 port")
    real = [event(line) for line in (tmp_path / "truth").read_text("ascii").splitlines() if known(line)]
    assert addresses(output) == [item for item in real if isinstance(item, int)]
    assert "[etm stop]" in lines
    assert_ranges(list_execution(str(tmp_path / "saved")), real)


def test_a_buffer_that_wrapped_holds_the_end(tmp_path: Path) -> None:
    output = session("sort-t32", tmp_path, "--branch-broadcast", "--etb-size 2K")
    found = addresses(output)
    real = [int(line, 16) for line in (tmp_path / "truth").read_text("ascii").splitlines() if line.startswith("0x")]
    assert 500 < len(found) < len(real) and found == real[-len(found) :]
    assert "before them the buffer wrapped" in output


def test_functions_and_exceptions(tmp_path: Path) -> None:
    output = session("modes", tmp_path)
    calls = output.split(">>>\n")[1].splitlines()
    names = [line.split(None, 1)[1] for line in calls if re.match(r"\d+ ", line)]
    assert names[-1] == "Reset_Handler" and {"Interrupt_Handler", "wait_for_interrupt", "double_thumb"} <= set(names)
    assert re.search(r"^<IRQ, return address 0x[0-9a-f]{8}>$", output, re.M)


def test_a_function_alone(tmp_path: Path) -> None:
    output = session("sort-t32", tmp_path, "--include 0x200-0x2ff", "--etb-size 64K")
    found = addresses(output)
    real = [int(line, 16) for line in (tmp_path / "truth").read_text("ascii").splitlines() if line.startswith("0x")]
    inside = [address for address in real if 0x200 <= address < 0x300]
    assert [address for address in found if 0x200 <= address < 0x300] == inside != []


def test_it_is_reached_by_its_access_port_alone(tmp_path: Path) -> None:
    output = run_gdb(["etm connect board:a9"])
    assert "No cores were discovered! (a Cortex-A or Cortex-R is none to pyOCD: try --dap-only)\n" in output


def test_a_core_that_has_ended_and_one_without_a_program() -> None:
    lines = run_gdb(
        [
            "etm connect board:a9 --dap-only",
            "etm disconnect",
            "etm connect board:a9 --dap-only --elf %s" % elf("sort-a32"),
            HALTED % 0.5,
            "etm start",
            "etm stop",
        ]
    ).splitlines()
    assert "the board's memory is blank: --elf PROGRAM goes into it at power-up" in lines
    runs = 'the board\'s core runs from power-up on; "--option board.hold=1" keeps it until "etm start"'
    assert lines.count(runs) == 1
    assert lines[-3].startswith("etm: 0 instructions in ")
    assert lines[-2:] == [
        'the core ran nothing that is traced since "etm start"; does it run at all?',
        "Tracing is off.",
    ]


def test_counts_inside_other_packets(tmp_path: Path) -> None:
    place = "--elf %s --option board.hold=1" % elf("sort-a32")
    output = run_gdb(
        [
            "etm connect board:a9 --dap-only " + place,
            "etm start --cycles 1",
            HALTED % 0.5,
            "etm stop",
            "etm status",
            "etm budget",
        ]
    )
    assert re.search(r"^cycle counts +on +take +\? +inside atoms and addresses", output, re.M), output
    assert ", powered, no OS Lock, claimed by us\n" in output
