"""The source, read: the guide's page of the boards has the addresses and options that the boards have."""

from __future__ import annotations

import re

from gdb_etm.board import bus, cortex_a_board, variants
from gdb_etm.board.plugin import BoardProbePlugin
from gdb_etm.board.uart import Uart
from tests.pages import GUIDE

PAGE = (GUIDE / "boards.md").read_text("utf-8")


def test_each_board_is_there_with_its_unit_and_buffer() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* at (0x\w+) \| (E\w+) at (0x\w+), (\d+) bytes \|$", PAGE, re.MULTILINE)
    expected = [
        (one.name, "0x%08x" % one.etm, "ETF" if one.has_etf else "ETB", "0x%08x" % one.buffer, str(one.buffer_size))
        for one in variants.VARIANTS.values()
    ]
    board = (variants.CORTEX_A, "0x%08x" % cortex_a_board.PTM, "ETB", "0x%08x" % cortex_a_board.ETB, "4096")
    assert rows == [*expected, board]


def test_the_memory_map_is_that_of_the_bus() -> None:
    rows = re.findall(r"^\| (0x\w+) \| (0x\w+) \|", PAGE, re.MULTILINE)
    regions = [(bus.FLASH_BASE, bus.FLASH_SIZE), (bus.RAM_BASE, bus.RAM_SIZE), (Uart.base, Uart.size)]
    assert rows == [("0x%08x" % base, "0x%08x" % size) for base, size in regions]


def test_each_option_is_there() -> None:
    # The program is what --elf says.
    options = {option.name for option in BoardProbePlugin().options} - {"board.elf"}
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("| `board."))
    assert set(re.findall(r"`(board\.\w+)`", rows)) == options
