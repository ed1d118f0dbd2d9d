"""Real GDB, simulated board: inlined functions in the function listing."""

from __future__ import annotations

from typing import List

import pytest

from tests.firmware.build import elf
from tests.gdb_session import run_gdb


@pytest.fixture(scope="module", name="lines")
def fixture_lines() -> List[str]:
    """List a program with a function inlined in an inlined one."""
    pytest.importorskip("unicorn")
    commands = ["etm connect board:m33 --elf %s" % elf("steps"), "etm start", "continue"]
    return run_gdb([*commands, "etm functions /cn 6,+2", "etm functions /n 14", "etm functions 6,+1"]).splitlines()


def test_inlined_functions_are_named_once_in_their_order(lines: List[str]) -> None:
    assert [line.split() for line in lines if line.startswith(("6 ", "7 "))] == [
        ["6", "mixed", "inlined:", "outer,", "inner"],
        ["7", "leaf"],
        ["6", "mixed"],
    ]


def test_only_those_that_ran_in_this_segment(lines: List[str]) -> None:
    assert ["14", "mixed", "inlined:", "outer"] in [line.split() for line in lines]
