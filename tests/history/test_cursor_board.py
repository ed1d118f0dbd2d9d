"""Real pyOCD and the board's truth: activations of a decoded trace."""

from __future__ import annotations

import time
from typing import Any, Dict, Set

import pytest

from gdb_etm.history.build import build
from gdb_etm.history.frames import Frame
from gdb_etm.history.steps import Steps
from gdb_etm.program.image import Program, load_elf
from gdb_etm.traceunit.options import TraceOptions
from tests.firmware.build import elf, symbol
from tests.history.dwarf import DwarfPlaces
from tests.history.executed import cursor_of, run_on_board
from tests.history.plain import Place, Plain
from tests.history.reference import Act, truth_of
from tests.traceunit.live import fixture_boards

__all__ = ["fixture_boards"]

_SECONDS = 30


@pytest.mark.parametrize("name", ["sort", "interrupts", "tasks", "faults"])
@pytest.mark.parametrize("size", [1 << 20, 512])
def test_walk_through_a_trace(boards: Any, name: str, size: int) -> None:
    path = elf(name)
    live = boards(path, etb_size=size)
    session = live.trace_session()
    session.start(TraceOptions())
    live.core.resume()
    end = time.monotonic() + _SECONDS
    while live.core.get_state() is not live.core.State.HALTED and time.monotonic() < end:
        time.sleep(0.01)
    history = next(iter(build(session.drain("walk"), Program(load_elf(path))).values()))
    places = DwarfPlaces(path)
    cursor = cursor_of(history, places)
    truth = truth_of(path, run_on_board(path))
    before = len(truth.addresses) - len(history)
    assert len(history) > 150 and before >= 0 and (before == 0 or size < 1 << 20)
    assert cursor.path.halted_at == symbol(path, "finished")
    _same_activations(cursor, truth, before)
    plain = Plain(truth)
    for number in range(cursor.end - 1, cursor.end - 150, -7):
        cursor.goto(number)
        expected = plain.step(Place(before + number - 1, 0), False, True)
        stop = cursor.step(Steps.LINE, 1, True)
        assert expected is not None and stop.position.number == max(expected.at + 1 - before, 1)


def _same_activations(cursor: Any, truth: Any, before: int) -> None:
    frames: Dict[Frame, Act] = {}
    unseen: Set[Act] = set()
    for number in range(1, cursor.end):
        act, frame = truth.acts[before + number - 1], cursor.activations.frame(number)
        if frames.setdefault(frame, act) is not act:
            # Where the buffer wrapped, which activation goes on is known only by what was seen of it.
            assert before, number
            unseen.add(act)
    assert len(unseen) <= 2
