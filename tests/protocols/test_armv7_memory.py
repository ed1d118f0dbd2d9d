"""Vectors worked by hand from IHI 0035B: what decoders remember.

Work is counted, not time.
"""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.protocols.elements import Timestamp
from gdb_etm.protocols.ptm.decoder import Decoder
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.ptm.streams import ASYNC, PLAIN

# T32: 1000 movs r0, #1 | 1002 bl 1020 | 1006 cmp r0, #0 | 1008 beq 1000 | 1020 adds r0, #1 | 1022 bx lr
PROGRAM = program(Code(0x1000, "0120 00f00df8 0028 fad0"), Code(0x1020, "0130 7047"))
START = bytes.fromhex(ASYNC + "08 01 10 00 00 21") + b"\x42" + b"\x80" * 8 + b"\x01"
# BL, E; BX LR to 0x1006: A[6:1] is 3; BEQ, E.
TURN = bytes.fromhex("84 07 84")


def turns(first: int, count: int) -> bytes:
    """Make turns of the loop, each with its own timestamp."""
    return b"".join([TURN + bytes([0x42, 0x80 | at & 0x7F, at >> 7]) for at in range(first, first + count)])


def decode(decoder: Decoder, data: bytes) -> Tuple[int, List[Timestamp]]:
    """Decode a stream; return how many transitions that took, and its timestamps."""
    made = decoder.automaton.made
    recorder = decoder.decode(data, lambda position: position)
    found = [recorder.placed(event) for event in recorder.events]
    return decoder.automaton.made - made, [event for event in found if isinstance(event, Timestamp)]


def test_what_runs_between_two_timestamps_is_remembered() -> None:
    # However short it is, and whatever the timestamps say.
    decoder = Decoder(PLAIN, PROGRAM)
    few, _ = decode(decoder, START + turns(1, 4))
    assert few < 10
    more, times = decode(decoder, START + turns(5, 1000))
    assert more < 5
    assert [time.value & 0x3FFF for time in times[1:]] == list(range(5, 1005))


def test_new_trace_makes_long_transitions() -> None:
    # 64 times BX LR, each to the next one: a branch packet is one byte with A[6:1].
    memory = program(Code(0x1000, "7047" * 64))
    decoder = Decoder(PLAIN, memory)
    stream = START + bytes([at << 1 | 1 for at in range(1, 64)])
    made, _ = decode(decoder, stream)
    # Eight bytes each would be eight.
    assert made <= 3
    assert decode(decoder, stream)[0] == 0


def test_offsets_of_timestamps() -> None:
    _, times = decode(Decoder(PLAIN, PROGRAM), START + turns(1, 50))
    assert [time.offset for time in times] == [len(START) - 10] + [
        len(START) + len(TURN) + at * (len(TURN) + 3) for at in range(50)
    ]
