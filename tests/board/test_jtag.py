"""Vectors worked by hand from ADIv5.2: the JTAG debug port.

IHI 0031E, B3: TAP, scan chains, answers.  And a property test: characters may come in any split.
"""

from __future__ import annotations

from typing import Callable, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.board.bitbang import BitbangPins
from gdb_etm.board.bus import Bus
from gdb_etm.board.dap import AhbAccessPort, DebugPort
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.jtag import Tap

RAM = 0x20000000
ABORT, DPACC, APACC, IDCODE, BYPASS = 0x8, 0xA, 0xB, 0xE, 0xF
CTRL_STAT, SELECT, RDBUFF = 0x4, 0x8, 0xC
CSW, TAR, DRW = 0x0, 0x4, 0xC
OK_FAULT, WAIT = 0b010, 0b001
STICKYORUN, STICKYERR = 1 << 1, 1 << 5
POWER, ORUNDETECT = 0x50000000, 1


def pins(*faults: str, reset: Callable[[], None] = lambda: None) -> BitbangPins:
    return BitbangPins(tap(*faults), reset)


def tap(*faults: str) -> Tap:
    return Tap(DebugPort([AhbAccessPort(Bus(), 0xE00FF000)], lambda: None, parse_faults(faults)))


def walk(states: str) -> bytes:
    """Return the characters of TMS levels."""
    return b"".join(b"26" if tms == "1" else b"04" for tms in states)


def scanned(length: int, value: int) -> bytes:
    """Return the characters of a scan; its last bit leaves the state."""
    text = b""
    for bit in range(length):
        low = (value >> bit & 1) + (2 if bit == length - 1 else 0)
        text += b"%dR%d" % (low, low + 4)
    return text


class Cable:
    """A debugger's end of the pins."""

    def __init__(self, board: BitbangPins) -> None:
        self.board = board
        self.instruction = -1
        board.feed(walk("111110"))

    def scan(self, instruction: int, length: int, value: int = 0) -> int:
        if instruction != self.instruction:
            self.board.feed(walk("1100"))
            assert self._shift(4, instruction) == 0b0001
            self.instruction = instruction
        self.board.feed(walk("100"))
        return self._shift(length, value)

    def _shift(self, length: int, value: int) -> int:
        levels = self.board.feed(scanned(length, value))
        assert len(levels) == length
        self.board.feed(walk("10"))
        return int(levels[::-1], 2)

    def access(self, instruction: int, register: int, value: int = -1) -> Tuple[int, int]:
        """Scan an access; return the answer, and the value before."""
        request = (value << 3 if value >= 0 else 1) | register >> 1
        found = self.scan(instruction, 35, request)
        return found & 7, found >> 3

    def write(self, instruction: int, register: int, value: int) -> None:
        assert self.access(instruction, register, value)[0] == OK_FAULT

    def read(self, instruction: int, register: int) -> int:
        assert self.access(instruction, register)[0] == OK_FAULT
        answer, value = self.access(DPACC, RDBUFF)
        assert answer == OK_FAULT
        return value


def powered(*faults: str, control: int = POWER) -> Cable:
    cable = Cable(pins(*faults))
    cable.write(DPACC, CTRL_STAT, control)
    cable.write(DPACC, SELECT, 0)
    return cable


def test_the_tap_has_an_identity_and_a_bypass() -> None:
    cable = Cable(pins())
    # After a reset of the TAP the instruction is IDCODE: the next DR scan gives it (IEEE 1149.1, 12.1).
    cable.instruction = IDCODE
    assert cable.scan(IDCODE, 32) == 0x6BA00477
    # One bit between TDI and TDO, captured as 0; an unknown instruction is BYPASS.
    for instruction in (BYPASS, 0b0011):
        assert cable.scan(instruction, 9, 0b101101011) == 0b101101011 << 1 & 0x1FF


def test_a_read_is_posted_and_rdbuff_collects_it() -> None:
    cable = powered()
    assert cable.read(DPACC, CTRL_STAT) == 0xF0000000
    cable.write(APACC, CSW, 0x12)
    cable.write(APACC, TAR, RAM)
    for value in (0x11111111, 0x22222222):
        cable.write(APACC, DRW, value)
    cable.write(APACC, TAR, RAM)
    cable.access(APACC, DRW)
    # Each scan has the value of the access before it.
    assert cable.access(APACC, DRW) == (OK_FAULT, 0x11111111)
    assert cable.access(DPACC, RDBUFF) == (OK_FAULT, 0x22222222)
    # RDBUFF itself reads as zero.
    assert cable.access(DPACC, RDBUFF) == (OK_FAULT, 0)


