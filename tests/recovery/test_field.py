"""The board's truth: recovered values of the field's programs are right."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Tuple

import pytest

from gdb_etm.recovery.values import Tier
from tests.firmware.field.build import PROGRAMS, board_of
from tests.recovery.score import Score, Uses, mean, recover, score
from tests.recovery.truth import Run, prepare

# A small choice: scripts/bench recovery --set field has longer windows at more halts.
HALT, WINDOW = 30001, 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@lru_cache(maxsize=None)
def recovered(program: str, folder: Path) -> Tuple[Score, Tuple[str, ...]]:
    """Hold a run's recovery against the truth; list exact findings."""
    board = board_of(program)
    run = Run(prepare(program, folder, HALT, board), program, board)
    first, recovery = recover(run, WINDOW)
    found = score(run, Uses(run), first, recovery)
    return found, tuple(one.text for one in recovery.findings if one.tier is Tier.EXACT)


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_wrong(program: str, folder: Path) -> None:
    found, findings = recovered(program, folder)
    assert not found.wrong
    assert not findings


# What must be known of all programs, in percent.
@pytest.mark.parametrize("what, least", [("live", 77), ("definitions", 69), ("sp", 88), ("lr", 89)])
def test_enough_is_known(what: str, least: float, folder: Path) -> None:
    scores = [recovered(program, folder)[0] for program in PROGRAMS]
    assert mean(scores, what, Tier.ASSUMED) >= least
