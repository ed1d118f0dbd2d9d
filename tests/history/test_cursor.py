"""The board's truth: scripts of moves against GDB's rules."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Dict, Optional, Tuple

import pytest

from gdb_etm.history.cursor import Cursor
from gdb_etm.history.frames import Frame
from gdb_etm.history.steps import MoveEnd, MoveReason, Position, Steps
from gdb_etm.protocols.elements import Gap, GapReason
from tests.firmware.build import elf, symbol
from tests.history.dwarf import DwarfPlaces
from tests.history.executed import cursor_of, history_of, run_on_board
from tests.history.plain import Place, Plain
from tests.history.reference import Act, Truth, truth_of

PROGRAMS = ("steps", "sort", "interrupts", "tasks", "tables", "branches", "fpu", "faults", "ticks")


@lru_cache(maxsize=None)
def program(name: str, version: int = 13) -> Tuple[Cursor, Truth]:
    """Run a program once; cursors are cheap, but their paths are not."""
    path = elf(name)
    items = run_on_board(path)
    places = DwarfPlaces(path, version)
    return cursor_of(history_of(path, items, symbol(path, "finished")), places), truth_of(path, items, version)


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_instruction_has_its_activation(name: str) -> None:
    cursor, truth = program(name)
    assert len(truth.addresses) == cursor.end - 1
    frames: Dict[Frame, Act] = {}
    acts: Dict[Act, Frame] = {}
    for number, act in enumerate(truth.acts, 1):
        frame = cursor.activations.frame(number)
        assert frames.setdefault(frame, act) is act and acts.setdefault(act, frame) is frame, number


def agree(cursor: Cursor, stop: MoveEnd, expected: Optional[Place], backward: bool) -> None:
    if expected is None:
        assert stop.reason is MoveReason.NO_HISTORY
        assert stop.position.number == (1 if backward else cursor.end)
    else:
        assert (stop.position.number, stop.position.hidden) == (expected.at + 1, expected.hidden)


@pytest.mark.sweep
@pytest.mark.parametrize("version", [13, 15, 16, 18])
@pytest.mark.parametrize("name", PROGRAMS)
def test_stops_are_those_of_gdbs_rules(name: str, version: int) -> None:
    cursor, truth = program(name, version)
    plain = Plain(truth)
    choose = random.Random(name)
    for _ in range(60):
        cursor.goto(choose.randint(1, cursor.end - 1))
        for _ in range(8):
            before = cursor.position
            if before.number == cursor.end:
                break
            place = Place(before.number - 1, before.hidden)
            backward = choose.random() < 0.6
            what = choose.choice(("step", "next", "finish", "stepi"))
            if what == "finish":
                if cursor.stack()[0].inlined is not None:
                    continue
                agree(cursor, cursor.finish(backward), plain.finish(place, backward), backward)
            elif what == "stepi":
                index = place.at + (-1 if backward else 1)
                inside = 0 <= index < len(truth.addresses)
                stop = cursor.step(Steps.INSTRUCTION, 1, backward)
                agree(cursor, stop, Place(index, 0) if inside else None, backward)
            else:
                size = Steps.LINE if what == "step" else Steps.LINE_OVER_CALLS
                stop = cursor.step(size, 1, backward)
                agree(cursor, stop, plain.step(place, what == "next", backward), backward)


@pytest.mark.parametrize("name", PROGRAMS)
def test_continue_stops_at_every_hit(name: str) -> None:
    cursor, truth = program(name)
    choose = random.Random(name)
    for _ in range(20):
        stops = frozenset(choose.choices(truth.addresses, k=choose.randint(1, 3)))
        hits = [number for number, address in enumerate(truth.addresses, 1) if address in stops]
        start = choose.randint(1, cursor.end)
        cursor.goto(start)
        stop = cursor.proceed(True, stops)
        assert stop.position.number == max([hit for hit in hits if hit < start], default=1)
        cursor.goto(start)
        stop = cursor.proceed(False, stops)
        assert stop.position.number == min([hit for hit in hits if hit > start], default=cursor.end)


def test_next_in_one_task_does_not_stop_in_the_other() -> None:
    cursor, truth = program("tasks")
    tasks = [number for number, act in enumerate(truth.acts, 1) if act.function == "task"]
    for number in tasks[::7]:
        cursor.goto(number)
        stop = cursor.step(Steps.LINE_OVER_CALLS)
        if stop.reason is MoveReason.STEPPED:
            assert truth.acts[stop.position.number - 1] is truth.acts[number - 1]


def test_back_out_of_the_first_frame_of_a_task_is_to_what_began_it() -> None:
    cursor, truth = program("tasks")
    begun = next(number for number, act in enumerate(truth.acts, 1) if act.function == "task")
    for number in (begun + 1, begun + 9):
        cursor.goto(number)
        stop = cursor.finish(True)
        assert stop.reason is MoveReason.LOCATION and stop.position.number == begun - 1
    assert truth.acts[begun - 2].function == "PendSV_Handler"


def test_a_frame_from_before_the_history_has_no_call_to_go_back_to() -> None:
    path = elf("sort")
    cursor = cursor_of(history_of(path, run_on_board(path)[1001:3000]), DwarfPlaces(path))
    cursor.goto(2)
    assert cursor.finish(True).reason is MoveReason.NO_HISTORY


def test_a_gap_is_come_to_from_both_sides() -> None:
    path = elf("sort")
    items = run_on_board(path)[1000:3000]
    gap = Gap(0, GapReason.OVERFLOW, "")
    cursor = cursor_of(history_of(path, [*items[:500], gap, *items[900:]]), DwarfPlaces(path))
    cursor.goto(480)
    stop = cursor.proceed()
    assert stop == MoveEnd(Position(501, stop.position.hidden), MoveReason.GAP, gap)
    assert cursor.proceed().reason is MoveReason.NO_HISTORY
    for move in (cursor.step, cursor.proceed):
        cursor.goto(501)
        stop = cursor.step(Steps.LINE, 1, True) if move == cursor.step else cursor.proceed(True)
        assert stop == MoveEnd(Position(500), MoveReason.GAP, gap)


def test_undo_and_marks() -> None:
    cursor, _ = program("steps")
    cursor.goto(100)
    cursor.goto(50)
    cursor.step(Steps.LINE)
    assert cursor.undo() and cursor.position.number == 50
    assert cursor.undo() and cursor.position.number == 100


def test_an_interrupted_move_leaves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    cursor, truth = program("sort")
    cursor.goto(20000)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cursor.path, "_comes_by", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cursor.proceed(True, frozenset([0xFFFFFFFE]))
    assert cursor.position.number == 20000
