"""The source, read, and a real GDB: the guide's page boards.md.

The addresses, options and faults are those of the boards, and firmware is built and traced as the page says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gdb_etm.board import bus, cortex_a_board, variants
from gdb_etm.board.dma import Dma
from gdb_etm.board.faults import Faults
from gdb_etm.board.plugin import BoardProbePlugin
from gdb_etm.board.uart import Uart
from tests.firmware.build import compiler
from tests.gdb_session import run_gdb
from tests.pages import GUIDE, ROOT, blocks

PAGE = (GUIDE / "boards.md").read_text("utf-8")
WITH_A_UNIT = [one for one in variants.VARIANTS.values() if one.unit is not None]
DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"


def build(cpu: str, folder: Path) -> None:
    """Run the page's command that builds a program for a processor."""
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    family = "a9" if cpu == "a9" else "m33"
    found = re.search(r"^    (arm-none-eabi-gcc -mcpu=cortex-%s .*)$" % family, PAGE, re.MULTILINE)
    assert found is not None
    subprocess.run(found.group(1).replace("cortex-" + family, "cortex-" + cpu).split(), cwd=str(folder), check=True)


def test_each_board_is_there_with_its_unit_and_buffer() -> None:
    rows = re.findall(r"^\| `([\w,]+)` \| .* at (0x\w+) \| (E\w+) at (0x\w+), (\d+) bytes \|$", PAGE, re.MULTILINE)
    expected = [
        (one.name, "0x%08x" % one.etm, "ETF" if one.has_etf else "ETB", "0x%08x" % one.buffer, str(one.buffer_size))
        for one in WITH_A_UNIT
    ]
    board = (variants.CORTEX_A, "0x%08x" % cortex_a_board.PTM, "ETB", "0x%08x" % cortex_a_board.ETB, "4096")
    assert sorted(rows) == sorted([*expected, board])


def test_each_micro_trace_buffer_is_there() -> None:
    for one in variants.VARIANTS.values():
        place = "MTB at" if one.unit is None else "Buffer besides, at"
        assert one.mtb is None or "%s 0x%08x" % (place, one.mtb_base) in PAGE, one.name


def test_the_funnels_are_where_it_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| funnel (0x\w+) \|$", PAGE, re.MULTILINE)
    assert rows == [(one.name, "0x%08x" % one.funnel) for one in WITH_A_UNIT if one.mtb is None]
    for name in ("ROM_TABLE", "FUNNEL", "CORE_DEBUG"):
        assert " at 0x%08x" % getattr(cortex_a_board, name) in PAGE.replace("\n", " "), name


def test_the_memory_map_is_that_of_the_bus() -> None:
    rows = re.findall(r"^\| (0x\w+) \| (0x\w+) \|", PAGE, re.MULTILINE)
    regions = [
        (bus.FLASH_BASE, bus.FLASH_SIZE),
        (bus.RAM_BASE, bus.RAM_SIZE),
    ]
    regions += [(device.base, device.size) for device in (Uart, Dma)]
    assert rows == [("0x%08x" % base, "0x%08x" % size) for base, size in regions]


def test_each_option_is_there() -> None:
    # The program is what --elf says.
    options = {option.name for option in BoardProbePlugin().options} - {"board.elf"}
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("| `board."))
    assert set(re.findall(r"`(board\.\w+)`", rows)) == options


def test_each_fault_is_there() -> None:
    rows = PAGE[PAGE.index("| faults | meaning |") :]
    names = {name.replace("-", "_") for name in re.findall(r"`([a-z-]+)(?::N)?`", rows)}
    assert names == set(Faults._fields)


@pytest.mark.parametrize("board", [one.name for one in WITH_A_UNIT if one.mtb is None])
def test_the_demo_is_built_and_traced(board: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(str(DEMO), str(tmp_path / "demo")))
    (folder / "demo.elf").unlink()
    build(board, folder)
    printed = run_gdb(["etm connect board:%s --elf demo.elf" % board, "etm start", "continue"], cwd=folder)
    assert re.search(r"^etm: [\d,]+ instructions from \w+ to dispatch", printed, re.MULTILINE), printed


def test_a_program_for_the_a9_is_built_and_traced(tmp_path: Path) -> None:
    (start,) = blocks(GUIDE / "boards.md")
    (tmp_path / "start.S").write_text(start.text)
    (tmp_path / "main.c").write_text("volatile unsigned sum;\nint main(void)\n{\n    for (;;)\n        ++sum;\n}\n")
    shutil.copy(str(DEMO / "demo.ld"), str(tmp_path))
    build("a9", tmp_path)
    commands = re.findall(r"^    \(gdb\) (.*)$", PAGE, re.MULTILINE)
    assert commands[0] == "source gdb_etm" and commands[-1] == "etm history"
    listed = run_gdb(commands[1:], cwd=tmp_path).splitlines()
    assert any(re.match(r"\d+ +0x[0-9a-f]{8} <main(\+\d+)?> ", line) for line in listed), listed[-20:]
