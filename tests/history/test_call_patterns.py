"""Real captures, and paths worked by hand: entries by patterns."""

from __future__ import annotations

import random
from typing import Callable, Dict, List, Optional, Tuple

import pytest

from gdb_etm.history.build import build
from gdb_etm.history.calls import read_calls
from gdb_etm.history.exits import Exits
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.halts import pauses
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, ExceptionReturn, Gap, GapReason
from gdb_etm.snapshot.reader import read_snapshot
from tests.history.paths import BL, BX_LR, POP_PC, B, Path
from tests.history.test_call_index import CAPTURES, FUNCTIONS, loop
from tests.shared import capture_folder

Described = Tuple[object, ...]


def described(frame: Frame) -> Described:
    told = frame.level, frame.function, frame.return_address, frame.called_at, frame.event, frame.set_jumps
    return (*told, frame.is_tail_call, frame.is_handling, frame.is_request, frame.is_first)


def agree(history: ExecutionHistory, resolve: Callable[[int], Optional[Function]]) -> None:
    """Hold both readings against each other.

    That is the entries, their frames, who is whose caller, and the threads.
    """
    one, other = (
        read_calls(history, resolve, Exits(history.program), paused=pauses(history), by_patterns=by_patterns)
        for by_patterns in (False, True)
    )
    assert [row[:-1] for row in one.all_rows] == [row[:-1] for row in other.all_rows]
    assert (one.calls, one.exceptions) == (other.calls, other.exceptions)
    assert one.threads.threads == other.threads.threads
    same: Dict[Frame, Frame] = {}
    pairs = [(left.frame, right.frame) for left, right in zip(one.all_rows, other.all_rows)] + [
        (one.end(), other.end())
    ]
    while pairs:
        left, right = pairs.pop()
        if left in same:
            assert same[left] is right
            continue
        same[left] = right
        assert described(left) == described(right)
        if left.up is None or right.up is None:
            assert left.up is right.up
        else:
            pairs.append((left.up, right.up))
    assert len(set(same.values())) == len(same)


@pytest.fixture(name="spans")
def fixture_spans(monkeypatch: pytest.MonkeyPatch) -> List[bool]:
    """Give a list that grows with each range that is read."""
    read: List[bool] = []
    real = RangeReader.span

    def counted(self: RangeReader, span: Span) -> None:
        read.append(True)
        real(self, span)

    monkeypatch.setattr(RangeReader, "span", counted)
    return read


def test_what_repeats_is_read_once(spans: List[bool]) -> None:
    p = loop().again(1000)
    history, _ = p.history()
    found = read_calls(history, p.resolve, Exits(history.program), by_patterns=True)
    assert len(found) > 4000 and len(spans) < 100
    agree(history, p.resolve)


def test_interrupts_anywhere(spans: List[bool]) -> None:
    chosen = random.Random(3)
    p = loop().again(20)
    for _ in range(300):
        at, depth = chosen.choice([(0x104, 1), (0x202, 2), (0x302, 3)]), chosen.randint(1, 3)
        p.run(0x100, 2, BL)
        p.take("IRQ%d" % depth, 16 + depth, 0x200).run(0x400, depth, BX_LR).event(ExceptionReturn(0))
        p.run(0x200, 1, BL).run(0x300, 1, POP_PC).run(0x206, 0, B).run(0x300, 3, BX_LR).run(0x108, 1, B)
        if at[1] == chosen.randint(1, 3):
            p.event(Gap(0, GapReason.OVERFLOW, ""))
            p.run(at[0], 1, B)
    history, _ = p.history()
    read_calls(history, p.resolve, Exits(history.program), by_patterns=True)
    assert len(spans) < 1500
    agree(history, p.resolve)


def test_callers_that_only_a_return_shows() -> None:
    p = Path(FUNCTIONS)
    for _ in range(100):
        # Out of g and f, whose calls were not seen, into main, then as ever.
        p.run(0x302, 1, POP_PC).run(0x206, 1, BX_LR).run(0x108, 1, B).event(Gap(0, GapReason.OVERFLOW, ""))
    history, _ = p.history()
    agree(history, p.resolve)


def test_threads_are_read_one_by_one_and_agree() -> None:
    p = Path({**FUNCTIONS, "other": (0x600, 0x700)})
    p.run(0x100, 2, BL)
    for _ in range(200):
        p.run(0x200, 1, BL).run(0x300, 1, POP_PC).run(0x206, 0, B).switch(0x300, 0x600)
        p.run(0x602, 1, B).switch(0x604, 0x300).run(0x302, 2, BX_LR).run(0x108, 1, B).run(0x100, 2, BL)
    history, _ = p.history()
    agree(history, p.resolve)


def test_halts_within() -> None:
    p = loop().again(50)
    for at in range(40):
        p.run(0x100, 2, BL).event(Exception_(0, 0, DEBUG_HALT, None, 0x200)).event(Gap(0, GapReason.TRACE_ON, ""))
        # Some go on where they were halted, some elsewhere.
        p.run(0x200, 1, BL).run(0x300, 1, POP_PC) if at % 3 else p.run(0x300, 1, POP_PC)
        p.run(0x206, 0, B).run(0x300, 3, BX_LR).run(0x108, 1, B)
    history, _ = p.history()
    agree(history, p.resolve)


@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures(name: str) -> None:
    def resolve(address: int) -> Optional[Function]:
        # Any cut does.
        start = address & ~0xFF
        return Function("f%x" % start, start, start + 0x100) if start & 0x700 else None

    for capture in read_snapshot(capture_folder(name)):
        for history in build(capture._replace(buffer=capture.buffer * 2)).values():
            if len(history):
                agree(history, resolve)
