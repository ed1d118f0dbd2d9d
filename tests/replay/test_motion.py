"""Vectors worked by hand: motion over test programs' executions."""

from __future__ import annotations

from typing import List, Optional, Sequence

import pytest

from gdb_etm.history.activations import Activations
from gdb_etm.history.path import Path
from gdb_etm.protocols.elements import Range
from gdb_etm.recovery.values import Touched
from gdb_etm.replay.console import Replay
from gdb_etm.replay.layout import m_profile
from gdb_etm.replay.motion import Motion, Stopped, Why
from gdb_etm.replay.target import Target
from gdb_etm.replay.watching import STORES, Missed
from tests.firmware.build import elf
from tests.history.executed import history_of, run_on_board

SORT = elf("sort")


class Unknown:
    """A past of which nothing but places is known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.patience = None

    def prepare(self, number: int) -> str:
        """Do nothing."""
        return ""

    def register(self, number: int, name: str) -> Optional[int]:
        """Give the program counter."""
        return self._path.address(number) if name == "pc" else None

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give nothing."""
        return None

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Know nothing."""
        return Touched(1, self._path.length, (), (), False)


class Parts(Unknown):
    """A past whose memory accesses are known part by part."""

    def __init__(self, path: Path, parts: Sequence[Touched], known_from: int = 1) -> None:
        super().__init__(path)
        self._parts = parts
        self._known_from = known_from
        self.asked: List[int] = []

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give something from some instruction on."""
        return bytes(size) if number >= self._known_from else None

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Give the part that an instruction is in."""
        self.asked.append(number)
        part = next(part for part in self._parts if part.first <= number <= part.last)
        return part._replace(numbers=part.numbers if kind == STORES else (150,)) if part.is_known else part


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


def motion_on(path: Path, past: Optional[Unknown] = None) -> Motion:
    """Make a motion at the end of the path."""
    return Motion(path, no_activations, past or Unknown(path))


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
    assert (
        list(target.answer(b"g"))[0]
        == b"x" * 8 * 15 + (motion.path.address(motion.number) or 0).to_bytes(4, "little").hex().encode() + b"x" * 8
    )


@pytest.mark.parametrize("run", [b"bs", b"bc", b"s", b"c", b"vCont;s:1;c", b"vCont;r1000,1010:1"])
def test_an_interrupt_between_two_steps_ends_the_next(path: Counting, run: bytes) -> None:
    motion = motion_on(path)
    motion.number = 300
    target = Target(Replay(motion, Unknown(path), m_profile(), "[begin]", "[end]"))
    target.interrupt()
    assert list(target.answer(b"m1000,2")) == [b"E01"]
    assert list(target.answer(run)) == [b"T02"] and motion.number == 300
    assert list(target.answer(b"bs"))[-1] == b"T05" and motion.number == 299


def test_watchpoints_stop_before_the_access_both_ways(path: Counting) -> None:
    motion = motion_on(path, Parts(path, [Touched(1, path.length, (100, 200), ())]))
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


def test_of_the_threads_only_what_ran_is_listed(path: Counting) -> None:
    target = Target(Replay(motion_on(path), Unknown(path), m_profile(), "", ""), "2f")
    assert list(target.answer(b"qfThreadInfo")) == [b"m2f"] and list(target.answer(b"qsThreadInfo")) == [b"l"]
    assert list(target.answer(b"qThreadExtraInfo,2f")) == [b"what ran then".hex().encode()]
    listed = b'l<threads><thread id="2f">what ran then</thread></threads>'
    assert list(target.answer(b"qXfer:threads:read::0,1000")) == [listed]


def test_a_watchpoint_looks_no_farther_back_than_it_has_to(path: Counting) -> None:
    past = Parts(
        path, [Touched(1, 1000, (100,), ()), Touched(1001, 2000, (1500,), ()), Touched(2001, path.length, (), ())]
    )
    motion = motion_on(path, past)
    motion.watch(STORES, 0x20000000, 4)
    assert list(motion.run(True))[-1] == Stopped(1500, Why.WATCHPOINT, None, (2, 0x20000000))
    assert min(past.asked) > 1000
    assert list(motion.run(True))[-1] == Stopped(100, Why.WATCHPOINT, None, (2, 0x20000000))


def test_a_watchpoint_stops_once_where_knowledge_ends(path: Counting) -> None:
    motion = motion_on(path, Parts(path, [Touched(1, 1000, (), (), False), Touched(1001, path.length, (1500,), ())]))
    motion.watch(STORES, 0x20000000, 4)
    motion.number = 1400
    assert list(motion.run(True))[-1] == Stopped(1000, Why.UNSEEN)
    assert list(motion.run(True))[-1] == Stopped(1, Why.BEGIN, missed=(Missed(0x20000000, 0, 998),))
    motion.number = 1001
    assert motion.step(True)[:2] == (1000, Why.UNSEEN)
    assert motion.step(True)[:2] == (999, Why.STEPPED)


def test_a_store_to_an_unknown_address_stops_where_a_value_gets_lost(path: Counting) -> None:
    part = Touched(1, path.length, (100,), (300, 400, 500))
    motion = motion_on(path, Parts(path, [part], 401))
    motion.watch(STORES, 0x20000000, 4)
    motion.number = 600
    assert list(motion.run(True))[-1] == Stopped(
        400, Why.WATCHPOINT, None, (2, 0x20000000), (Missed(0x20000000, 1, 0),)
    )
    assert not motion.is_certain(400)
    assert list(motion.run(True))[-1] == Stopped(
        100, Why.WATCHPOINT, None, (2, 0x20000000), (Missed(0x20000000, 1, 0),)
    )
    assert motion.is_certain(100)


def test_where_nothing_is_worked_out_a_watchpoint_is_taken_and_says_so(path: Counting) -> None:
    target = Target(Replay(motion_on(path), Unknown(path), m_profile(), "", ""))
    target.motion.number = 1000
    assert [list(target.answer(b"Z%d,20000000,4" % kind)) for kind in (2, 3, 4)] == [[b"OK"]] * 3
    *told, stop = [reply for reply in target.answer(b"bc") if reply is not None]
    assert stop.startswith(b"T05replaylog:begin;")
    lines = [bytes.fromhex(reply[1:].decode()).decode() for reply in told]
    assert [line for line in lines if "0x20000000" in line] == [
        "etm: on the way: 998 instructions whose accesses are not worked out; they may have been to 0x20000000\n"
    ]
