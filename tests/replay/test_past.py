"""The board's truth: values of a replay that nobody has waited for."""

from __future__ import annotations

from typing import List, Optional

import pytest

from gdb_etm.history.path import Path
from gdb_etm.program.image import Program, load_constants
from gdb_etm.recovery.rules import Rules
from gdb_etm.replay.past import Impatient, RecoveredPast
from gdb_etm.replay.reliance import Reliance
from tests.recovery.test_pieces import run_of
from tests.recovery.truth import Run

ALL = 16000
NAMES = ["r%d" % number for number in range(13)]


class Waiting:
    """Who waits for some kinds of work alone.

    :param refused: Begins the name of what nobody waits for.
    """

    def __init__(self, refused: Optional[str] = None) -> None:
        self.told: List[str] = []
        self._refused = refused

    def wait(self, what: str, share: float) -> None:
        """Note it, and go away."""
        self.told += [what] if what not in self.told else []
        if self._refused is not None and what.startswith(self._refused):
            raise Impatient


@pytest.fixture(name="found", scope="module")
def fixture_found(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_of("text-O2", tmp_path_factory.mktemp("runs"))


def past_of(found: Run, patience: Waiting, most: Optional[int] = None) -> RecoveredPast:
    history = found.history(found.start(ALL))
    past = RecoveredPast(Path(history), Program(list(load_constants(found.elf))), (None, found.end()), Rules())
    past.rely(Reliance(most=most))
    past.patience = patience
    return past


def known(found: Run, past: RecoveredPast, number: int) -> int:
    """Count the registers that are known, and hold them against the truth."""
    values = {name: past.register(number, name) for name in NAMES}
    shown = {name: value for name, value in values.items() if value is not None}
    assert shown == {name: found.value(name, found.start(ALL) + number - 1) for name in shown}
    return len(shown)


def test_who_does_not_wait_sees_what_the_neighbourhood_tells(found: Run) -> None:
    past = past_of(found, Waiting("working out the values of "))
    by_flow = known(found, past, 6000)
    with pytest.raises(Impatient):
        past.prepare(6000)
    provisional = known(found, past, 6000)
    assert provisional > by_flow
    past.patience = Waiting()
    assert past.prepare(6000) == "" and known(found, past, 6000) >= provisional


def test_before_the_limit_values_are_provisional(found: Run) -> None:
    waiting = Waiting()
    past = past_of(found, waiting, 5000)
    said = past.prepare(3000)
    assert said.startswith("registers and memory before instruction 11,0") and "are provisional" in said
    assert known(found, past, 3000) and not past.prepare(2900)
    assert waiting.told == ["working out the values around instruction 3,000"]
