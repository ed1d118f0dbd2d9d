"""Worked by hand: how long a piece of a long recording is."""

from __future__ import annotations

import pytest

from gdb_etm.session.pace import Pace


def test_a_piece_grows_to_three_quarters_of_the_buffer() -> None:
    pace = Pace(1000, 4096)
    for length in (1000, 2000, 4000):
        assert pace.next == length
        pace.observe(length, length // 4, False)
    assert pace.next == 8000
    pace.observe(8000, 2000, False)
    assert pace.next == 4096 * 0.75 / 0.25


def test_the_fastest_piece_is_forgotten_little_by_little() -> None:
    pace = Pace(1000, 4000)
    pace.observe(1000, 3000, False)
    assert pace.next == 1000
    lengths = []
    for _ in range(30):
        pace.observe(pace.next, round(pace.next), False)
        lengths.append(pace.next)
    assert lengths == sorted(lengths) and lengths[0] < 1200 and lengths[-1] == pytest.approx(3000, 0.001)


def test_a_piece_that_wrapped_is_followed_by_a_quarter() -> None:
    pace = Pace(1000, 4096)
    pace.observe(800, 4096, True)
    assert pace.next == 200
    pace.observe(200, 100, False)
    assert pace.next == 400


def test_nothing_that_was_traced_lets_it_grow() -> None:
    pace = Pace(1000, 4096)
    pace.observe(1000, 0, False)
    assert pace.next == 2000
