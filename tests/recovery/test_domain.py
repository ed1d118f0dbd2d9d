"""Bits, classes and intervals of variables: cases worked by hand."""

from __future__ import annotations

import pytest

from gdb_etm.recovery.constraints.domain import Contradiction, Domain
from gdb_etm.recovery.lift.operations import MASK


def test_bits_add_up_and_exclude_each_other() -> None:
    domain = Domain()
    a = domain.new()
    domain.learn(a, 0xFF, 0x12)
    domain.learn(a, 0xF00, 0x300)
    assert (domain.mask[a], domain.bits[a]) == (0xFFF, 0x312)
    domain.learn(a, 0xF, 2)
    with pytest.raises(Contradiction) as caught:
        domain.learn(a, 0xF, 3)
    assert caught.value.variable == a


def test_a_class_is_known_when_one_member_is() -> None:
    domain = Domain()
    a, b, c = domain.new(), domain.new(), domain.new()
    domain.merge(a, b, 8)
    domain.merge(c, b, -4)
    domain.learn(c, MASK, 0x2000000C)
    assert [domain.bits[one] for one in (a, b, c)] == [0x20000000, 0x20000008, 0x2000000C]
    assert domain.mask[a] == MASK


def test_a_distance_is_taken_once() -> None:
    domain = Domain()
    a, b = domain.new(), domain.new()
    domain.merge(a, b, 4)
    domain.merge(b, a, -4)
    with pytest.raises(Contradiction):
        domain.merge(a, b, 5)


def test_the_interval_of_a_class_moves_with_the_distance() -> None:
    domain = Domain()
    a, b, c = domain.new(), domain.new(), domain.new()
    domain.narrow(b, 100, 20)
    domain.merge(a, b, 10)
    assert domain.interval(a) == (90, 20)
    domain.merge(c, a, -5)
    assert domain.interval(c) == (95, 20)
    domain.narrow(c, 110, 50)
    assert domain.interval(a) == (105, 5)


def test_an_interval_may_wrap() -> None:
    domain = Domain()
    a = domain.new()
    domain.narrow(a, 0xFFFFFFF0, 0x20)
    assert domain.interval(a) == (0xFFFFFFF0, 0x20)
    assert domain.bounds(a) == (0, MASK)
    assert domain.bounds(a, 0x80000000) == (0x7FFFFFF0, 0x80000010)
    domain.narrow(a, 0, 0x100)
    assert domain.interval(a) == (0, 0x10)


def test_two_pieces_leave_the_smaller_interval() -> None:
    domain = Domain()
    a = domain.new()
    domain.narrow(a, 0, 100)
    domain.narrow(a, 90, MASK - 80)
    assert domain.interval(a) == (0, 100)


def test_an_interval_of_one_value_is_that_value() -> None:
    domain = Domain()
    a, b = domain.new(), domain.new()
    domain.merge(a, b, 1)
    domain.narrow(a, 7, 9)
    domain.narrow(a, 3, 4)
    assert (domain.mask[a], domain.bits[a], domain.bits[b]) == (MASK, 7, 8)


def test_nothing_is_in_two_intervals_that_are_apart() -> None:
    domain = Domain()
    a = domain.new()
    domain.narrow(a, 0, 10)
    with pytest.raises(Contradiction):
        domain.narrow(a, 11, 5)


def test_leading_bits_and_intervals_tell_each_other() -> None:
    domain = Domain()
    a, b = domain.new(), domain.new()
    domain.learn(a, 0xFFFF0000, 0x20000000)
    assert domain.interval(a) == (0x20000000, 0xFFFF)
    domain.narrow(b, 0x20000010, 0x17)
    assert (domain.mask[b], domain.bits[b]) == (0xFFFFFFC0, 0x20000000)
    assert domain.bounds(b) == (0x20000010, 0x20000027)


def test_what_is_learnt_is_logged_with_its_cause() -> None:
    domain = Domain()
    a, b = domain.new(), domain.new()
    domain.cause = 5
    domain.merge(a, b, 4)
    domain.cause = 6
    domain.learn(a, MASK, 1)
    log = domain.log
    assert [(log.variable[n], log.cause[n]) for n in range(2)] == [(a, 6), (b, ~a)]
    assert log.merged[0][:3] == (a, b, 5)
    log.cut(1, 0)
    assert log.last == [0, -1]