def test_an_error_sticks_until_a_1_is_written_to_it() -> None:
    cable = powered()
    cable.write(APACC, CSW, 0x12)
    cable.write(APACC, TAR, 0x80000000)
    # OK and FAULT have one answer: only CTRL/STAT tells.
    cable.access(APACC, DRW)
    assert cable.read(DPACC, CTRL_STAT) == 0xF0000000 | STICKYERR
    # Until then nothing is done.
    cable.access(APACC, TAR, RAM)
    assert cable.read(APACC, TAR) == 0
    cable.write(DPACC, CTRL_STAT, POWER | STICKYERR)
    assert cable.read(DPACC, CTRL_STAT) == 0xF0000000
    assert cable.read(APACC, TAR) == 0x80000000


def test_an_access_port_that_needs_longer_answers_wait() -> None:
    """What is scanned in with the answer WAIT is discarded."""
    cable = powered("wait:3")
    cable.write(APACC, CSW, 0x12)
    cable.write(APACC, TAR, RAM)
    cable.write(APACC, DRW, 0x12345678)
    assert cable.access(APACC, TAR, 0xDEAD0000)[0] == WAIT
    assert cable.read(APACC, TAR) == RAM + 4
    # Reads, too: the next answer but one has the value.
    cable.write(APACC, CSW, 0x12)
    assert cable.access(APACC, TAR, 0xDEAD0000)[0] == WAIT
    cable.write(APACC, TAR, RAM)
    cable.access(APACC, DRW)
    assert cable.access(DPACC, RDBUFF)[0] == WAIT
    assert cable.access(DPACC, RDBUFF) == (OK_FAULT, 0x12345678)


def test_an_overrun_sticks_where_that_is_asked_for() -> None:
    cable = powered("wait:1", control=POWER | ORUNDETECT)
    cable.access(APACC, CSW, 0x12)
    assert cable.access(DPACC, RDBUFF)[0] == WAIT
    cable = powered("wait:3", control=POWER | ORUNDETECT)
    cable.write(APACC, CSW, 0x12)
    cable.write(APACC, TAR, RAM)
    cable.write(APACC, DRW, 1)
    assert cable.access(APACC, TAR, RAM + 8)[0] == WAIT
    # The first one was done, and no more until the flag is cleared.
    assert cable.read(DPACC, CTRL_STAT) & STICKYORUN
    cable.access(APACC, TAR, RAM + 8)
    cable.write(DPACC, CTRL_STAT, POWER | STICKYORUN)
    assert cable.read(DPACC, CTRL_STAT) & STICKYORUN == 0
    assert cable.read(APACC, TAR) == RAM + 4


def test_an_abort_ends_an_access_that_hangs() -> None:
    cable = powered("hang:2")
    cable.write(APACC, CSW, 0x12)
    cable.access(APACC, TAR, RAM)
    assert [cable.access(DPACC, CTRL_STAT)[0] for _ in range(3)] == [WAIT] * 3
    cable.scan(ABORT, 35, 1 << 3)
    assert cable.access(DPACC, CTRL_STAT)[0] == OK_FAULT


def test_the_reset_pins() -> None:
    resets: List[int] = []
    cable = Cable(pins(reset=lambda: resets.append(1)))
    cable.scan(BYPASS, 1)
    # SRST is active in "s", and TRST in "t", which gives IDCODE again.
    cable.board.feed(b"sr")
    assert len(resets) == 1
    cable.board.feed(b"tr" + walk("0"))
    cable.instruction = IDCODE
    assert cable.scan(IDCODE, 32) == 0x6BA00477 and len(resets) == 1


def test_another_character_is_refused() -> None:
    with pytest.raises(ValueError, match="no character of remote_bitbang"):
        pins().feed(b"0G")


@given(st.lists(st.integers(1, 60)), st.booleans())
def test_characters_come_in_any_split(sizes: List[int], samples: bool) -> None:
    text = b"B" + walk("111110" + "1100") + scanned(4, APACC) + walk("10" + "100") + scanned(35, 0x123456789) + b"R"
    text += walk("1" + "0000" + "100") + scanned(35, 0x7FFFFFFFF)[:70] + b"RR" + scanned(35, 5)[70:] + b"bQ0"
    text = text if samples else text.replace(b"R4", b"4")
    whole, split = tap(), tap()
    expected = BitbangPins(whole, lambda: None).feed(text)
    parts = BitbangPins(split, lambda: None)
    found, at = b"", 0
    for size in [*sizes, len(text)]:
        found += parts.feed(text[at : at + size])
        at += size
    assert (found, split.clocks, split.state, parts.has_quit) == (expected, whole.clocks, whole.state, True)
