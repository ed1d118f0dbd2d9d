"""Vectors worked by hand from the ETB's manual (DDI 0314H)."""

from __future__ import annotations

import pytest

from gdb_etm.board.etb import EtbDevice

KEY = 0xC5ACCE55
RDP, STS, RRD, RRP, RWP, TRG, CTL, RWD = 0x004, 0x00C, 0x010, 0x014, 0x018, 0x01C, 0x020, 0x024
FFSR, FFCR = 0x300, 0x304
FULL, ACQUIRED, EMPTY = 1, 4, 8
BASE = 0xE0042000


def buffer(size: int = 2048) -> EtbDevice:
    etb = EtbDevice(BASE, size)
    etb.write32(0xFB0, KEY)
    return etb


def start(etb: EtbDevice, formatter: int = 3) -> None:
    for offset, value in ((CTL, 0), (RWP, 0), (RRP, 0), (FFCR, formatter), (CTL, 1)):
        etb.write32(offset, value)


def stop(etb: EtbDevice, formatter: int = 3) -> None:
    etb.write32(FFCR, 0x1000 | formatter)
    etb.write32(FFCR, 0x1040 | formatter)
    assert etb.read32(FFCR) & 0x40
    assert not etb.read32(FFCR) & 0x40
    assert etb.read32(FFSR) & 2
    assert etb.read32(CTL) == 1
    etb.write32(CTL, 0)


def words(etb: EtbDevice, count: int) -> bytes:
    return b"".join(etb.read32(RRD).to_bytes(4, "little") for _ in range(count))


def test_identification() -> None:
    etb = buffer()
    assert etb.read32(RDP) == 512
    assert (etb.read32(0xFE0), etb.read32(0xFE4) & 0xF, etb.read32(0xFCC)) == (0x07, 9, 0x21)


def test_locked_at_power_up() -> None:
    etb = EtbDevice(BASE, 512)
    assert etb.read32(0xFB4) == 3
    etb.write32(CTL, 1)
    assert etb.read32(CTL) == 0
    etb.write32(0xFB0, KEY)
    etb.write32(CTL, 1)
    assert (etb.read32(CTL), etb.read32(0xFB4)) == (1, 1)


def test_a_capture_that_fits() -> None:
    etb = buffer()
    assert etb.read32(STS) == ACQUIRED | EMPTY
    start(etb)
    assert (etb.read32(STS), etb.read32(FFSR)) == (0, 0)
    etb.take(0x10, b"\x11\x22\x33\x44\x55")
    # While it captures, the pointers cannot be written and nothing can be read.
    etb.write32(RWP, 4)
    assert etb.read32(RRD) == 0
    stop(etb)
    assert etb.read32(STS) == ACQUIRED | EMPTY
    # Pointers count words.
    assert etb.read32(RWP) == 4
    assert words(etb, 4).hex(" ") == "21 11 22 33 44 55 01 00 00 00 00 00 00 00 00 00"
    assert etb.read32(RRP) == 4
    etb.write32(RRP, 1)
    assert words(etb, 1).hex(" ") == "44 55 01 00"


def test_a_capture_that_wraps() -> None:
    etb = buffer(512)
    start(etb)
    etb.take(0x10, bytes(index & 0xFE for index in range(15 * 40)))
    stop(etb)
    assert etb.read32(STS) & FULL
    write = etb.read32(RWP)
    assert write % 4 == 0 and 0 < write < 128
    etb.write32(RRP, write)
    data = words(etb, 128)
    assert etb.read32(RRP) == write
    # The oldest first: what is written last, the padded frame, is at the end.
    assert data[-2:] == b"\0\0"
    # Starting again makes it empty.
    start(etb)
    assert not etb.read32(STS) & FULL


def test_without_formatter() -> None:
    etb = buffer()
    start(etb, formatter=0)
    etb.take(0x10, b"abcdef")
    stop(etb, formatter=0)
    assert words(etb, 2) == b"abcdef\x01\x00"


def test_switched_off_the_formatter_stops_too() -> None:
    etb = buffer()
    start(etb)
    etb.take(0x10, b"\x11\x22")
    etb.write32(CTL, 0)
    assert etb.read32(FFSR) == 2
    assert etb.read32(RWP) == 4
    etb.take(0x10, b"\x33")
    assert etb.read32(RWP) == 4


def test_memory_can_be_written_by_the_debugger() -> None:
    etb = buffer()
    etb.write32(RWP, 511)
    etb.write32(RWD, 0x12345678)
    etb.write32(RRP, 511)
    assert etb.read32(RRD) == 0x12345678
    assert (etb.read32(RWP), etb.read32(RRP)) == (0, 0)
    etb.write32(TRG, 0x3FF)
    assert etb.read32(TRG) == 0x1FF


def test_the_trigger_input() -> None:
    """9.4.7, 9.6.3: STS.Triggered; after TRG words StopTrig stops the formatter."""
    etb = buffer()
    etb.write32(TRG, 4)
    start(etb, formatter=0x2001)
    etb.take(0x10, bytes(28))
    etb.trigger()
    assert etb.read32(STS) & 6 == 2
    before = etb.read32(RWP)
    etb.take(0x10, bytes(100))
    assert etb.read32(STS) & 6 == 6
    assert before + 4 <= etb.read32(RWP) <= before + 8
    # ID 0x7D on the trace bus is nothing to it, and without StopTrig nothing stops.
    start(etb, formatter=0x2001)
    etb.take(0x7D, bytes(1))
    assert etb.read32(STS) & 6 == 0
    start(etb)
    etb.trigger()
    etb.take(0x10, bytes(100))
    assert etb.read32(STS) & 6 == 2


@pytest.mark.parametrize("size", [0, 100, 500, 1 << 25])
def test_impossible_sizes(size: int) -> None:
    with pytest.raises(ValueError, match="a trace buffer of %d bytes" % size):
        EtbDevice(BASE, size)
