"""The board's truth: values of the past on a Cortex-M0+."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.recovery.values import Tier
from tests.firmware.cortex_m0.build import elf
from tests.recovery.test_truth import recovered
from tests.recovery.truth import Run, prepare

HALT, WINDOW = 9001, 3000


@pytest.mark.parametrize("program", ["frames", "control", "state", "interrupts", "nested", "script"])
def test_what_is_exact_or_assumed_is_right(program: str, tmp_path: Path) -> None:
    run = Run(prepare(elf(program), tmp_path, HALT, "m0"), elf(program), "m0")
    found, _ = recovered(run, WINDOW)
    assert not [one for one in found.wrong if one.tier in (Tier.EXACT, Tier.ASSUMED)]
    assert found.instants.known[Tier.EXACT] > 1000
