"""Real captures, or those of boards: bundles come out as recorded.

A report from somebody's board becomes a test by lying there.  A bundle without the program may have it beside it, as
NAME.elf.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.access.processes import ROOT
from tests.bundle.boards import repeated

KEPT = sorted((ROOT / "tests" / "bundles").glob("*.etmb"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.stem))
def test_a_bundle_comes_out_as_it_was_recorded(path: Path) -> None:
    program = path.with_suffix(".elf")
    made, said = repeated(str(path), *([str(program)] if program.exists() else []))
    assert not made.differences
    assert said[-1].startswith("The same as recorded")
    for kept, record in zip(made.bundle.captures, made.session.captures):
        assert not kept.digest or record.instructions == kept.instructions or not record.has_program


def test_there_are_some() -> None:
    assert {path.stem for path in KEPT} >= {"m33", "m4-funnel"}
