"""Worked by hand: what a recording had, in words."""

from __future__ import annotations

import pytest

from gdb_etm.views.recorded import Recorded, recorded_lines


@pytest.mark.parametrize(
    "wrapped, is_torn, lost",
    [
        (0, False, "nothing that ran is missing"),
        (0, True, "reading the last one was interrupted, its oldest trace is missing"),
        (1, True, "of 1 piece the buffer wrapped"),
    ],
)
def test_what_is_missing(wrapped: int, is_torn: bool, lost: str) -> None:
    recorded = Recorded(2, wrapped, is_torn, 5000, 4096, None, 2.0, 1.0, "interrupted", "", "")
    assert next(recorded_lines(recorded)) == "recorded 5,000 instructions in 2 pieces, 4 KiB of trace: " + lost
