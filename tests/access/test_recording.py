"""Property test: recordings replay the same; some worked by hand."""

from __future__ import annotations

import io
from typing import List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.access.port import AccessPort
from gdb_etm.access.recording import RecordingPort, Replayer
from gdb_etm.errors import AccessError

_WORDS = st.integers(0, 0x3FFFFFFF).map(lambda word: word * 4)
_ACCESSES = st.lists(
    st.one_of(
        st.tuples(st.just("read32"), _WORDS),
        st.tuples(st.just("write32"), _WORDS, st.integers(0, 0xFFFFFFFF)),
        st.tuples(st.just("read_block"), _WORDS, st.integers(0, 20)),
        st.tuples(st.just("read_fifo"), _WORDS, st.integers(0, 20)),
    )
)
_Outcome = Union[None, int, List[int], Tuple[str, object, str]]


class _Memory:
    """An access port whose words follow from their addresses; one page faults."""

    name = "AHB-AP 0"

    def read32(self, address: int) -> int:
        if address & 0xF000 == 0xF000:
            raise AccessError("cannot read 0x%08x: the bus answered with a fault" % address, address, "fault")
        return (address * 2654435761) & 0xFFFFFFFF

    def write32(self, address: int, value: int) -> None:
        self.read32(address)

    def read_block(self, address: int, words: int) -> List[int]:
        return [self.read32((address + 4 * i) & 0xFFFFFFFF) for i in range(words)]

    def read_fifo(self, address: int, words: int) -> List[int]:
        return [self.read32(address)] * words


def _do(port: AccessPort, access: Tuple[str, ...]) -> _Outcome:
    try:
        result: _Outcome = getattr(port, access[0])(*access[1:])
    except AccessError as error:
        return error.kind, error.address, str(error)
    return result


@given(_ACCESSES)
def test_what_is_recorded_replays_the_same(accesses: List[Tuple[str, ...]]) -> None:
    file = io.StringIO()
    recorder = RecordingPort(_Memory(), file)
    seen = [_do(recorder, access) for access in accesses]
    replayer = Replayer(file.getvalue().splitlines())
    assert replayer.name == "AHB-AP 0"
    assert [_do(replayer, access) for access in accesses] == seen
    assert replayer.finished


RECORDING = """
{"port": "AHB-AP 0"}
{"op": "read32", "address": "0xe0041fbc", "value": "0x47704a13"}
{"op": "write32", "address": "0xe0041004", "value": "0x1"}
{"op": "read_fifo", "address": "0xe0043010", "words": 2, "values": ["0x0", "0xffffffff"]}
"""


def test_a_recording_is_readable_and_in_order() -> None:
    port = Replayer(RECORDING.splitlines())
    assert port.read32(0xE0041FBC) == 0x47704A13
    port.write32(0xE0041004, 1)
    assert not port.finished
    assert port.read_fifo(0xE0043010, 2) == [0, 0xFFFFFFFF]
    assert port.finished


def test_another_access_than_the_recorded_one_says_which() -> None:
    port = Replayer(RECORDING.splitlines())
    with pytest.raises(AssertionError, match="line 2: recorded .*0xe0041fbc.*, made .*0xe0041fb8"):
        port.read32(0xE0041FB8)


def test_another_value_written_is_another_access() -> None:
    port = Replayer(RECORDING.splitlines())
    port.read32(0xE0041FBC)
    with pytest.raises(AssertionError, match="0xe0041004"):
        port.write32(0xE0041004, 0)


def test_one_access_too_many() -> None:
    port = Replayer(['{"port": "x"}'])
    with pytest.raises(AssertionError, match="after the end"):
        port.read32(0)
