"""Worked by hand, and the board's truth: what devices were told."""

from __future__ import annotations

from typing import Any, List

import pytest

from gdb_etm.recovery import recovery as made
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.transfers import Length, Transfer, regions
from gdb_etm.recovery.values import CoreState, Tier
from tests.diagnosis.test_faulty import run as faulty
from tests.firmware.faulty.verdict import judge
from tests.recovery.small import DEVICE, RAM, Ran, run
from tests.recovery.test_doubts import disturbed, findings

DST, COUNT, CTRL = 0x40020004, 0x40020008, 0x4002000C
TARGET = RAM + 64
# A device is told to write to r1; r0 and r3 are stored there and behind it before.
TOLD = """
    str r0, [r1]
    str r3, [r1, #8]
    str r3, [r1, #16]
    str r1, [r4]
    movs r2, #%d
    str r2, [r4, #4]
    ldr r5, [r1, #16]
    movs r0, #0
    movs r3, #0
"""


def transfer(target: int, count: int, control: int = 1) -> Transfer:
    """Make one of a channel as DMA0 is."""
    return Transfer(10, DST, target, (Length(11, COUNT, count), Length(12, CTRL, control)))


def test_bytes_come_before_larger_units() -> None:
    one = transfer(0x20000100, 32)
    assert one.reaching(0x20000100, 4) == (Length(11, COUNT, 32), 32)
    assert one.reaching(0x2000011C, 4) == (Length(11, COUNT, 32), 32)


def test_a_length_may_count_halfwords_or_words() -> None:
    one = transfer(0x20000100, 32)
    assert one.reaching(0x20000120, 4) == (Length(11, COUNT, 32), 64)
    assert one.reaching(0x20000140, 4) == (Length(11, COUNT, 32), 128)
    assert one.reaching(0x20000180, 4) is None


def test_the_shortest_length_that_reaches_is_taken() -> None:
    one = transfer(0x20000100, 32, 0x3081)
    assert one.reaching(0x20000104, 4) == (Length(11, COUNT, 32), 32)


def test_nothing_before_its_address_is_reached() -> None:
    assert transfer(0x20000100, 32).reaching(0x200000FE, 4) is None
    assert Transfer(10, DST, 0x20000100, ()).reaching(0x20000100, 4) is None


def test_pieces_that_touch_are_one() -> None:
    found = [transfer(0x20000100, 32), transfer(0x20000120, 16), transfer(0x20000200, 8), transfer(0x20000110, 4)]
    assert regions(found) == ((0x20000100, 0x20000130), (0x20000200, 0x20000208))


def told(count: int) -> Ran:
    """Run the program in which a device is told to write."""
    return run(TOLD % count, {"r0": 5, "r1": TARGET, "r3": 6, "r4": DEVICE + 4})


@pytest.fixture(name="solved")
def count_solutions(monkeypatch: pytest.MonkeyPatch) -> List[bool]:
    """List, for each solution of a piece, whether it contradicts itself."""
    found: List[bool] = []

    class Counted(Solution):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self.contradiction is not None)

    monkeypatch.setattr(made, "Solution", Counted)
    return found


@pytest.mark.parametrize("count, size", [(16, 16), (4, 16)])
def test_what_a_device_was_told_to_write_is_not_believed(count: int, size: int, solved: List[bool]) -> None:
    ran = told(count)
    recovery = Recovery(ran.history, disturbed(ran, {TARGET: 7, TARGET + 8: 9}))
    (text,) = findings(recovery)
    assert text.endswith("what a device was told to write is not known: %d bytes at %#x" % (size, TARGET))
    assert recovery.volatile == ((TARGET, TARGET + size),)
    # All else is as sure as before, and nothing was given up.
    assert recovery.register(1, "r1")[:2] == (TARGET, Tier.EXACT)
    assert recovery.register(8, "r5")[:2] == (6, Tier.EXACT)
    assert recovery.memory(8, TARGET, 1)[0].value is None
    # That a length counts words is found out when it is too short in bytes.
    assert solved == ([True, False] if count == size else [True, True, False, False])


def test_the_same_without_a_device_is_doubted(solved: List[bool]) -> None:
    ran = run(TOLD.replace("str r1, [r4]", "str r3, [r4]") % 16, {"r0": 5, "r1": TARGET, "r3": 6, "r4": DEVICE + 4})
    recovery = Recovery(ran.history, disturbed(ran, {TARGET + 8: 9}))
    assert "the word at %#x" % (TARGET + 8) in findings(recovery)[0]
    assert recovery.volatile == () and solved[0] and not solved[-1]


def test_memory_that_nobody_has_written_contradicts_nothing(solved: List[bool]) -> None:
    ran = told(16)
    recovery = Recovery(ran.history, CoreState(ran.end.registers, ran.end.read))
    assert not findings(recovery) and recovery.volatile == () and solved == [False]


@pytest.mark.parametrize("program, level, board", [("camera", "Os", "m33"), ("recorder", "Og", "m33")])
def test_faulty_transfers_are_found_out_at_once(program: str, level: str, board: str, solved: List[bool]) -> None:
    assert judge(faulty(program, level, board)).mark == "named"
    assert solved[-1:] == [False] and len(solved) <= 4
