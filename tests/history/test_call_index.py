"""Real captures, and paths worked by hand: the calls of long histories."""

from __future__ import annotations

import random
from typing import Callable, List, Optional, Tuple

import pytest

from gdb_etm.history.build import build
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.calls import CallHistory, call_history
from gdb_etm.history.exits import Exits
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_
from gdb_etm.snapshot.reader import read_snapshot
from tests.history.paths import BL, BX_LR, POP_PC, B, Path
from tests.shared import capture_folder

FUNCTIONS = {"main": (0x100, 0x200), "f": (0x200, 0x300), "g": (0x300, 0x400), "handler": (0x400, 0x500)}
CAPTURES = (
    "Snowball",
    "TC2",
    "a57_single_step",
    "armv8_1m_branches",
    "trace_cov_a15",
    "v7m-svc",
    "v8m-svc",
)


def loop() -> Path:
    """Run main's loop once: f calls g, and tail-calls it."""
    p = Path(FUNCTIONS).run(0x100, 2, BL).run(0x200, 1, BL).run(0x300, 1, POP_PC).run(0x206, 0, B)
    return p.run(0x300, 3, BX_LR).run(0x108, 1, B)


def both(
    history: ExecutionHistory, resolve: Callable[[int], Optional[Function]], memory: Optional[StepMemory] = None
) -> Tuple[CallHistory, CallHistory]:
    """Give the calls as they are read, and by their index."""
    exits, paused = Exits(history.program), pauses(history)
    memory = memory if memory is not None else StepMemory(resolve, exits)
    return (
        call_history(history, resolve, exits, paused=paused),
        call_history(history, resolve, exits, paused=paused, memory=memory),
    )


def chain(frame: Frame) -> List[Tuple[object, ...]]:
    """Describe a frame and its callers."""
    frames = [frame, *frame.callers()]
    return [(one.function, one.called_at, one.return_address, one.is_tail_call, one.is_exception) for one in frames]


def agree(read: CallHistory, indexed: CallHistory, length: int) -> None:
    """Hold one against the other, whole and in windows."""
    assert (len(indexed), indexed.calls, indexed.exceptions) == (len(read), read.calls, read.exceptions)
    assert list(indexed.entries(1, len(indexed))) == list(read.entries(1, len(read)))
    assert chain(indexed.innermost(length + 1)) == chain(read.innermost(length + 1))
    chosen = random.Random(1)
    for _ in range(30):
        number = chosen.randint(1, len(read))
        assert list(indexed.entries(number, number + 5)) == list(read.entries(number, number + 5))
        number = chosen.randint(1, length)
        assert indexed.at(number) == read.at(number)
        assert chain(indexed.innermost(number)) == chain(read.innermost(number))


def test_a_loop_is_read_once() -> None:
    steps = []
    for times in (2, 20, 2000):
        p = loop().again(times)
        history, program = p.history()
        memory = StepMemory(p.resolve, Exits(program))
        read, indexed = both(history, p.resolve, memory)
        agree(read, indexed, len(history))
        steps.append(len(memory.steps))
    assert steps == [steps[0]] * 3


def test_what_is_known_serves_a_history_that_has_grown() -> None:
    p = loop().again(3).take("NMI", 2, 0x200).run(0x400, 1, BX_LR)
    history, program = p.history()
    memory = StepMemory(p.resolve, Exits(program))
    agree(*both(history, p.resolve, memory), len(history))
    before = len(memory.steps)
    history, _ = p.run(0x210, 1, BX_LR).history()
    agree(*both(history, p.resolve, memory), len(history))
    assert len(memory.steps) == before + 1


def test_the_end_in_a_handler_that_has_not_begun() -> None:
    p = loop().again(3).run(0x100, 2, BL).take("HardFault", 3, 0x200).event(Exception_(0, 0, DEBUG_HALT, None, 0x400))
    history, _ = p.history()
    read, indexed = both(history, p.resolve)
    agree(read, indexed, len(history))
    assert [called_at for _, called_at, *_ in chain(indexed.innermost(len(history) + 1))][:2] == [len(history)] * 2


def test_a_window_reads_no_more_than_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    p = loop().again(5000)
    history, program = p.history()
    _, indexed = both(history, p.resolve)
    asked: List[int] = []
    real = history.run
    monkeypatch.setattr(history, "run", lambda number: asked.append(number) or real(number))
    assert len(list(indexed.entries(20000, 20002))) == 3
    assert len(asked) < 20


def test_callers_that_later_returns_show() -> None:
    # f goes on in g without a call, calls, and returns to main, which returns to the handler, which was not seen to
    # be called either.
    p = Path(FUNCTIONS).run(0x210, 2, B).run(0x310, 1, BL).run(0x200, 1, BX_LR).run(0x316, 2, POP_PC)
    p = p.run(0x110, 1, POP_PC).run(0x410, 3, B)
    history, _ = p.history()
    read, indexed = both(history, p.resolve)
    agree(read, indexed, len(history))
    functions = [[one.name for one, *_ in chain(indexed.innermost(number))] for number in (1, 4, 6, 11, 13)]
    assert functions == [
        ["f"],
        ["g", "main", "handler"],
        ["f", "g", "main", "handler"],
        ["main", "handler"],
        ["handler"],
    ]


@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures(name: str) -> None:
    def resolve(address: int) -> Optional[Function]:
        # Any cut does.
        start = address & ~0xFF
        return Function("f%x" % start, start, start + 0x100) if start & 0x700 else None

    for capture in read_snapshot(capture_folder(name)):
        for history in build(capture._replace(buffer=capture.buffer * 2)).values():
            if len(history):
                agree(*both(history, resolve), len(history))
