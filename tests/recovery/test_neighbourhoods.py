"""The board's truth: places of a history that are worked out alone.

How much is worked on is counted in instructions.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.objects import load_objects
from gdb_etm.program.ram import load_writable
from gdb_etm.recovery import recovery as recovery_module
from gdb_etm.recovery.neighbourhoods import REACHES, Answers
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.values import Tier, Value
from tests.firmware.field.build import board_of as field_board_of
from tests.recovery.score import NAMES
from tests.recovery.small import RAM, run
from tests.recovery.test_pieces import CHOSEN, HALT, X, run_of
from tests.recovery.truth import Run, prepare

ALL, PIECE, LIMIT = 16000, 5000, 12000
# Where a place is asked about, in instructions before the end.
PLACES = (1, 40, 700, 3000, 4900, 5100, 9000, 15000)


class Worked(NamedTuple):
    """A part of a history that was worked on."""

    first: int
    last: int
    has_end: bool
    has_border: bool

    @property
    def size(self) -> int:
        """In instructions."""
        return self.last - self.first + 1


@pytest.fixture(name="worked")
def fixture_worked(monkeypatch: pytest.MonkeyPatch) -> Iterator[List[Worked]]:
    found: List[Worked] = []

    def watched(*arguments: Any) -> Solution:
        _, first, last, _, end, _, _, _, _, border, *_ = arguments
        found.append(Worked(first, last, end is not None, border is not None))
        return Solution(*arguments)

    monkeypatch.setattr(recovery_module, "Solution", watched)
    yield found


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def recovery_of(found: Run, most: Optional[int] = None) -> Recovery:
    rules = Rules(
        window=PIECE,
        most=most,
        frames=load_frames([found.elf]),
        objects=load_objects([found.elf]),
        stacks=tuple(load_writable(found.elf)),
    )
    return Recovery(found.history(found.start(ALL)), found.end(), rules=rules)


def told(answers: Answers, number: int) -> List[Tuple[int, str, Value]]:
    """List what is known of the registers around a place."""
    numbers = range(max(1, number - 20), number + 1)
    values = [(at, name, answers.register(at, name)) for at in numbers for name in NAMES]
    return [one for one in values if one[2].value is not None and one[2].tier <= Tier.ASSUMED]


@pytest.mark.parametrize("program", CHOSEN)
def test_what_a_neighbourhood_tells_is_true(program: str, folder: Path) -> None:
    found = run_of(program, folder)
    recovery, first = recovery_of(found), found.start(ALL)
    for place in PLACES:
        number = len(recovery.history) + 1 - place
        values = told(recovery.near(number), number)
        wrong = [one for one in values if one[2].value != found.value(one[1], first + one[0] - 1)]
        assert values and not wrong
    assert recovery.since == len(recovery.history) + 1


# A program on each kernel, and programs without one.
@pytest.mark.sweep
@pytest.mark.parametrize("program", ["station-O2", "gateway-Og", "plant-Os", "logger-Og", "script-Og"])
def test_no_later_answer_contradicts_an_earlier_one(program: str, folder: Path) -> None:
    board = field_board_of(program)
    found = Run(prepare(program, folder, HALT, board), program, board)
    recovery, first = recovery_of(found), found.start(ALL)
    shown: Dict[Tuple[int, str, Value], None] = {}
    for place, reach in product(PLACES[2:], REACHES):
        number = len(recovery.history) + 1 - place
        shown.update(dict.fromkeys(told(recovery.near(number, reach), number)))
    recovery.register(1, "r0")
    assert shown and not [one for one in shown if one[2].value != found.value(one[1], first + one[0] - 1)]
    later = [(one[2], recovery.register(*one[:2])) for one in shown]
    assert not [two for two in later if two[1].value not in (None, two[0].value)]


def test_the_first_answer_takes_its_neighbourhood_alone(folder: Path, worked: List[Worked]) -> None:
    recovery = recovery_of(run_of("text-O2", folder))
    end = len(recovery.history)
    assert recovery.near(end - 3) is not recovery
    assert [one.has_end for one in worked] == [True] and worked[0].size <= REACHES[0] + 200
    recovery.near(end // 2)
    assert not worked[1].has_end and worked[1].size <= 2 * REACHES[0] + 200
    assert worked[1].first < end // 2 - REACHES[0] // 2 and end // 2 + REACHES[0] // 2 < worked[1].last
    # Places beside it need no further work.
    for number in range(end // 2 - 400, end // 2 + 400, 100):
        recovery.near(number)
    assert len(worked) == 2 and recovery.pending(end) > PIECE // 2


def test_it_is_extended_until_all_is_known(folder: Path, worked: List[Worked]) -> None:
    recovery = recovery_of(run_of("text-O2", folder))
    number = len(recovery.history) - 11000
    known = [len(told(recovery.near(number), number))]
    while recovery.extend(number):
        known.append(len(told(recovery.near(number), number)))
    assert known == sorted(known) and known[0] < known[-1]
    assert recovery.near(number) is recovery and not recovery.pending(number)
    # The first look, a larger one, and piece after piece, each once.
    assert [one.has_border for one in worked] == [False, False, False, True, True]
    assert REACHES[-1] < worked[1].size <= 2 * REACHES[-1] + 200
    assert recovery.since == worked[-1].first + PIECE // 16 or recovery.since <= number


def test_nothing_is_extended_that_is_older_than_the_limit(folder: Path, worked: List[Worked]) -> None:
    recovery = recovery_of(run_of("text-O2", folder), LIMIT)
    assert told(recovery.near(1000), 1000)
    assert recovery.extend(1000) and not recovery.extend(1000)
    assert len(worked) == 2 and recovery.since == len(recovery.history) + 1
    assert recovery.near(1000) is not recovery and recovery.register(1000, "sp").value is None


def test_it_ends_where_a_piece_begins_that_is_known(folder: Path, worked: List[Worked]) -> None:
    recovery = recovery_of(run_of("text-O2", folder))
    recovery.solve()
    number = recovery.since - 300
    alone = len(told(recovery_of(run_of("text-O2", folder)).near(number), number))
    near = recovery.near(number)
    assert near is not recovery and worked[-1].last == recovery.since - 1 and worked[-1].has_border
    assert len(told(near, number)) > alone


ROUND = " ldr r1, =0x%x\n movs r0, #%d\n str r0, [r1]\n b 1f\n1:\n"


def test_memory_and_reasons_come_from_the_neighbourhood() -> None:
    ran = run("".join(ROUND % (X, number) for number in range(40)))
    recovery = ran.recovery(Rules(window=12, most=12))
    number = len(ran.history) // 2
    near = recovery.near(number, 20)
    assert near is not recovery and near.rules == recovery.rules
    assert [step.text for step in near.why(number, "r1")]
    shown = [value.value for value in near.memory(number, X, 4)]
    assert bytes(one for one in shown if one is not None) == ran.memory[number - 1][X - RAM :][:4]
    assert near.register(1, "r1").value is None and not near.why(1, "r1")
    assert [value.value for value in near.memory(1, X, 4)] == [None] * 4
