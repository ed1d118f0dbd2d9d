"""Vectors worked by hand from DDI 0314H: each access to an ETB."""

from __future__ import annotations

import struct
from itertools import count
from typing import List, Tuple

import pytest

from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.etb import EmbeddedTraceBuffer
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError

from .transcript import transcript

BASE = 0x80001000
PATIENT = Deadline(1.0, lambda: 0.0)

ATTACH = """
r fb4 = 3           ; LSR: implemented and locked
w fb0 = c5acce55
r 004 = 10          ; RDP: 16 words
"""
START = """
block 020 = 0       ; CTL is remembered, then the others before their first write
w 020 = 0
r 300 = 0           ; FFSR: the formatter has not stopped yet
r 300 = 2
block 018 = 5
w 018 = 0           ; RWP
block 014 = 6
w 014 = 0           ; RRP
block 01c = 0
w 01c = 0           ; TRG
block 304 = 0
w 304 = 3           ; FFCR: EnFTC, EnFCont
w 020 = 1
"""
STOP = """
r 020 = 1
w 304 = 1003        ; FFCR: StopFl
w 304 = 1043        ;       FOnMan
r 304 = 1043
r 304 = 1003        ; flushed
r 300 = 2           ; FFSR.FtStopped
w 020 = 0
r 300 = 2
"""
RELEASE = """
w 020 = 0
r 300 = 2
w 020 = 0           ; off while the rest is put back
w 018 = 5
w 014 = 6
w 01c = 0
w 304 = 0
w 020 = 0
w fb0 = 0           ; locked again
"""


def drained(sequence: str) -> Tuple[List[int], BufferEnd]:
    port = transcript(BASE, ATTACH + START + STOP + sequence + RELEASE)
    buffer = EmbeddedTraceBuffer(port, BASE, PATIENT)
    buffer.attach()
    assert buffer.size == 64
    buffer.start()
    buffer.stop()
    result = buffer.drain()
    buffer.release()
    assert port.finished
    return list(struct.unpack("<%dI" % (len(result.data) // 4), result.data)), result.end


def test_not_wrapped() -> None:
    assert (
        drained(
            """
        r 00c = 0           ; STS
        r 018 = 4           ; RWP
        w 014 = 0           ; RRP
        fifo 010 = 1 2 3 4
    """
        )
        == ([1, 2, 3, 4], BufferEnd.STARTED)
    )


def test_wrapped() -> None:
    assert (
        drained(
            """
        r 00c = 1           ; STS.Full
        r 018 = 8
        w 014 = 8           ; the oldest word is where the next would be written
        fifo 010 = 1 2 3 4 5 6 7 8 9 a b c d e f 10
    """
        )
        == (list(range(1, 17)), BufferEnd.WRAPPED)
    )


def test_wrapped_within_a_frame() -> None:
    """The oldest frame has only words 14 and 15: not read."""
    assert (
        drained(
            """
        r 00c = 1
        r 018 = e
        w 014 = 0
        fifo 010 = 1 2 3 4 5 6 7 8 9 a b c d e
    """
        )
        == (list(range(1, 15)), BufferEnd.WRAPPED)
    )


def test_empty() -> None:
    assert (
        drained(
            """
        r 00c = 0
        r 018 = 0
        w 014 = 0
    """
        )
        == ([], BufferEnd.STARTED)
    )


def test_a_flush_that_never_ends() -> None:
    clock = count(0.0, 0.6)
    port = transcript(
        BASE,
        """
        r 020 = 1
        block 304 = 3
        w 304 = 1003
        w 304 = 1043
        r 304 = 1043
        r 304 = 1043
        r 304 = 1043
    """,
    )
    with pytest.raises(CaptureError) as error:
        EmbeddedTraceBuffer(port, BASE, Deadline(1.0, lambda: next(clock))).stop()
    assert str(error.value) == (
        "FFCR at 0x80001304 (AHB-AP 0) stays 0x00001043, FOnMan=0 was awaited:"
        " is its trace clock on, and is nothing else using this buffer?"
    )


@pytest.mark.parametrize("words", ["0", "ffffffff", "12"])
def test_a_size_that_makes_no_sense(words: str) -> None:
    port = transcript(BASE, "r fb4 = 0\nw fb0 = c5acce55\nr 004 = " + words)
    with pytest.raises(CaptureError, match="says that it holds"):
        EmbeddedTraceBuffer(port, BASE, PATIENT).attach()
