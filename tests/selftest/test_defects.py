"""Every planted defect is found, at its step.

Real pyOCD, without GDB.
"""

from __future__ import annotations

import re

import pytest

from gdb_etm.selftest.findings import StepOutcome
from tests.selftest.harness import board_at_hand
from tests.selftest.planted import DEFECTS, Defect
from tests.selftest.planted_ptm import PTM_DEFECTS

_ALL = DEFECTS + PTM_DEFECTS


@pytest.mark.sweep
@pytest.mark.parametrize("defect", _ALL, ids=lambda one: "%s: %s" % (one.board, one.name))
def test_planted_defect(defect: Defect) -> None:
    """The first step that fails shows the defect, and says why."""
    with board_at_hand(defect.board, defect.plant, **defect.options) as hand:
        found = hand.findings()
    failed = [one for one in found if one.outcome is StepOutcome.FAILED]
    assert failed, "\n".join("%s %s: %s" % (one.outcome.value, one.subject, one.proof) for one in found)
    assert failed[0].subject == defect.step, failed
    assert re.search(defect.why, failed[0].proof), failed[0].proof


def test_there_are_many() -> None:
    assert len(_ALL) >= 40 and len({(one.board, one.name, str(one.options)) for one in _ALL}) == len(_ALL)
