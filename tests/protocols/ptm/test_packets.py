"""Vectors worked by hand from the specification: packets and their fields.

Sources: IHI 0035B as in shared/spec, 002 (names and meanings); for the encodings table 4.1 and the packets' own
sections (4.5), which are in section 8.4 of the protocol map.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.listing import list_packets
from tests.protocols.histories import same
from tests.protocols.ptm.streams import ASYNC, CYCLES, PLAIN

ISYNC = "08 01 10 00 00 01|"
IN_THUMB = "I-sync: periodic, 0x00001000 Thumb, S"
OLD = PLAIN._replace(version=0, wide_timestamps=False)
CONTEXTS = PLAIN._replace(context_id_bytes=4)
CYCLES_CONTEXTS = CYCLES._replace(context_id_bytes=2)
GRAY = OLD._replace(gray_timestamps=True)

VECTORS: List[Tuple[PtmConfig, str, List[str]]] = [
    (PLAIN, "00 00 00 00 00 80|00 00 00 00 00 00 00 80", ["A-sync", "A-sync"]),
    (PLAIN, "0c|66|76", ["Trigger", "Ignore", "Exception return"]),
    # I-sync: the address comes first; reason in [6:5], NS [3], AltISA [2], Hyp [1] of the information byte after it.
    (PLAIN, "08 44 23 01 80 01", ["I-sync: periodic, 0x80012344 ARM, S"]),
    (PLAIN, "08 45 23 01 80 29", ["I-sync: tracing enabled, 0x80012344 Thumb, NS"]),
    (PLAIN, "08 45 23 01 80 4b", ["I-sync: after overflow, 0x80012344 Thumb, NS, Hyp"]),
    (PLAIN, "08 45 23 01 80 65", ["I-sync: after debug state, 0x80012344 ThumbEE, S"]),
    (OLD, "08 45 23 01 80 0b", ["I-sync: periodic, 0x80012344 Thumb, NS"]),
    (CONTEXTS, "08 44 23 01 80 21 78 56 34 12", ["I-sync: tracing enabled, 0x80012344 ARM, S, Context ID 0x12345678"]),
    # Cycle count, unless periodic: bits 3:0 in [5:2] of the first byte, bit 6 when there is more; then 7 bits a byte.
    (CYCLES, "08 44 23 01 80 01", ["I-sync: periodic, 0x80012344 ARM, S"]),
    (CYCLES, "08 44 23 01 80 21 3c", ["I-sync: tracing enabled, 0x80012344 ARM, S, 15 cycles"]),
    (CYCLES, "08 44 23 01 80 21 40 83 01", ["I-sync: tracing enabled, 0x80012344 ARM, S, 2096 cycles"]),
    (
        CYCLES_CONTEXTS,
        "08 44 23 01 80 21 7c ff ff ff 7f 34 12",
        ["I-sync: tracing enabled, 0x80012344 ARM, S, Context ID 0x1234, 4294967295 cycles"],
    ),
    # Atoms: a set bit is an N, the oldest atom is in the highest; 1 to 5 of them.
    (PLAIN, "84|86|88|8a|8c|8e", ["Atom: " + atoms for atoms in ("E", "N", "EE", "EN", "NE", "NN")]),
    (PLAIN, "90|98|9e|a0|b0|be", ["Atom: " + atoms for atoms in ("EEE", "NEE", "NNN", "EEEE", "NEEE", "NNNN")]),
    (PLAIN, "c0|c2|e0|fe", ["Atom: " + atoms for atoms in ("EEEEE", "EEEEN", "NEEEE", "NNNNN")]),
    # Cycle-accurate: one atom, bit 1.
    (
        CYCLES,
        "84|be|e8 20|c0 81 82 83 04|86",
        ["Atom: E, 1 cycles", "Atom: N, 15 cycles", "Atom: E, 522 cycles"]
        + ["Atom: E, %d cycles" % (1 << 4 | 2 << 11 | 3 << 18 | 4 << 25), "Atom: N, 1 cycles"],
    ),
    # Branches: as ETMv3's in the alternative encoding.
    (PLAIN, "05", ["Branch address: address not known before an I-sync"]),
    (
        PLAIN,
        ISYNC + "05|83 01|81 81 01|81 81 81 01|81 81 81 81 12",
        [IN_THUMB] + ["Branch address: 0x%08x Thumb" % at for at in (0x1004, 0x0082, 0x4080, 0x204080, 0x20204080)],
    ),
    (
        PLAIN,
        ISYNC + "81 80 80 80 0c|05|83 01|81 80 80 80 30",
        [IN_THUMB, "Branch address: 0x80000000 ARM", "Branch address: 0x80000008 ARM", "Branch address: 0x80000104 ARM"]
        + ["Branch address: 0x80000000 Jazelle"],
    ),
    # Exception information: after two to four bytes bit 6 of the last tells, after five bit 6 of the fifth.
    (
        PLAIN,
        ISYNC + "83 41 02|83 40 1d|81 80 80 80 51 9d 20|83 40 41",
        [IN_THUMB, "Branch address: 0x00000082 Thumb, S, Debug halt", "Branch address: 0x00000002 Thumb, NS, IRQ"]
        + ["Branch address: 0x10000000 Thumb, NS, Hyp, IRQ", "Branch address: 0x10000002 ThumbEE, NS"],
    ),
    (
        PLAIN,
        ISYNC + "|".join("81 40 %02x" % (number << 1) for number in (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 6)),
        [IN_THUMB]
        + [
            "Branch address: 0x00000000 Thumb, S, " + name
            for name in (
                ["Debug halt", "SMC", "Hyp", "Asynchronous data abort", "Jazelle or ThumbEE", "Reset"]
                + ["Undefined Instruction", "SVC", "Prefetch abort", "Data abort", "Generic", "IRQ", "FIQ"]
                + ["exception type 0x06"]
            )
        ],
    ),
    # In cycle-accurate trace the count comes last.
    (
        CYCLES,
        ISYNC + "05 04|83 40 1d 40 01|81 80 80 80 11 3c",
        [IN_THUMB, "Branch address: 0x00001004 Thumb, 1 cycles", "Branch address: 0x00000002 Thumb, NS, IRQ, 16 cycles"]
        + ["Branch address: 0x10000000 Thumb, 15 cycles"],
    ),
    # Waypoint update: the bytes of a branch, after the header; after a fifth with bit 6 one more, with AltISA.
    (
        PLAIN,
        ISYNC + "72 04|72 82 01|72 80 80 80 80 12|72 80 80 80 80 51 40|72 80 80 80 80 0c",
        [IN_THUMB, "Waypoint update: 0x00001004 Thumb", "Waypoint update: 0x00000082 Thumb"]
        + ["Waypoint update: 0x20000000 Thumb", "Waypoint update: 0x10000000 ThumbEE"]
        + ["Waypoint update: 0x80000000 ARM"],
    ),
    (PLAIN, "72 04", ["Waypoint update: address not known before an I-sync"]),
    # Context ID, VMID, timestamps.
    (CONTEXTS, "6e 78 56 34 12", ["Context ID: 0x12345678"]),
    (PLAIN, "3c 07", ["VMID: 0x7"]),
    (
        PLAIN,
        "42 cc 97 c6 ce af 90 80 80 00|46 01|42 80 80 80 80 80 80 80 80 80",
        ["Timestamp: 0x82f9d18bcc", "Timestamp: 0x82f9d18b81, clock changed", "Timestamp: 0x8000000000000000"],
    ),
    (CYCLES, "42 80 80 80 80 80 80 80 80 00 0c|42 05 40 01", ["Timestamp: 0x0, 3 cycles", "Timestamp: 0x5, 16 cycles"]),
    (OLD, "42 80 80 80 80 80 80 20|42 7f", ["Timestamp: 0x800000000000", "Timestamp: 0x80000000007f"]),
    (GRAY, "42 85 80 80 80 80 80 00|42 04", ["Timestamp: 0x6", "Timestamp: 0x7"]),
]


@pytest.mark.parametrize("config, text, expected", VECTORS)
def test_fields(config: PtmConfig, text: str, expected: List[str]) -> None:
    raws = [bytes.fromhex(part) for part in (ASYNC + "|" + text).split("|")]
    found = list(list_packets(config, b"".join(raws), same))
    assert [packet.raw for packet in found] == raws
    assert [packet.name + (": " + packet.fields if packet.fields else "") for packet in found[1:]] == expected


@pytest.mark.parametrize("config, text, expected", VECTORS)
def test_cut_packets_wait(config: PtmConfig, text: str, expected: List[str]) -> None:
    # Every packet but its last byte is no packet yet.
    for part in text.split("|"):
        raw = bytes.fromhex(part)
        for size in range(1, len(raw)):
            *_, last = list_packets(config, bytes.fromhex(ASYNC) + raw[:size], same)
            assert (last.raw, last.fields) == (raw[:size], "cut by the end of the buffer")


MALFORMED = [
    # A fifth address byte without an instruction set, or with bit 7 set.
    "81 80 80 80 00",
    "81 80 80 80 88",
    "72 80 80 80 80 47",
    # Zeros that are no A-sync.
    "00 00 00 00 80",
    "00 00 00 00 00 81",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_packets(text: str) -> None:
    data = bytes.fromhex(ASYNC + text + ASYNC + "66")
    names = [packet.name for packet in list_packets(PLAIN, data, same)]
    assert names[:2] == ["A-sync", "reserved"]
    assert names[-2:] == ["A-sync", "Ignore"]
