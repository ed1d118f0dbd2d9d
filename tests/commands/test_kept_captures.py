"""Worked by hand: how many captures a long session keeps."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.joined import DEFAULT_LIMIT, JoinedCaptures, history_limit
from gdb_etm.session.progress import Meter
from tests.snapshot.test_round_trip import one_source

MIB, BESIDE = 1 << 20, 64 << 10


def kept(limit: str, size: int, halts: int) -> List[int]:
    """Return the number of captures that are kept after each halt."""
    joined = JoinedCaptures(Meter(), lambda record, trace_id: {}, OfflineDebugger())
    counts = []
    for number in range(1, halts + 1):
        capture = one_source()._replace(buffer=bytes(size))
        joined.add(CaptureRecord(number, capture, "halt", True, Meter()), history_limit(limit))
        counts.append(len(joined.records))
        assert joined.records[-1].number == number and joined.dropped + len(joined.records) == number
    return counts


@pytest.mark.parametrize("size", [16, 4096, MIB])
def test_short_captures_take_memory_too(size: int) -> None:
    counts = kept(DEFAULT_LIMIT, size, 1100)
    assert max(counts) == 64 * MIB // (size + BESIDE)
    # To put the rest together again is work that is not done at each halt.
    left_out = sum(after <= before for before, after in zip(counts, counts[1:]))
    assert left_out <= 1 + 1100 * 4 // max(counts)


def test_the_newest_stays_and_unlimited_is_so() -> None:
    assert kept("1MiB", 2 * MIB, 3) == [1, 1, 1]
    assert kept("unlimited", 16, 1100) == list(range(1, 1101))
