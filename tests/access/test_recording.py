"""Property test: what is recorded plays back the same.

Some are worked by hand.
"""

from __future__ import annotations

from typing import List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.access.playback import Playback
from gdb_etm.access.port import AccessPort
from gdb_etm.access.recording import MOST_BYTES, MOST_OF_STEP, AccessLog, PortAccess, RecordedStep
from gdb_etm.bundle.lines import read_record, record_lines
from gdb_etm.errors import AccessError, CaptureError

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
    """An access port with made-up words; one page faults."""

    name = "AHB-AP 0"

    def __init__(self) -> None:
        self._now = 0

    def read32(self, address: int) -> int:
        self._now += 1
        if address & 0xF000 == 0xF000:
            raise AccessError("cannot read 0x%08x: the bus answered with a fault" % address, address, "fault")
        return (address * 2654435761 + self._now) & 0xFFFFFFFF

    def write32(self, address: int, value: int) -> None:
        self.read32(address)

    def read_block(self, address: int, words: int) -> List[int]:
        return [self.read32((address + 4 * i) & 0xFFFFFFFF) for i in range(words)]

    def read_fifo(self, address: int, words: int) -> List[int]:
        return [self.read32(address) for _ in range(words)]


def _do(port: AccessPort, access: Tuple[str, ...]) -> _Outcome:
    try:
        result: _Outcome = getattr(port, access[0])(*access[1:])
    except AccessError as error:
        return error.kind, error.address, str(error)
    return result


def _played(log: AccessLog) -> Playback:
    # By way of what stands in a file.
    record = read_record(record_lines(log.ports, log.steps, lambda value: value))
    playback = Playback(record.ports, record.steps)
    playback.enter("step 1", record.steps[0] if record.steps else RecordedStep("none"))
    return playback


@given(_ACCESSES)
def test_what_is_recorded_plays_back_the_same(accesses: List[Tuple[str, ...]]) -> None:
    log = AccessLog()
    recorder = log.port(_Memory())
    seen = [_do(recorder, access) for access in accesses]
    playback = _played(log)
    port = playback.port(0)
    assert port.name == "AHB-AP 0"
    assert [_do(port, access) for access in accesses] == seen
    playback.leave()
    assert not playback.divergences


def _log(*accesses: Tuple[str, int, int]) -> Playback:
    log = AccessLog()
    log.port(_Memory())
    with log.step("release"):
        for operation, address, value in accesses:
            log.add(PortAccess(operation, 0, address, value))
    return _played(log)


R, W = "read32", "write32"


def test_a_read_that_is_not_made_is_passed_over() -> None:
    playback = _log((R, 0x10, 1), (R, 0x14, 2), (W, 0x10, 3), (R, 0x10, 4))
    port = playback.port(0)
    assert port.read32(0x14) == 2
    port.write32(0x10, 3)
    assert port.read32(0x10) == 4 and not playback.divergences


def test_a_poll_may_take_more_reads_than_recorded() -> None:
    playback = _log((R, 0x10, 1), (W, 0x14, 2))
    port = playback.port(0)
    assert [port.read32(0x10) for _ in range(5)] == [1] * 5
    port.write32(0x14, 2)
    assert not playback.divergences


def test_what_differs_is_told_with_its_place() -> None:
    playback = _log((R, 0x10, 1), (W, 0x10, 3), (W, 0x14, 5), (R, 0x18, 6))
    port = playback.port(0)
    port.write32(0x10, 7)
    assert playback.divergences == [
        "step 1, after 0 of 4 accesses: write32 0x00000010 = 0x00000007 on AHB-AP 0 is not in the record"
    ]
    port.write32(0x14, 5)
    assert playback.divergences[1:] == [
        "step 1, after 1 of 4 accesses: the record has write32 0x00000010 = 0x00000003 on AHB-AP 0, which is not made"
    ]
    # It is known from the record, though not yet at this place.
    assert port.read32(0x10) == 3
    assert "answered as the word was known" in playback.divergences[-1]
    with pytest.raises(AccessError, match="read32 0x0000001c on AHB-AP 0 is not in the record, and nothing") as caught:
        port.read32(0x1C)
    assert caught.value.kind == "lost"


def test_a_fifo_is_never_answered_from_elsewhere() -> None:
    playback = _log((R, 0x10, 1))
    with pytest.raises(AccessError, match="read_fifo 0x00000010"):
        playback.port(0).read_fifo(0x10, 1)


def test_a_log_is_bounded_and_keeps_its_beginning() -> None:
    log = AccessLog()
    port = log.port(_Memory())
    with log.step("connect"):
        port.read32(0)
    for _ in range(100):
        with log.step("drain", ("capture",)):
            port.read_fifo(0, 50000)
    assert log.steps[0].name == "connect" and log.dropped > 50
    assert sum(step.size for step in log.steps) <= MOST_BYTES
    with log.step("drain"):
        for _ in range(40):
            port.read_fifo(0, 50000)
    assert log.steps[-1].is_cut and sum(access.words for access in log.steps[-1].accesses) * 4 < MOST_OF_STEP


def test_steps_have_names_errors_and_what_was_asked() -> None:
    log = AccessLog()
    port = log.port(_Memory())
    port.read32(0)
    with pytest.raises(CaptureError):
        with log.step("drain", ("capture 1",)):
            with log.step("inner"):
                port.read32(4)
            raise CaptureError("it does not come to rest")
    port.read32(8)
    port.read32(12)
    assert [(step.name, len(step.accesses), step.error) for step in log.steps] == [
        ("", 1, None),
        ("drain", 1, "it does not come to rest"),
        ("", 2, None),
    ]
