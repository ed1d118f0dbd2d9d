"""Vectors worked by hand on executions of the test programs: a million instructions, watchpoints, interrupted runs."""

from __future__ import annotations

from typing import List, Optional

import pytest

from gdb_etm.history.activations import Activations
from gdb_etm.history.path import Path
from gdb_etm.protocols.elements import Range
from gdb_etm.replay.layout import m_profile
from gdb_etm.replay.motion import Look, Motion, Stopped, Why
from gdb_etm.replay.target import Replay, Target
from tests.firmware.build import elf
from tests.history.executed import history_of, run_on_board

SORT = elf("sort")


class Unknown:
    """A past of which nothing but places is known."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self, number: int) -> None:
        """Do nothing."""

    def register(self, number: int, name: str) -> Optional[int]:
        """Give the program counter."""
        return self._path.address(number) if name == "pc" else None

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give nothing."""
        return None

    def accesses(self, kind: int, address: int, size: int) -> None:
        """Know nothing."""


def no_activations() -> Activations:
    """Fail: nothing here goes past an exception."""
    raise AssertionError


class Counting(Path):
    """Counts how many ranges are looked into instruction by instruction."""

    looked = 0

    def addresses(self, executed: Range) -> List[int]:
        """List the addresses in a range."""
        self.looked += 1
        return super().addresses(executed)


@pytest.fixture(name="path", scope="module")
def fixture_path() -> Counting:
    """A program that runs thirty times over: more than a million instructions."""
    executed = [item for item in run_on_board(SORT) if isinstance(item, int)]
    path = Counting(history_of(SORT, executed * 30))
    path.halted_at = executed[0]
    return path


def motion_on(path: Path, look: Look = lambda kind, address, size: []) -> Motion:
    """Make a motion at the end of the path."""
    return Motion(path, no_activations, look)


def test_a_million_instructions_back_are_looked_up_and_not_stepped(path: Counting) -> None:
    assert path.length > 1_000_000
    motion = motion_on(path)
    once = path.length // 30
    motion.number = once
    motion.breakpoints.add(path.address(5) or 0)
    assert list(motion.run(True))[-1] == Stopped(5, Why.BREAKPOINT)
    motion.number, motion.breakpoints = motion.last, {0x1000}
    path.looked = 0
    stops = list(motion.run(True))
    assert stops[-1] == Stopped(1, Why.BEGIN) and stops.count(None) == path.length >> 18
    assert path.looked < 100


def test_a_long_run_can_be_interrupted(path: Counting) -> None:
    motion = motion_on(path)
    target = Target(Replay(motion, Unknown(path), m_profile(), "[begin]", "[end]"))
    run = target.answer(b"bc")
    assert next(run) is None
    assert target.interrupted() == b"T02" and 1 < motion.number < motion.last
    assert list(target.answer(b"g"))[0] == b"x" * 8 * 15 + (motion.path.address(motion.number) or 0).to_bytes(
        4, "little"
    ).hex().encode() + b"x" * 8


def test_watchpoints_stop_before_the_access_both_ways(path: Counting) -> None:
    motion = motion_on(path, lambda kind, address, size: [100, 200] if kind == 2 else [150])
    motion.watch(2, 0x20000000, 4)
    motion.watch(3, 0x20000000, 4)
    motion.number = 300
    assert [list(motion.run(True))[-1] for _ in range(4)] == [
        Stopped(200, Why.WATCHPOINT, None, (2, 0x20000000)),
        Stopped(150, Why.WATCHPOINT, None, (3, 0x20000000)),
        Stopped(100, Why.WATCHPOINT, None, (2, 0x20000000)),
        Stopped(1, Why.BEGIN),
    ]
    motion.number = 101
    assert list(motion.run(False))[-1] == Stopped(150, Why.WATCHPOINT, None, (3, 0x20000000))
    # Going on from there stops once more, until GDB takes the watchpoint out and steps.
    assert motion.step(False) == Stopped(150, Why.WATCHPOINT, None, (3, 0x20000000))
    motion.unwatch(3, 0x20000000, 4)
    assert motion.step(False) == Stopped(151, Why.STEPPED)
    assert motion.step(True) == Stopped(150, Why.STEPPED)
