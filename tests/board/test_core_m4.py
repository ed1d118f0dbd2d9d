"""Real pyOCD on board m4: the core, breakpoints, watchpoints."""

from __future__ import annotations

from pathlib import Path
from typing import List

import pytest
from pyocd.core.target import Target

from tests.board import hand
from tests.firmware.build import symbol
from tests.firmware.cortex_m4.build import elf

DFSR, DWTTRAP = 0xE000ED30, 1 << 2


def test_the_core_is_recognised() -> None:
    with hand.board("m4") as session:
        assert session.target.cores[0].name == "Cortex-M4"
        assert session.target.read32(0xE000ED00) == 0x410FC241
        assert session.target.cores[0].dwt.watchpoint_count == 4


def test_breakpoints() -> None:
    with hand.board("m4", elf=elf("sort")) as session:
        # Instructions at either halfword of a word.
        first = symbol(elf("sort"), "run")
        for address in (first, first + 2):
            session.target.set_breakpoint(address, Target.BreakpointType.HW)
            hand.run_to_halt(session)
            assert session.target.read_core_register("pc") == address
            session.target.remove_breakpoint(address)


@pytest.mark.parametrize("kind", [Target.WatchpointType.WRITE, Target.WatchpointType.READ])
def test_watchpoints(kind: Target.WatchpointType, tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    path = elf("interrupts")
    wanted = "store" if kind is Target.WatchpointType.WRITE else "load"
    with hand.board("m4", elf=path, truth=str(truth), truth_data=True) as session:
        address = symbol(path, "length")
        session.target.set_watchpoint(address, 4, kind)
        hand.run_to_halt(session)
        assert session.target.read32(DFSR) & DWTTRAP
        session.target.remove_watchpoint(address, 4, kind)
        lines = hand.read_truth(truth)
    # The core halts right after the access, and this is the first one.
    assert lines[-2].startswith("%s 0x%08x" % (wanted, address))
    assert sum(line.startswith("%s 0x%08x" % (wanted, address)) for line in since_reset(lines)) == 1


def since_reset(lines: List[str]) -> List[str]:
    """Return what ran after the last reset."""
    begin = max(index for index, line in enumerate(lines) if line.startswith("resume"))
    return lines[begin:]
