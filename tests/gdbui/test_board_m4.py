"""Real GDB, real pyOCD: the Cortex-M4, its truth, and OpenCSD."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Tuple

import pytest

from gdb_etm.snapshot.reader import read_snapshot
from tests.board.test_etmv3_unit import listed, truth, untold
from tests.execution import Event
from tests.firmware.build import symbol
from tests.firmware.cortex_a.build import elf as elf_a9
from tests.firmware.cortex_m4.build import elf
from tests.gdb_session import run_gdb

_LINE = re.compile(r"(\d+) +0x([0-9a-f]{8}) ")


def session(program: str, folder: Path, *commands: str, connect: str = "") -> str:
    """Connect, trace the program to its end, run more commands.

    ``etm start`` is among them.
    """
    place = "--elf %s --truth %s %s" % (elf(program), folder / "truth", connect)
    output = run_gdb(["etm connect board:m4 " + place, *commands, "etm disconnect"])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def addresses(output: str) -> List[int]:
    return [int(match[2], 16) for match in map(_LINE.match, output.splitlines()) if match]


def lines_of(folder: Path) -> List[str]:
    """Return the truth from the first resume to its halt."""
    lines = (folder / "truth").read_text("ascii").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    return lines[start + 1 : next(at for at, line in enumerate(lines) if at > start and line.startswith("halt"))]


def real(folder: Path) -> List[Event]:
    return truth(lines_of(folder))


def instructions(folder: Path) -> List[int]:
    return [each for each in real(folder) if isinstance(each, int)]


def test_what_is_found(tmp_path: Path) -> None:
    lines = session("tables", tmp_path, "etm info").splitlines()
    assert re.match(r"pyOCD [\d.]+, .*board m4: Cortex-M4 r0p1, GDB server on /.*/gdb_etm-\w+/gdb$", lines[1])
    assert lines[2] == "Trace: ETMv3.5 at 0xe0041000 -> funnel 0xe0043000 ports 0, 1 -> ETB at 0xe0042000, 2 KiB"
    assert "The trace unit has: 48-bit timestamps, branch broadcast, 4 comparators of the DWT" in lines


def test_the_stack_at_a_halt(tmp_path: Path) -> None:
    # The trace does not say where the core was halted; the core does.
    commands = ["etm start", "break swap", "continue", "etm backtrace", "finish", "etm backtrace"]
    output = session("sort", tmp_path, *commands)
    frames = re.findall(r"^#\d  (?:0x[0-9a-f]+ in )?(\w+) \(.*\) at sort.c:(\d+)$", output, re.MULTILINE)
    assert frames == [("swap", "38"), ("quick_sort", "55"), ("run", "121"), ("quick_sort", "55"), ("run", "121")]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "program, start", [("interrupts", ""), ("tasks", "--timestamps"), ("tables", "--branch-broadcast"), ("sort", "")]
)
def test_executed_is_decoded(program: str, start: str, tmp_path: Path) -> None:
    save = "etm save %s" % (tmp_path / "saved")
    commands = ("etm start " + start, "continue", "etm history 1,1000000", save)
    output = session(program, tmp_path, *commands, connect="--etb-size 256K")
    assert "Program received signal SIGTRAP" in output
    assert addresses(output) == instructions(tmp_path)
    if program != "interrupts":
        # Of cancelled instructions OpenCSD takes only some back.
        (capture,) = read_snapshot(str(tmp_path / "saved"))
        assert listed(capture, tmp_path / "snapshot") == untold(real(tmp_path))


def test_a_buffer_that_wrapped_holds_the_end(tmp_path: Path) -> None:
    output = session("sort", tmp_path, "etm start", "continue", "etm history 1,1000000")
    assert "before them the buffer wrapped" in output
    found = addresses(output)
    assert 1000 < len(found) and found == instructions(tmp_path)[-len(found) :]


def test_exceptions_functions_and_failed_conditions(tmp_path: Path) -> None:
    output = session("interrupts", tmp_path, "etm start", "continue", "etm functions", "etm history 1,1000000")
    assert re.search(r"^\d+ +<IRQ3 \(exception 19\)>\n\d+ +IRQ3_Handler$", output, re.M)
    failed = [int(line.split()[0], 16) for line in lines_of(tmp_path) if line.endswith("failed")]
    told = re.findall(r"0x([0-9a-f]{8}) .*\[condition failed\]$", output, re.M)
    assert [int(address, 16) for address in told] == failed != []


def test_a_block_of_addresses_by_the_dwt(tmp_path: Path) -> None:
    first = symbol(elf("sort"), "run") & ~0xF
    include = "etm start --include 0x%x-0x%x" % (first, first + 15)
    output = session("sort", tmp_path, include, "continue", "etm history 1,1000000")
    assert "the filter takes comparators of the DWT" in output
    assert addresses(output) == [each for each in instructions(tmp_path) if first <= each < first + 16] != []


def test_a_watchpoint_halts_and_gives_its_history(tmp_path: Path) -> None:
    output = session(
        "interrupts", tmp_path, "tbreak run", "continue", "etm start", "watch length", "continue", "etm history -1"
    )
    assert "Hardware watchpoint 2: length" in output
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    last = addresses(output)[-1]
    assert "<IRQ2_Handler+6>   str" in output.splitlines()[-3]
    # An ETMv3 does not say where the core was halted; the debugger does.
    assert output.splitlines()[-2].startswith("[halt in IRQ2_Handler")
    assert lines[lines.index("halt 0x%08x" % (last + 2)) - 1] == "0x%08x" % last


def test_loads_and_stores(tmp_path: Path) -> None:
    commands = ("set etm data both", "etm start --cycles 1", "continue", "etm history /d 1,1000000")
    output = session("transfers", tmp_path, *commands, connect="--data-trace --etb-size 1M --option board.truth_data=1")
    assert "data addresses and values" in output and "no loads and stores in this trace" not in output
    assert addresses(output) == instructions(tmp_path)
    form = r"\n +(load|store) +(\d) bytes? +at 0x([0-9a-f]{8}) .*= 0x([0-9a-f]+)"
    moved = [(m[1], int(m[3], 16), int(m[2]), int(m[4], 16)) for m in re.finditer(form, output)]
    words = [line.split() for line in lines_of(tmp_path) if line.startswith(("load", "store"))]
    told: List[Tuple[str, int, int, int]] = [
        (kind, int(address, 16), int(size), int(value, 16)) for kind, address, size, value in words
    ]
    # A store-exclusive has a second line in the truth, for its success.
    told = [each for at, each in enumerate(told) if not (each[3] == 0 and at and each[:3] == told[at - 1][:3])]
    assert len(moved) > 900 and moved == told


def test_the_units_own_comparators(tmp_path: Path) -> None:
    first = symbol(elf("sort"), "run")
    commands = ("etm start --include 0x%x-0x%x --cycles 1" % (first, first + 31), "continue", "etm history 1,1000000")
    output = session("sort", tmp_path, *commands, connect="--data-trace")
    assert addresses(output) == [each for each in instructions(tmp_path) if first <= each < first + 32] != []


@pytest.mark.parametrize("end", ["etm disconnect", "detach", "kill"])
def test_the_next_program_takes_the_place_of_the_last(end: str, tmp_path: Path) -> None:
    commands = [
        "etm connect board:m4 --elf %s" % elf("sort"),
        end,
        "etm connect board:m4 --elf %s --etb-size 64K --truth %s" % (elf("tables"), tmp_path / "truth"),
    ]
    output = run_gdb([*commands, "etm start", "continue", "etm history 1,1000000", "etm disconnect"])
    assert "differ" not in output and addresses(output) == instructions(tmp_path)


def test_a_program_of_another_profile_is_named(tmp_path: Path) -> None:
    strange = elf_a9("sort-a32")
    output = run_gdb(
        [
            "etm connect board:m4 --elf %s" % elf("sort"),
            "etm start",
            "continue",
            "etm history -1",
            "etm disconnect",
            "file %s" % strange,
            "echo >>>\\n",
            "etm history -1",
            "etm functions -1",
            "etm connect board:m4 --elf %s" % strange,
        ]
    )
    before, after = output.split(">>>\n")
    note = "another program than this capture's is loaded now; names and lines are of that one\n"
    assert note not in before and after.count(note) == 2
    assert "sort-a32.elf is built for a Cortex-A: a Cortex-M4 r0p1 does not run it\n" in after


def test_what_is_not_traced_is_said_once(tmp_path: Path) -> None:
    output = session(
        "sort",
        tmp_path,
        "etm start --data addresses",
        "continue",
        "etm history /d 1,200",
        connect="--data-trace --etb-size 64K",
    )
    assert output.count('values of loads and stores are not traced; "etm start --data both" traces them\n') == 1
    assert re.search(r"^ +store +4 bytes +at 0x[0-9a-f]{8}", output, re.M) and "value unknown" not in output
