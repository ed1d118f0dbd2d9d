"""Differential run against Unicorn: each instruction from random states.

Left out: encodings that are unpredictable and that Unicorn gives a meaning of its own, and IT and the end of an IT
block, where Unicorn goes wrong after accesses to memory that are watched.
"""

from __future__ import annotations

import pytest

from tests.recovery import comparison, encodings
from tests.recovery.comparison import A9_T32, M33, Core
from tests.recovery.encodings import GROUPS, Class

SAMPLES = 500
CASES = [(core, chosen) for core, classes in GROUPS.values() for chosen in classes]


@pytest.mark.parametrize("core", [M33, A9_T32], ids=lambda core: core.model)
def test_t16(core: Core) -> None:
    codes = encodings.narrow_codes(1, 6000)
    tally = comparison.compare(core, codes, 1)
    assert tally.wrong == []
    assert tally.compared > 0.9 * len(codes)


@pytest.mark.parametrize("core", [M33, A9_T32], ids=lambda core: core.model)
def test_t16_in_an_it_block(core: Core) -> None:
    codes = encodings.narrow_codes(2, 3000, True)
    tally = comparison.compare(core, codes, 2, 0xE8)
    assert tally.wrong == []
    assert tally.compared > 0.9 * len(codes)


@pytest.mark.sweep
@pytest.mark.parametrize("core, chosen", CASES, ids=["%s-%s" % (core.model, chosen.name) for core, chosen in CASES])
def test_a_class(core: Core, chosen: Class) -> None:
    codes = encodings.codes(core, chosen, chosen.value, SAMPLES)
    tally = comparison.compare(core, codes, chosen.value)
    assert tally.wrong == []
    assert tally.compared > 0.04 * len(codes)
