"""Vectors worked by hand: what a device was told to write."""

from __future__ import annotations

from gdb_etm.diagnosis.transfers import Length, Transfer, regions

DST, COUNT, CTRL = 0x40020004, 0x40020008, 0x4002000C


def transfer(target: int, count: int, control: int = 1) -> Transfer:
    """Make one of a channel as DMA0 is."""
    return Transfer(10, DST, target, (Length(11, COUNT, count), Length(12, CTRL, control)))


def test_bytes_come_before_larger_units() -> None:
    one = transfer(0x20000100, 32)
    assert one.reaching(0x20000100, 4) == (Length(11, COUNT, 32), 32)
    assert one.reaching(0x2000011C, 4) == (Length(11, COUNT, 32), 32)


def test_a_length_may_count_halfwords_or_words() -> None:
    one = transfer(0x20000100, 32)
    assert one.reaching(0x20000120, 4) == (Length(11, COUNT, 32), 64)
    assert one.reaching(0x20000140, 4) == (Length(11, COUNT, 32), 128)
    assert one.reaching(0x20000180, 4) is None


def test_the_shortest_length_that_reaches_is_taken() -> None:
    one = transfer(0x20000100, 32, 0x3081)
    assert one.reaching(0x20000104, 4) == (Length(11, COUNT, 32), 32)


def test_nothing_before_its_address_is_reached() -> None:
    assert transfer(0x20000100, 32).reaching(0x200000FE, 4) is None
    assert Transfer(10, DST, 0x20000100, ()).reaching(0x20000100, 4) is None


def test_pieces_that_touch_are_one() -> None:
    found = [transfer(0x20000100, 32), transfer(0x20000120, 16), transfer(0x20000200, 8), transfer(0x20000110, 4)]
    assert regions(found) == ((0x20000100, 0x20000130), (0x20000200, 0x20000208))
