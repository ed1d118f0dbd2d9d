"""A board's pins, driven by OpenOCD's ``remote_bitbang`` adapter.

A character is a change of the pins, or asks for TDO (OpenOCD 0.12, ``doc/manual/jtag/drivers/remote_bitbang.txt``).
What comes at once is taken at once: a scan of 35 bits is a few steps here, and not a hundred.
"""

from __future__ import annotations

import re
from typing import Callable

from gdb_etm.board.jtag import IDLE, PAUSE_DR, PAUSE_IR, SHIFT_DR, SHIFT_IR, Tap

# Bits that are shifted without leaving the state, and clocks in a state that TMS 0 keeps.
_SHIFTS = re.compile(rb"(?:[01]R?[45])+")
_CLOCKS = re.compile(rb"(?:[01][45])+")
_TCK, _TMS, _TDI = 4, 2, 1
_RISING = bytes.maketrans(b"45", b"01")
_SAMPLE, _QUIT, _BLINK = ord("R"), ord("Q"), b"Bb"
_ZERO, _SEVEN = ord("0"), ord("7")
# TRST and SRST, each 1 for active.
_RESETS = {ord("r"): (False, False), ord("s"): (False, True), ord("t"): (True, False), ord("u"): (True, True)}


class BitbangPins:
    """The pins of a board, driven by characters.

    :param tap: What is at the JTAG pins.
    :param reset: Resets the system; called when nRESET is released.
    """

    def __init__(self, tap: Tap, reset: Callable[[], None]) -> None:
        self._tap = tap
        self._reset = reset
        self._tck = 0
        self._in_reset = False
        # Whether the adapter has taken its leave.
        self.has_quit = False

    def feed(self, data: bytes) -> bytes:
        """Take characters, and give the levels that they ask for.

        They come in any split.

        :raises ValueError: One of them is none of the protocol's.
        """
        replies = bytearray()
        at = 0
        while at < len(data) and not self.has_quit:
            state = self._tap.state
            if state in (SHIFT_DR, SHIFT_IR):
                run = _SHIFTS.match(data, at)
                if run is not None:
                    self._shift(run.group(), replies)
                    at = run.end()
                    continue
            elif state in (IDLE, PAUSE_DR, PAUSE_IR):
                run = _CLOCKS.match(data, at)
                if run is not None:
                    self._tap.clocks += len(run.group()) // 2
                    self._tck = 1
                    at = run.end()
                    continue
            self._take(data[at], replies)
            at += 1
        return bytes(replies)

    def _shift(self, run: bytes, replies: bytearray) -> None:
        samples = run.count(_SAMPLE)
        edges = run.translate(_RISING, b"01R") if samples else run[1::2].translate(_RISING)
        count = len(edges)
        out = self._tap.shift(int(edges[::-1], 2), count)
        self._tck = 1
        if samples == count:
            replies += format(out, "0%db" % count)[::-1].encode("ascii")
        elif samples:
            # Only some of the bits are asked for.
            asked = [b"R" in each for each in re.findall(rb"[01]R?[45]", run)]
            replies += b"".join(b"%d" % (out >> bit & 1) for bit, wanted in enumerate(asked) if wanted)

    def _take(self, character: int, replies: bytearray) -> None:
        if _ZERO <= character <= _SEVEN:
            pins = character - _ZERO
            if pins & _TCK and not self._tck:
                self._tap.clock(pins >> 1 & 1, pins & _TDI)
            self._tck = pins & _TCK
        elif character == _SAMPLE:
            replies.append(_ZERO + self._tap.tdo)
        elif character in _RESETS:
            self._drive_resets(*_RESETS[character])
        elif character == _QUIT:
            self.has_quit = True
        elif character not in _BLINK:
            raise ValueError("%r is no character of remote_bitbang" % chr(character))

    def _drive_resets(self, trst: bool, srst: bool) -> None:
        if trst:
            self._tap.reset()
        if self._in_reset and not srst:
            self._reset()
        self._in_reset = srst
