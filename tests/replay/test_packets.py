"""Vectors worked by hand, property tests: remote protocol packets."""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gdb_etm.replay.link import Link
from gdb_etm.replay.packets import InputKind, Item, PacketReader, escape, expand, frame, unescape


def items(data: bytes, limit: int = 1 << 16) -> List[Item]:
    """Take bytes apart in one go."""
    return PacketReader(limit).feed(data)


def test_packets_acknowledgments_and_interrupts() -> None:
    assert items(b"+$OK#9a-\x03%Stop:T05#c9") == [
        Item(InputKind.ACK),
        Item(InputKind.PACKET, b"OK"),
        Item(InputKind.NACK),
        Item(InputKind.INTERRUPT),
        Item(InputKind.BAD),
    ]
    assert items(b"%" + frame(b"Stop:T05")[1:]) == [Item(InputKind.NOTIFICATION, b"Stop:T05")]
    assert frame(b"OK") == b"$OK#9a" and items(b"$OK#9A") == [Item(InputKind.PACKET, b"OK")]


def test_noise_and_broken_packets_are_left_out() -> None:
    assert items(b"noise$g#67more") == [Item(InputKind.PACKET, b"g")]
    assert items(b"$m0,4#00$g#67") == [Item(InputKind.BAD), Item(InputKind.PACKET, b"g")]
    # A GDB that ended in the middle, and another one after it.
    assert items(b"$X20000000,10:abc$g#67") == [Item(InputKind.BAD), Item(InputKind.PACKET, b"g")]


def test_a_packet_that_is_too_long_is_left_out_and_what_follows_is_not() -> None:
    reader = PacketReader(16)
    assert reader.feed(b"$" + b"0" * 40) == [Item(InputKind.BAD)]
    assert reader.feed(b"0" * 40) == []
    assert reader.feed(b"0#00") == []
    assert reader.feed(frame(b"g")) == [Item(InputKind.PACKET, b"g")]
    assert reader.feed(frame(b"0" * 17)) == [Item(InputKind.BAD)]


@pytest.mark.parametrize("packed, data", [(b"0* ", b"0000"), (b'0*"00', b"00000000"), (b"a0* b", b"a0000b")])
def test_runs(packed: bytes, data: bytes) -> None:
    assert expand(packed) == data


@pytest.mark.parametrize("packed", [b"0*\x1d", b"0*\x7f"])
def test_runs_that_are_none(packed: bytes) -> None:
    with pytest.raises(ValueError):
        expand(packed)


def test_runs_do_not_grow_without_end() -> None:
    with pytest.raises(ValueError):
        expand(b"0*~" * 1000, 4096)


@given(some.binary(max_size=200))
def test_escaped_data_comes_back(data: bytes) -> None:
    assert unescape(escape(data)) == data
    assert not set(b"#$*") & set(escape(data))
    assert items(frame(escape(data))) == [Item(InputKind.PACKET, escape(data))]


PIECES = some.lists(
    some.one_of(
        some.binary(max_size=8),
        some.binary(max_size=20).map(lambda data: frame(escape(data))),
        some.sampled_from([b"+", b"-", b"\x03", b"$", b"#", b"}", b"%Stop:T05#99"]),
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(PIECES, some.integers(1, 7))
def test_any_split_gives_the_same(pieces: List[bytes], size: int) -> None:
    data = b"".join(pieces)
    whole = PacketReader(64)
    split = PacketReader(64)
    expected = whole.feed(data)
    found = [item for at in range(0, len(data), size) for item in split.feed(data[at : at + size])]
    # How much of an overlong packet has been seen decides only when it is given up.
    assert [item for item in found if item.kind is not InputKind.BAD] == [
        item for item in expected if item.kind is not InputKind.BAD
    ]


def test_acknowledgments_until_they_are_turned_off() -> None:
    link = Link()
    assert link.feed(b"$g#67") == [Item(InputKind.PACKET, b"g")]
    assert link.take() == b"+"
    link.send(b"OK")
    assert link.take() == b"$OK#9a"
    assert link.feed(b"-") == [] and link.take() == b"$OK#9a"
    assert link.feed(b"$g#68") == [] and link.take() == b"-"
    link.acknowledges = False
    assert link.feed(b"$g#67-") == [Item(InputKind.PACKET, b"g")] and link.take() == b""


def test_sending_again_has_an_end() -> None:
    link = Link()
    link.send(b"OK")
    link.take()
    link.feed(b"-" * 100)
    assert link.take() == b"$OK#9a" * 8
