"""Real GDB, real pyOCD: DWT comparators for the trace unit.

The history is the board's truth, cut by the filters; a watchpoint and a filter do not share a comparator.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, Tuple

import pytest

from tests.firmware.build import elf, symbol
from tests.gdb_session import run_gdb
from tests.gdbui.traced import Wanted, branches, cut, filtered, history, instructions, truth


@pytest.mark.parametrize(
    "board, filters",
    [("m33", ["start IRQ1_Handler", "stop note"]), ("m33", ["stop pend"]), ("m7", ["start pend", "stop IRQ1_Handler"])],
)
def test_from_a_function_to_another(board: str, filters: List[str], tmp_path: Path) -> None:
    path = elf("interrupts")
    output = filtered(board, path, tmp_path, filters)
    assert "note: the filter takes comparators of the DWT (3" in output
    assert history(output) == cut(truth(tmp_path), Wanted(path, filters), branches(path)) != []


def _block(path: str, name: str, size: int) -> Tuple[int, int]:
    first = symbol(path, name) & -size
    return first, first + size - 1


@pytest.mark.parametrize("kind", ["include", "exclude"])
def test_aligned_blocks_of_an_m7(kind: str, tmp_path: Path) -> None:
    """An event switches the trace between blocks (IHI 0064, 4.1.2)."""
    path = elf("sort")
    filters = ["%s 0x%x-0x%x" % (kind, *_block(path, "is_even", 64))]
    output = filtered("m7", path, tmp_path, filters)
    assert "note: an event switches the trace" in output
    found, ran = history(output), [each.address for each in instructions(tmp_path)]
    view, inside = Wanted(path, filters), branches(path)
    exact = cut(truth(tmp_path), view, inside)
    assert found and len(found) < len(ran)
    assert set(found) <= set(ran) and abs(len(found) - len(exact)) <= len(exact) // 2


def test_a_watchpoint_takes_its_own(tmp_path: Path) -> None:
    """The watchpoint has comparator 0, the filter 3, until "etm disconnect"."""
    path = elf("interrupts")
    output = run_gdb(
        [
            "file %s" % path,
            "etm connect board:m33 --elf %s --etb-size 1M" % path,
            "etm filter start pend",
            "etm plan",
            "etm start",
            "output/x *(unsigned *) 0xe0001058",
            "echo \\n",
            "continue",
            "etm history -1",
            "etm diff",
            "monitor reset halt",
            "watch *(unsigned *) 0x20000000",
            "continue",
            "etm history -1",
            "etm disconnect",
        ]
    )
    assert "DWT_FUNCTION3  0x00000402  DATAVSIZE=1 MATCH=2  tell the trace unit of it" in output
    assert "0x50000402" in output and "As planned: " in output and "Hardware watchpoint 1" in output
    assert "Traceback" not in output


def test_a_point_that_may_be_missed_is_told() -> None:
    """IHI 0064, 4.2.4: 0x130 of branches.elf is IT."""
    path = elf("branches")
    output = run_gdb(
        [
            "file %s" % path,
            "etm connect board:m33 --elf %s" % path,
            "etm filter start *0x132",
            "etm on exec *0x13c do mark",
            "etm filter stop *0x130",
        ]
    )
    assert output.count("is in the shadow of an IT instruction and may be missed; take that, 0x00000130") == 1
    assert "note: 0x0000013c is in the shadow of an IT instruction and may be missed; take that, 0x0000013a" in output
