"""Real GDB, real pyOCD: options of the trace unit.

The history is the board's truth with each option, and the trace holds what was asked for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Sequence

import pytest

from tests.firmware.build import elf, size, symbol
from tests.firmware.cortex_a.build import elf as elf_a
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdb_session import run_gdb
from tests.gdbui.traced import history, instructions, ran_on_a9, traced

_FULL = "--etb-size 1M --option board.comparators=4"


def session(
    board: str, path: str, folder: Path, settings: Sequence[str], more: Sequence[str] = (), options: str = _FULL
) -> str:
    """Run a program with settings; print its history, and ``more``."""
    return traced(board, path, folder, ["set etm " + each for each in settings], options, more)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "board, settings, words",
    [
        ("m33", ["cycle-count 16", "timestamps on"], "cycle counts of 16 and more, timestamps"),
        ("m33", ["return-stack off", "branch-broadcast on"], "return stack off"),
        ("m33", ["stall 4"], "stalling at level 4 of 15"),
        (
            "m7",
            ["sync-period 256", "stall on", "data both"],
            "data addresses and values, a sync every 256 bytes, stalling",
        ),
        ("m7", ["sync-period 4K", "cycle-count 4"], "a sync every 4,096 bytes, cycle counts of 4 and more"),
    ],
)
def test_history_is_the_truth(board: str, settings: List[str], words: str, tmp_path: Path) -> None:
    output = session(board, elf("sort"), tmp_path, settings)
    assert words in output
    assert history(output) == [each.address for each in instructions(tmp_path)] != []


def test_conditional_instructions(tmp_path: Path) -> None:
    """Failed ones are those of the truth, without branches."""
    output = session("m33", elf("transfers"), tmp_path, ["conditional all"])
    assert "conditions of all instructions" in output
    ran = [each.address for each in instructions(tmp_path)]
    assert history(output) == ran != []
    failed = re.findall(r"^0x([0-9a-f]{8}) failed$", (tmp_path / "truth").read_text("ascii"), re.M)
    told = re.findall(r"^\d+ .* 0x([0-9a-f]{8}) .*condition failed", output, re.M)
    assert told == failed != []


def test_branch_broadcast_of_one_function(tmp_path: Path) -> None:
    """Addresses are traced of one function's branches, and indirect ones."""
    path = elf("sort")
    addresses: List[int] = []
    for setting in ("off", "is_even", "on"):
        output = session("m33", path, tmp_path, ["branch-broadcast " + setting], ["etm budget"])
        assert history(output) == [each.address for each in instructions(tmp_path)] != []
        rows = re.findall(r"^  (?:Short Address|Long Address|Exact Match Address)\s+([\d,]+)", output, re.M)
        addresses.append(sum(int(row.replace(",", "")) for row in rows))
        if setting == "is_even":
            first = symbol(path, "is_even")
            assert "branch broadcast at 0x%08x-0x%08x" % (first, first + size(path, "is_even") - 1) in output
    assert addresses[0] < addresses[1] < addresses[2]


def test_what_the_board_lacks_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    output = session("m33", elf("sort"), tmp_path, ["context id"])
    assert "Context ID: not in this trace unit (TRCIDR2.CIDSIZE is 0)" in output
    assert "Tracing" not in output


@pytest.mark.sweep
@pytest.mark.parametrize(
    "settings, words",
    [
        (["cycle-count 1", "timestamps on"], "cycle counts of 1 and more, timestamps"),
        (["sync-period 512", "stall 15", "branch-broadcast on"], "a sync every 512 bytes, branch broadcast, stalling"),
        (["conditional all"], "note: an ETMv3 always traces whether the condition of each instruction held"),
    ],
)
def test_fuller_unit_of_the_m4(settings: List[str], words: str, tmp_path: Path) -> None:
    output = session("m4", elf_m4("sort"), tmp_path, settings, options="--data-trace --etb-size 1M")
    assert words in output
    assert history(output) == [each.address for each in instructions(tmp_path)] != []


@pytest.mark.sweep
@pytest.mark.parametrize(
    "settings, words",
    [
        (["context both"], "VMID: not in this trace unit"),
        (["context id", "cycle-count 1"], "cycle counts of 1 and more, Context IDs"),
        (["return-stack on", "timestamps on"], "return stack on, "),
        (["return-stack on", "branch-broadcast on"], "branch broadcast: choose one of them (ETMCR.ReturnStack)"),
    ],
)
def test_unit_of_the_a9(settings: List[str], words: str, tmp_path: Path) -> None:
    output = traced("a9", elf_a("modes"), tmp_path, ["etm set " + each for each in settings])
    assert words in output
    if "Tracing everything" in output:
        assert history(output) == ran_on_a9(tmp_path) != []


@pytest.mark.parametrize("kind", ["data-include", "data-exclude"])
def test_loads_and_stores_of_a_variable(kind: str, tmp_path: Path) -> None:
    """An ETMv3 with comparators of data; the variable is found by GDB."""
    path = elf_m4("sort")
    first = symbol(path, "data")
    last = first + size(path, "data") - 1
    output = run_gdb(
        [
            "file %s" % path,
            "etm connect board:m4 --elf %s --data-trace --etb-size 1M" % path,
            "set etm data addresses",
            "etm filter %s data" % kind,
            "etm filter list",
            "etm start",
            "continue",
            "etm history /d 1,1000000",
            "etm disconnect",
        ]
    )
    assert "1    %s data  0x%08x-0x%08x  pair 4" % (kind, first, last) in re.sub(r"  +pair", "  pair", output)
    seen = [int(each, 16) for each in re.findall(r"^ +(?:load|store) .* at 0x([0-9a-f]+)", output, re.M)]
    assert seen and all((first <= address <= last) == (kind == "data-include") for address in seen)
