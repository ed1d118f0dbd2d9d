"""The board's truth: the past of crashed programs is right.

Traced by the boards' trace units; the same crashes are held against QEMU in tests/board/test_crashes.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Tuple

import pytest

from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.recovery.values import Tier
from tests.firmware.build import symbol
from tests.firmware.crashes.build import elf
from tests.recovery.crashes import (
    ALL_FAULTS,
    NOTHING,
    PROCESS,
    UNPRIVILEGED,
    WHOLE,
    Comparison,
    Crash,
    Halt,
    compare,
    halt_of,
)

BOARDS = ("m33", "m7", "m4")
# Ways to crash that are tried on every board: on the main stack, halted where HardFault begins.
EVERYWHERE = (
    "call_odd",
    "call_null",
    "call_even",
    "call_unmapped",
    "exc_return",
    "overflow",
    "divide",
    "unaligned_pair",
    "guarded_write",
)
# How much must be known then, in percent: as much as with the first of them.
FLOOR = 84
# Crashes in other states, and how much must be known of them.
OTHERS: Dict[Crash, int] = {
    Crash("m33", "frame_even", PROCESS, ALL_FAULTS): FLOOR,
    Crash("m4", "frame_unmapped"): FLOOR,
    Crash("m7", "frame_mode", PROCESS): FLOOR,
    Crash("m33", "return_even", UNPRIVILEGED, ALL_FAULTS): FLOOR,
    Crash("m7", "jump_null", UNPRIVILEGED): FLOOR,
    Crash("m4", "unaligned"): FLOOR,
    Crash("m33", "lockup", catch=False): FLOOR,
    Crash("m4", "lockup", catch=False): FLOOR,
    Crash("m33", "vector", PROCESS, catch=False): FLOOR,
    Crash("m33", "guarded_stack", UNPRIVILEGED): FLOOR,
    Crash("m4", "guarded_stack", PROCESS, ALL_FAULTS): FLOOR,
    Crash("m4", "call_null", PROCESS, program="floats"): FLOOR,
    Crash("m7", "call_even", 0, ALL_FAULTS, "floats"): FLOOR,
    # Where the stack was is lost.
    Crash("m33", "limit"): 69,
    Crash("m33", "stacking"): 68,
    Crash("m4", "frame_lost", PROCESS): 68,
}


def looked_at(crash: Crash, folder: Path) -> Tuple[Halt, Comparison]:
    """Recover a crash; check trace, debugger and findings."""
    halt = halt_of(crash, folder)
    history = halt.history
    assert [history.instruction(number + 1).address for number in range(len(history))] == [
        address for address, _ in halt.told[:-1]
    ]
    assert {name: halt.registers[name] for name in WHOLE} == {name: halt.truth[-1][1][name] for name in WHOLE}
    gaps = [one for _, one in history.interruptions() if isinstance(one, Gap)]
    assert [gap.reason for gap in gaps] == [GapReason.TRACE_ON]
    recovery = halt.recovery()
    found = compare(halt, recovery)
    assert found.wrong == []
    assert bool(recovery.findings) == bool(halt.hidden)
    return halt, found


@pytest.mark.sweep
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("way", EVERYWHERE)
def test_the_past_is_known_however_it_crashed(way: str, board: str, tmp_path: Path) -> None:
    halt, found = looked_at(Crash(board, way), tmp_path)
    assert found.percent(Tier.ASSUMED) > FLOOR
    assert found.percent(Tier.EXACT) > 68
    _, fault = halt.history.exceptions(lambda event: event.vector == 3)[-1]
    path = elf("integers")
    expected = {
        "call_odd": NOTHING + 0x15C,
        "call_null": 0,
        "call_even": symbol(path, "mix"),
        "call_unmapped": 0xDEADBEEE,
        "divide": symbol(path, "divide"),
        "unaligned_pair": symbol(path, "pair"),
    }
    if way in expected:
        assert fault.return_address == expected[way]


def test_what_ran_before_a_lockup_of_armv7m_is_not_traced(tmp_path: Path) -> None:
    """The lockup address is not the next one (IHI 0064, 5-5)."""
    halt, found = looked_at(Crash("m7", "lockup", catch=False), tmp_path)
    assert halt.locked_up and 0 < halt.hidden < 100
    _, lockup = halt.history.exceptions(lambda event: True)[-2]
    assert (lockup.name, lockup.return_address) == ("Lockup", 0xFFFFFFFE)
    assert found.percent(Tier.ASSUMED) > 20


@pytest.mark.sweep
@pytest.mark.parametrize("crash", OTHERS, ids=lambda crash: "-".join(map(str, crash)))
def test_and_in_which_state_it_did(crash: Crash, tmp_path: Path) -> None:
    halt, found = looked_at(crash, tmp_path)
    assert halt.locked_up == (crash.way in ("lockup", "vector"))
    assert found.percent(Tier.ASSUMED) > OTHERS[crash]
    assert found.percent(Tier.EXACT) > 58
