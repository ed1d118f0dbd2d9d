"""Property test: written P1 and P2 elements are read; some by hand."""

from __future__ import annotations

from typing import Any, List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data import elements as told
from gdb_etm.protocols.etmv4.data.decoder import decode_data
from gdb_etm.protocols.etmv4.encode.data_packets import P1, P2, DataWriter
from gdb_etm.protocols.etmv4.log import Marker, Time

P0_KEYS, P1_KEYS = 32, 28
SYNC = bytes(11) + b"\x80\x00\x01\x00"

addresses = st.one_of(
    st.integers(0, 0xFFFFFFFF), st.integers(0, 127).map(lambda offset: 0x20001000 + offset), st.just(0x20001234)
)
keys = st.integers(0, P0_KEYS - 1)
p1s = st.builds(P1, addresses, keys, keys, st.integers(0, 31), st.booleans())
p2s = st.builds(P2, st.one_of(st.integers(0, 5), st.integers(0, 1 << 16), st.integers(0, (1 << 64) - 1)), keys)


class Steady:
    """Elements with the next keys and indices."""

    def __init__(self) -> None:
        self.left = self.right = self.order = self.value = 0

    def p1(self, address: int, step: int) -> P1:
        self.left, self.order = ((self.left + step) % P0_KEYS, 0) if step else (self.left, (self.order + 1) % 32)
        self.right = (self.right + 1) % P1_KEYS
        return P1(address, self.left, self.right, self.order, True)

    def p2(self, value: int) -> P2:
        self.value = (self.value + 1) % P1_KEYS
        return P2(value, self.value)


def written(*elements: Union[P1, P2]) -> bytes:
    """Return the bytes of elements after a synchronisation point."""
    out = bytearray()
    writer = DataWriter(out.extend, P0_KEYS, P1_KEYS)
    writer.synchronise()
    for element in elements:
        writer.add(element)
    writer.deliver()
    assert out.startswith(SYNC) and writer.count == len(out)
    return bytes(out[len(SYNC) :])


def read(data: bytes) -> List[Any]:
    registers = {"TRCCONFIGR": 0x30807, "TRCTRACEIDR": 0x10, "TRCIDR0": 0x080206BF, "TRCIDR1": 0x4100F401, "TRCIDR2": 4}
    registers.update({"TRCIDR9": P0_KEYS, "TRCIDR10": 32, "TRCIDR11": 32 - P1_KEYS})
    return decode_data(Etmv4Config.from_registers(registers, True), SYNC + data, lambda position: position)


def assert_read(data: bytes, elements: List[Union[P1, P2]]) -> None:
    found = read(data)
    assert len(found) == len(elements)
    for ours, real in zip(found, elements):
        if isinstance(real, P2):
            assert isinstance(ours, told.P2) and (ours.key, ours.value) == (real.left, real.value)
        else:
            assert isinstance(ours, told.P1)
            assert (ours.left, ours.right, ours.transfer) == (real.left, real.right, real.order)
            assert ours.address == real.address or real.inferable


@given(st.lists(st.one_of(p1s, p2s), max_size=40))
def test_any_elements_are_read_again(elements: List[Union[P1, P2]]) -> None:
    assert_read(written(*elements), elements)


steps = st.tuples(st.booleans(), addresses, st.sampled_from((0, 0, 1, 1, 2, 3)), st.integers(0, (1 << 33) - 1))


@given(st.lists(steps, max_size=60))
def test_elements_that_go_on_as_programs_do(choices: List[Tuple[bool, int, int, int]]) -> None:
    steady = Steady()
    elements = [steady.p1(address, step) if is_p1 else steady.p2(value) for is_p1, address, step, value in choices]
    assert_read(written(*elements), elements)


# The encodings are those of 6.5.5 and 6.5.6; the numbers in the comments are lines of the text.
VECTORS = [
    ("90", [P1(0x10, 1, 1, 0)]),  # format 2: ADDR 4, register 0, left key +1 (13527)
    ("93", [P1(0x10, 2, 1, 0)]),  # left key +2
    ("14 84", [P1(0x210, 1, 1, 0)]),  # format 3 (13598)
    ("64", [P1(0x6, 1, 1, 0)]),  # format 4: ADDR 1, halfword (13670)
    ("72 80 a0 80 80 02", [P1(0x20001000, 1, 1, 0)]),  # format 1, code 2 (13336)
    ("70 90 04", [P1(0x210, 30, 1, 0)]),  # code 0: left key -2
    ("7d 10 07 04", [P1(0x10, 7, 4, 0)]),  # code 13: both keys
    ("7f 10 07 04 02", [P1(0x10, 7, 4, 2)]),  # code 15: both keys and the index
    ("7e 10 03", [P1(0x10, 1, 1, 3)]),  # code 14: the index
    ("90 f9", [P1(0x10, 1, 1, 0), P1(0, 1, 2, 1, True), P1(0, 1, 3, 2, True)]),  # format 5, L = 0 (13741)
    ("fd", [P1(0, 1, 1, 0, True), P1(0, 2, 2, 0, True)]),  # format 5, L = 1
    ("f7 09", [P1(0, 1, 9, 0, True)]),  # format 6 (13799)
    ("90 11", [P1(0x10, 1, 1, 0), P2(2, 1)]),  # P2 format 4 (14151)
    ("20", [P2(0, 1)]),  # P2 format 1 without data (13931)
    ("22 34 12", [P2(0x1234, 1)]),
    ("2a 1d 34 12", [P2(0x1234, 29)]),  # with a special key
    ("31 aa", [P2(0xAA, 2)]),  # P2 format 2 (14021)
    ("37 ff ee", [P2(0xEEFF, 27)]),  # key -1
    ("44 04 03 02 01", [P2(0x01020304, 6)]),  # P2 format 3: key +6 (14085)
    # P2 format 5: two P1 elements, then the value of the first of all (14181).
    ("90 19 04 03 02 01", [P1(0x10, 1, 1, 0), P1(0, 1, 2, 1, True), P1(0, 1, 3, 2, True), P2(0x01020304, 1)]),
    ("38 04 03 02 01 08 07 06 05", [P2(0x01020304, 1), P2(0x05060708, 2)]),  # format 6 (14250)
]


@pytest.mark.parametrize("data, elements", VECTORS, ids=[data for data, _ in VECTORS])
def test_vectors(data: str, elements: List[Union[P1, P2]]) -> None:
    assert written(*elements).hex(" ") == data


def test_markers_timestamps_and_overflows() -> None:
    out = bytearray()
    writer = DataWriter(out.extend, P0_KEYS, P1_KEYS)
    writer.synchronise()
    writer.numbered_sync(5)
    writer.unnumbered_sync()
    writer.timestamp(0xAA)
    writer.timestamp(0xAB)
    writer.timestamp(1 << 63)
    writer.overflow()
    writer.synchronise()
    writer.timestamp(1)
    writer.deliver()
    text = "00 1b 01 02 aa 01 02 2b 02 80 80 80 80 80 80 80 80 80 00 05 %s 02 01" % SYNC.hex(" ")
    assert bytes(out[len(SYNC) :]).hex(" ") == text
    found = read(bytes(out[len(SYNC) :]))
    assert [each for each in found if isinstance(each, Marker)] == [Marker(5), Marker(None)]
    assert [each.value for each in found if isinstance(each, Time)] == [0xAA, 0xAB, 1 << 63, 1]
    assert sum(isinstance(each, Gap) for each in found) == 1
