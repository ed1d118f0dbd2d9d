"""Vectors worked by hand from IHI 0064, 6.4: layouts and effects.

Lines are those of its text in ../shared/spec.  What is in test_packets.py is not repeated here.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC
from tests.protocols.histories import same

UNIT = A_PROFILE._replace(version=6, commit_mode=0, max_speculation=16)
COMMITTED = UNIT._replace(commit_mode=1)
M_UNIT = UNIT._replace(m_profile=True)
# Trace Info with cycle counting and a threshold of 256 (CYCT of two bytes, L9130).
START = ASYNC + "01 09 01 80 02 "

Row = Tuple[int, str, str]
TIMES: List[Row] = [
    # 7 bits a byte, the ninth has 8 (L9387, L13199); a count of 7, 7 and 6 bits (L9396).
    (9395, "03 ff ff ff ff ff ff ff ff ff ff ff 3f", "0xffffffffffffffff, 1048575 cycles"),
    (9395, "02 80 80 80 80 80 80 80 80 80", "0x8000000000000000"),
    (9394, "02 80 80 80 80 80 80 80 01", "0x2000000000000"),
    (9398, "03 00 80 80 c1", "0x0, 16384 cycles"),
    (9427, "03 01 00", "0x1, 0 cycles"),
    # What is not sent stays (L9414): all but bits 13:0, then 6:0.
    (9414, "02 ff ff ff ff ff ff ff ff ff | 02 80 00 | 02 01", "0xffffffffffffc001"),
    (9836, "0e 00 00", "256 cycles"),
    (9836, "0e 03 ff ff 3f", "commit 3, 1048831 cycles"),
    (9810, "0e 03 80 80 c1", "commit 3, 16640 cycles"),
    (9828, "0f 84 00", "commit 4, count unknown"),
    (9828, "0f 80 01", "commit 128, count unknown"),
    # Format 2: AAAA + 1, or 16 + AAAA - 15 (L9887); format 3: AA + 1 and BB (L9928).
    (9887, "0c 00", "commit 1, 256 cycles"),
    (9887, "0c ff", "commit 16, 271 cycles"),
    (9888, "0d 0f", "commit 1, 271 cycles"),
    (9888, "0d f0", "commit 16, 256 cycles"),
    (9928, "10", "commit 1, 256 cycles"),
    (9928, "1f", "commit 4, 259 cycles"),
]
NO_COMMITS: List[Row] = [
    (9826, "0e 00", "256 cycles"),
    (9826, "0e ff ff 3f", "1048831 cycles"),
    (9826, "0f", "count unknown"),
    (9928, "13", "259 cycles"),
]
ADDRESSES: List[Row] = [
    # IS0 has bits 8:2, 16:9 (L10968); IS1 has 7:1, 15:8 (L10981).  Bit 7 of the second byte is an address bit.
    (10969, "9d 00 00 34 12 c0 ff ff ff | 95 ff ff", "0xffffffc01235fffc IS0"),
    (10982, "9d 00 00 34 12 c0 ff ff ff | 96 ff ff", "0xffffffc01234fffe IS1"),
    (10969, "9d 7f 7f ff ff ff ff ff ff | 95 00", "0xfffffffffffffe00 IS0"),
    (10982, "9d 7f 7f ff ff ff ff ff ff | 96 00", "0xffffffffffffff00 IS1"),
    # Long: A[8:2], A[15:9], then 8 bits a byte; or A[7:1], A[15:8] (L11043, L11055).
    (11043, "9a 7f 7f ff ff", "0xfffffffc IS0"),
    (11055, "9b 7f ff ff ff", "0xfffffffe IS1"),
    (11069, "9d 01 02 03 04 05 06 07 08", "0x807060504030404 IS0"),
    (11085, "9e 01 02 03 04 05 06 07 08", "0x807060504030202 IS1"),
    # Exact Match: address and instruction set (L11153), and it moves the others down (L10849).
    (11165, "9a 00 08 00 00 | 9b 00 20 00 00 | 90", "0x00002000 IS1"),
    (11166, "9a 00 08 00 00 | 9b 00 20 00 00 | 91", "0x00001000 IS0"),
    (11166, "9a 00 08 00 00 | 9b 00 20 00 00 | 91 | 91", "0x00002000 IS1"),
    (11167, "9a 00 08 00 00 | 9b 00 20 00 00 | 92", "0x00000000 IS0"),
    (11167, "9a 00 08 00 00 | 9b 00 20 00 00 | 9a 00 18 00 00 | 92 | 92 | 92", "0x00003000 IS0"),
    # Address with Context: as Long, then the context (L12055); the register keeps bits 63:32 in 32-bit forms (L12183).
    (12059, "9d 00 00 00 00 c0 ff ff ff | 82 01 08 00 00 21", "0xffffffc000001004 IS0, EL1 NS 32-bit"),
    (12087, "83 01 10 00 00 03 | 96 02", "0x00001004 IS1"),
    (12115, "85 01 08 00 00 00 00 00 80 32 | 90", "0x8000000000001004 IS0"),
    # Q with an address or one of the registers (L12696); each moves them down.
    (12696, "9a 00 08 00 00 | a0 05", "0x00001000 IS0, 5 instructions"),
    (12697, "9a 00 08 00 00 | 9b 00 20 00 00 | a1 81 01", "0x00001000 IS0, 129 instructions"),
    (12698, "9a 00 08 00 00 | 9b 00 20 00 00 | 9a 00 18 00 00 | a2 01 | 91", "0x00003000 IS0"),
    (12701, "9a 00 08 00 00 | a5 7f 05", "0x000011fc IS0, 5 instructions"),
    (12702, "9b 00 20 00 00 | a6 ff ff 05", "0x0000fffe IS1, 5 instructions"),
    (12706, "9d 00 00 00 00 c0 ff ff ff | aa 01 08 00 00 05", "0xffffffc000001004 IS0, 5 instructions"),
    (12707, "ab 01 10 00 00 85 00 | 90", "0x00001002 IS1"),
    (12708, "9a 00 08 00 00 | ac 05 | 90", "0x00001000 IS0"),
    (12714, "9a 00 08 00 00 | af | 90", "0x00001000 IS0"),
]
CONTEXTS: List[Row] = [
    # V, C, NS, SF and EL (L12065); the Virtual context identifier comes before the Context ID (L12066).
    (12065, "81 00", "EL0 S 32-bit"),
    (12065, "81 33", "EL3 NS 64-bit"),
    (12065, "81 12", "EL2 S 64-bit"),
    (12067, "81 61 01 02 03 84", "EL1 NS 32-bit VMID 0x84030201"),
    (12072, "81 a1 01 02 03 84", "EL1 NS 32-bit Context ID 0x84030201"),
    (12065, "81 c0 01 00 00 00 02 00 00 00", "EL0 S 32-bit VMID 0x1 Context ID 0x2"),
    (12065, "81 2d", "EL1 NS 32-bit"),  # bits 3:2 should be zero
]
EXCEPTIONS: List[Row] = [
    # L9580: every form of address, which moves the registers as outside of an Exception (L9582).
    (9580, "9a 00 08 00 00 | 06 1d 90", "IRQ, return address 0x00001000 IS0"),
    (9580, "9a 00 08 00 00 | 9a 00 18 00 00 | 06 1d 91 | 91", "0x00003000 IS0"),
    (9580, "9a 00 08 00 00 | 9a 00 18 00 00 | 06 1d 95 01 | 92", "0x00001000 IS0"),
    (9580, "9a 00 08 00 00 | 06 1d 95 81 10", "IRQ, return address 0x00002004 IS0"),
    (9580, "06 1d 96 81 10", "IRQ, return address 0x00001002 IS1"),
    (9580, "06 1d 9b 01 10 00 00", "IRQ, return address 0x00001002 IS1"),
    (9580, "06 1d 9d 01 08 00 00 c0 ff ff ff", "IRQ, return address 0xffffffc000001004 IS0"),
    (9580, "06 1d 9e 01 10 00 00 00 00 00 80", "IRQ, return address 0x8000000000001002 IS1"),
    (9529, "06 1d 82 01 08 00 00 21", "IRQ, return address 0x00001004 IS0, EL1 NS 32-bit"),
    (
        9529,
        "06 1d 85 01 08 00 00 c0 ff ff ff f1 01 00 00 00 02 00 00 00",
        "IRQ, return address 0xffffffc000001004 IS0, EL1 NS 64-bit VMID 0x1 Context ID 0x2",
    ),
    (9565, "06 5c 90", "IRQ, return address 0x00000000 IS0, also the target of the branch before"),
    # Two information bytes: TYPE[9:5] and P in the second (L9547).
    (9547, "06 9d 00 90", "IRQ, return address 0x00000000 IS0"),
    (9586, "06 01 90 | 06 1f 90", "FIQ, return address 0x00000000 IS0"),
]
M_EXCEPTIONS: List[Row] = [
    (9573, "06 8b 20 90", "BusFault, return address 0x00000000 IS0, fault pending"),
    (9656, "06 9f 1f 90", "IRQ495, return address 0x00000000 IS0"),
    (9655, "06 91 30 90", "IRQ8, return address 0x00000000 IS0, fault pending"),
    (9565, "06 66 90", "IRQ3, return address 0x00000000 IS0, also the target of the branch before"),
]
EVENTS: List[Row] = [
    (10781, "7%x" % bits, "event " + ", ".join(str(n) for n in range(4) if bits >> n & 1)) for bits in range(1, 16)
]


@pytest.mark.parametrize(
    "config, row",
    [(UNIT, row) for row in TIMES + ADDRESSES + CONTEXTS + EXCEPTIONS + EVENTS]
    + [(COMMITTED, row) for row in NO_COMMITS]
    + [(M_UNIT, row) for row in M_EXCEPTIONS],
    ids=lambda value: "" if isinstance(value, Etmv4Config) else "L%d %s" % value[:2],
)
def test_layout(config: Etmv4Config, row: Row) -> None:
    # Packets are separated by bars; the fields are those of the last.
    _, text, fields = row
    packets = [bytes.fromhex(part) for part in text.split("|")]
    found = list(list_packets(config, bytes.fromhex(START) + b"".join(packets), same))[2:]
    assert [packet.raw for packet in found] == packets
    assert found[-1].fields == fields


@pytest.mark.parametrize("info, words", [("01 00", "INFO=0x00"), ("01 02 05", "INFO=0x00, P0 key 5")])
def test_trace_info_sections_that_are_left_out(info: str, words: str) -> None:
    # L9169, L9172: without KEY and SPEC both are zero.  L9199: the registers are zero, the threshold (L9206) too.
    data = bytes.fromhex(START + "9a 00 08 00 00 02 7f " + info + " 90 02 80 00 0c 00")
    found = [packet.fields for packet in list_packets(UNIT, data, same)]
    assert found[4:] == [words, "0x00000000 IS0", "0x0", "commit 1, 0 cycles"]


def test_trace_info_that_counts_no_cycles() -> None:
    # L9177: CYCT is then ignored.
    data = bytes.fromhex(ASYNC + "01 09 00 90 01 0c 00")
    assert [packet.fields for packet in list_packets(UNIT, data, same)][1:] == ["INFO=0x00", "commit 1, 0 cycles"]
    # With one byte of it, and with two (L9129).
    data = bytes.fromhex(ASYNC + "01 09 01 7f 0c 00 01 09 01 ff 1f 0c 00")
    assert [packet.fields for packet in list_packets(UNIT, data, same)][2::2] == [
        "commit 1, 127 cycles",
        "commit 1, 4095 cycles",
    ]
