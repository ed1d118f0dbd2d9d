"""Vectors worked by hand from the TMC's manual (DDI 0461)."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.board.funnel import FunnelDevice
from gdb_etm.board.tmc import TraceBuffer
from gdb_etm.framing.formatter import deframe

KEY = 0xC5ACCE55
STS, RRD, RRP, RWP, CTL, MODE, FFSR, FFCR, PSCR = 0x00C, 0x010, 0x014, 0x018, 0x020, 0x028, 0x300, 0x304, 0x308
FULL, READY, EMPTY = 1, 4, 16
NOTHING = 0xFFFFFFFF


def buffer(size: int = 512) -> TraceBuffer:
    tmc = TraceBuffer(0xE0043000, size)
    tmc.write32(0xFB0, KEY)
    return tmc


def start(tmc: TraceBuffer, formatter: int = 3) -> None:
    tmc.write32(CTL, 0)
    tmc.write32(MODE, 0)
    tmc.write32(FFCR, formatter)
    tmc.write32(CTL, 1)


def stop(tmc: TraceBuffer) -> None:
    tmc.write32(FFCR, 0x1003)
    tmc.write32(FFCR, 0x1043)
    assert tmc.read32(FFCR) & 0x40
    assert not tmc.read32(FFCR) & 0x40
    assert tmc.read32(STS) & READY


def drain(tmc: TraceBuffer) -> bytes:
    words: List[int] = []
    while True:
        word = tmc.read32(RRD)
        if word == NOTHING:
            return b"".join(word.to_bytes(4, "little") for word in words)
        words.append(word)


def test_identification() -> None:
    tmc = buffer(4096)
    assert tmc.read32(0x004) == 1024
    # CONFIGTYPE 2 is ETF, MEMWIDTH 2 is 32 bits; part 0x961.
    assert tmc.read32(0xFC8) == 0x280
    assert tmc.read32(0xFCC) == 0x32
    assert (tmc.read32(0xFE0), tmc.read32(0xFE4) & 0xF) == (0x61, 9)


def test_locked_at_power_up() -> None:
    tmc = TraceBuffer(0xE0043000, 512)
    assert tmc.read32(0xFB4) == 3
    tmc.write32(CTL, 1)
    assert tmc.read32(CTL) == 0
    assert tmc.read32(RRD) == NOTHING
    tmc.write32(0xFB0, KEY)
    assert tmc.read32(0xFB4) == 1
    tmc.write32(CTL, 1)
    assert tmc.read32(CTL) == 1


def test_a_capture_that_fits() -> None:
    tmc = buffer()
    start(tmc)
    assert not tmc.read32(STS) & READY
    tmc.take(0x10, b"\x11\x22\x33\x44\x55")
    assert tmc.read32(RRD) == NOTHING
    stop(tmc)
    assert not tmc.read32(STS) & FULL
    assert tmc.read32(RWP) == 16
    assert drain(tmc).hex(" ") == "21 11 22 33 44 55 01 00 00 00 00 00 00 00 00 00"
    assert tmc.read32(STS) & EMPTY
    # Capturing again begins with an empty buffer.
    start(tmc)
    assert tmc.read32(STS) == EMPTY
    stop(tmc)
    assert drain(tmc) == b""


def test_a_capture_that_wraps() -> None:
    tmc = buffer()
    start(tmc)
    # 40 frames of 15 bytes, of which some hold the ID, into room for 32.
    tmc.take(0x10, bytes(index & 0xFE for index in range(15 * 40)))
    stop(tmc)
    assert tmc.read32(STS) & FULL
    assert tmc.read32(RRP) == tmc.read32(RWP)
    assert tmc.read32(RWP) % 16 == 0
    data = drain(tmc)
    assert len(data) == 512
    # The oldest first: what is written last, the padded frame, is at the end.
    assert data[-1] == 0 and data[-2] == 0


def test_without_formatter() -> None:
    tmc = buffer()
    start(tmc, formatter=0)
    tmc.take(0x10, b"abcdef")
    tmc.write32(FFCR, 0x1000)
    tmc.write32(FFCR, 0x1040)
    assert drain(tmc) == b"abcdef\x01\x00"


def test_what_is_written_while_capturing_is_ignored() -> None:
    tmc = buffer()
    start(tmc)
    tmc.write32(RWP, 0x40)
    tmc.write32(MODE, 2)
    assert (tmc.read32(RWP), tmc.read32(MODE)) == (0, 0)


def test_disabled_the_memory_can_be_read_anywhere() -> None:
    tmc = buffer()
    start(tmc)
    tmc.take(0x10, bytes(range(0x20, 0x40, 2)))
    stop(tmc)
    tmc.write32(CTL, 0)
    tmc.write32(RRP, 4)
    assert tmc.read32(RRD).to_bytes(4, "little") == bytes((0x26, 0x28, 0x2A, 0x2C))
    assert tmc.read32(RRP) == 8


def test_it_asks_for_synchronisation() -> None:
    tmc = buffer()
    asked: List[int] = []
    tmc.request_sync = lambda: asked.append(1)
    tmc.write32(PSCR, 7)
    start(tmc)
    for _ in range(10):
        tmc.take(0x10, bytes(64))
    assert len(asked) == 5
    tmc.write32(PSCR, 0)
    tmc.take(0x10, bytes(1024))
    assert len(asked) == 5


@pytest.mark.parametrize("size", [0, 100, 500, 1 << 25])
def test_impossible_sizes(size: int) -> None:
    with pytest.raises(ValueError, match="a trace buffer of %d bytes" % size):
        TraceBuffer(0xE0043000, size)


def test_a_funnel_passes_what_its_open_ports_take() -> None:
    passed: List[bytes] = []
    funnel = FunnelDevice(0xE0042000, lambda trace_id, data: passed.append(data))
    funnel.take(0, 0x10, b"closed")
    funnel.write32(0, 0x301)
    funnel.take(0, 0x10, b"locked")
    funnel.write32(0xFB0, KEY)
    funnel.write32(0, 0x301)
    funnel.take(0, 0x10, b"open")
    funnel.take(1, 0x10, b"other")
    assert passed == [b"open"]
    assert funnel.read32(0) == 0x301
    assert (funnel.read32(0xFE0), funnel.read32(0xFE4) & 0xF, funnel.read32(0xFCC)) == (0x08, 9, 0x12)


TRG, TRIGGERED = 0x01C, 2


def test_a_trigger_on_the_trace_bus_stops_the_capture_some_words_later() -> None:
    """3.3.7, 3.3.13: after TRG words StopOnTrigEvt stops the formatter."""
    tmc = buffer()
    tmc.write32(TRG, 8)
    start(tmc, 0x2003)
    tmc.take(0x10, bytes(100))
    tmc.take(0x7D, b"\x10")
    assert not tmc.read32(STS) & (READY | TRIGGERED)
    tmc.take(0x10, bytes(100))
    assert tmc.read32(STS) & (READY | TRIGGERED) == READY | TRIGGERED
    before = (100 + 1 + 1) // 15 * 16
    # Whole frames of four words, and padding of the last one.
    assert before + 32 <= len(drain(tmc)) <= before + 48
    tmc.take(0x10, b"more")
    assert drain(tmc) == b""


def test_a_trigger_that_stops_at_once_and_one_that_flushes() -> None:
    tmc = buffer()
    tmc.write32(TRG, 0)
    start(tmc, 0x2003)
    tmc.take(0x7D, b"\x10")
    assert tmc.read32(STS) & READY
    # FOnTrigEvt with StopOnFl.
    start(tmc, 0x1023)
    tmc.flush = lambda: tmc.take(0x10, b"the rest")
    tmc.take(0x7D, b"\x10")
    assert tmc.read32(STS) & READY
    assert deframe(drain(tmc)).streams[0x10].data == b"the rest"


def test_a_trigger_alone_changes_nothing() -> None:
    tmc = buffer()
    tmc.write32(TRG, 1)
    start(tmc, 0x3)
    tmc.take(0x7D, b"\x10")
    tmc.take(0x10, bytes(60))
    assert tmc.read32(STS) & (READY | TRIGGERED) == TRIGGERED
    stop(tmc)
    data = drain(tmc)
    # The ID 0x7D with bit 0 set, what the trace bus told, the ID 0x10 with bit 0 set.
    assert data[:3] == bytes((0xFB, 0x10, 0x21))
    assert deframe(data).streams[0x10].data == bytes(60)
    # It is over with the next capture.
    tmc.write32(CTL, 0)
    start(tmc)
    assert not tmc.read32(STS) & TRIGGERED


def test_the_formatter_tells_of_triggers_and_flushes() -> None:
    """3.3.13: TrigOnTrigIn and TrigOnFl insert the trigger ID, if EnTI."""
    for control, told in ((0x103, 1), (0x101, 0), (0x003, 0), (0x503, 2)):
        tmc = buffer()
        tmc.write32(TRG, 100)
        start(tmc, control)
        tmc.trigger()
        tmc.take(0x10, bytes(20))
        tmc.write32(FFCR, control | 0x1040)
        assert drain(tmc).count(b"\xfb") == told
