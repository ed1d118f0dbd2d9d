"""Vectors worked by hand from the specification: packets and their fields.

Sources: IHI 0014Q as in shared/spec, 000 (I-sync), 001 (Normal data) and 003 (Cycle count); for the rest table 7.1 and
the packets' own sections (7.3 to 7.7), whose encodings are in section 8.3 of the protocol map; exceptions of ARMv7-M
from the Cortex-M3 TRM (DDI 0337G), table 14-8 and figure 14-3.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.listing import list_packets
from tests.protocols.etmv3.streams import A_PROFILE, ASYNC, CYCLES, DATA, M_PROFILE
from tests.protocols.histories import same

# At 0x1000, Thumb: the address of 000, "Normal I-sync packet", with the T bit.
ISYNC = "08 01 01 10 00 00|"
IN_THUMB = "I-sync: periodic, 0x00001000 Thumb, S"
COUNTED = "I-sync with cycle count: tracing enabled, "
CONTEXTS = A_PROFILE._replace(context_id_bytes=4)
SHORT_CONTEXTS = A_PROFILE._replace(context_id_bytes=2)
OLD = A_PROFILE._replace(version=0)
DATA_ONLY = DATA._replace(data_only=True)
ADDRESSES = DATA._replace(data_values=False)
VALUES = DATA._replace(data_addresses=False)
NARROW = A_PROFILE._replace(wide_timestamps=False)
GRAY = A_PROFILE._replace(gray_timestamps=True)

VECTORS: List[Tuple[Etmv3Config, str, List[str]]] = [
    # A-sync: five zeros or more, then 80.
    (A_PROFILE, "00 00 00 00 00 80|00 00 00 00 00 00 00 80", ["A-sync", "A-sync"]),
    # One byte and nothing else.
    (A_PROFILE, "0c|66|76|7e", ["Trigger", "Ignore", "Exception exit", "Exception entry"]),
    # 000, information byte: reason in [6:5], J [4], NS [3], AltISA [2], Hyp [1]; T in bit 0 of the address.
    (A_PROFILE, "08 01 00 10 00 00", ["I-sync: periodic, 0x00001000 ARM, S"]),
    (A_PROFILE, "08 29 45 23 01 80", ["I-sync: tracing enabled, 0x80012344 Thumb, NS"]),
    (A_PROFILE, "08 4b 45 23 01 80", ["I-sync: after overflow, 0x80012344 Thumb, NS, Hyp"]),
    (A_PROFILE, "08 65 45 23 01 80", ["I-sync: after debug state, 0x80012344 ThumbEE, S"]),
    (A_PROFILE, "08 11 45 23 01 80", ["I-sync: periodic, 0x80012345 Jazelle, S"]),
    # The AltISA bit is from ETMv3.3, the Hyp bit from ETMv3.5.
    (OLD, "08 67 45 23 01 80", ["I-sync: after debug state, 0x80012344 Thumb, S"]),
    # 000, "Context ID": 0 to 4 bytes between the header and the information byte.
    (CONTEXTS, "08 44 33 22 11 21 00 10 00 00", ["I-sync: tracing enabled, 0x00001000 ARM, S, Context ID 0x11223344"]),
    (SHORT_CONTEXTS, "08 44 33 21 00 10 00 00", ["I-sync: tracing enabled, 0x00001000 ARM, S, Context ID 0x3344"]),
    # 000, "Normal I-sync with cycle count": the count right after the header, 003: 1 to 5 bytes; 0 is unknown.
    (A_PROFILE, "70 8f 3c 21 99 f6 04 c0", [COUNTED + "0xc004f698 Thumb, S, 7695 cycles"]),
    (A_PROFILE, "70 00 21 99 f6 04 c0", [COUNTED + "0xc004f698 Thumb, S, cycles unknown"]),
    (
        CONTEXTS,
        "70 ff ff ff ff 0f 01 00 00 00 21 00 10 00 00",
        [COUNTED + "0x00001000 ARM, S, Context ID 0x1, 4294967295 cycles"],
    ),
    # 000, "LSiP": bit 7 of the information byte; then the current address, compressed against the first.
    (
        A_PROFILE,
        "08 a1 01 10 00 00 11",
        ["I-sync: tracing enabled, load or store at 0x00001000 Thumb, executing 0x00001010 Thumb, S"],
    ),
    (
        A_PROFILE,
        "70 05 a1 01 10 00 00 81 42",
        [COUNTED + "load or store at 0x00001000 Thumb, executing 0x00002100 Thumb, S, 5 cycles"],
    ),
    # A sixth byte shows a change of security.
    (
        A_PROFILE,
        "08 a1 00 10 00 00 81 88 80 80 48 01",
        ["I-sync: tracing enabled, load or store at 0x00001000 ARM, executing 0x00000800 ARM, NS, S"],
    ),
    # 000, "Data-only I-sync": no address.
    (DATA_ONLY, "08 21", ["I-sync: tracing enabled, S"]),
    # 003.
    (
        A_PROFILE,
        "04 42|04 80 01|04 00",
        ["Cycle count: 66 cycles", "Cycle count: 128 cycles", "Cycle count: cycles unknown"],
    ),
    # P-headers, table 7.2: 1NEEEE00 and 1000FF10; the specification's own examples are C8 = EEN and 8A = NE.
    (
        A_PROFILE,
        "c8|8a|84|bc|fc|82|86|8e|80",
        ["P-header: " + atoms for atoms in ("EEN", "NE", "E", "E" * 15, "E" * 15 + "N", "EE", "EN", "NN")]
        + ["P-header"],
    ),
    # Cycle-accurate, formats 0 to 4.
    (CYCLES, "80|84|9c|c0|cc", ["P-header: " + atoms for atoms in ("W", "WE", "WE" * 7, "WN", "WEWEWEWN")]),
    (CYCLES, "82|86|8a|8e|92|96", ["P-header: " + atoms for atoms in ("WEE", "WEN", "WNE", "WNN", "E", "N")]),
    (CYCLES, "a0|bc|e0|fc", ["P-header: " + atoms for atoms in ("W", "W" * 8, "WE", "W" * 8 + "E")]),
    # Context ID and VMID.
    (CONTEXTS, "6e 78 56 34 12", ["Context ID: 0x12345678"]),
    (SHORT_CONTEXTS, "6e 78 56", ["Context ID: 0x5678"]),
    (A_PROFILE, "3c 07", ["VMID: 0x7"]),
    # Timestamps: 7 bits a byte, the last of the longest 8 (64 bits) or 6 (48 bits); R is bit 2 of the header.
    (
        A_PROFILE,
        "42 bd 9a c3 ce af 90 80 80 00|42 df 1e|46 01|42 80 80 80 80 80 80 80 80 80",
        ["Timestamp: 0x82f9d0cd3d", "Timestamp: 0x82f9d0cf5f", "Timestamp: 0x82f9d0cf01, clock changed"]
        + ["Timestamp: 0x8000000000000000"],
    ),
    (NARROW, "42 80 80 80 80 80 80 20|42 7f", ["Timestamp: 0x800000000000", "Timestamp: 0x80000000007f"]),
    (A_PROFILE, "42 05", ["Timestamp: upper bits not known"]),
    # ETMCCER bit 28 is 0: of the Gray code 0b101 the number is 0b110; the code is what is compressed.
    (GRAY, "42 85 80 80 80 80 80 80 80 00|42 04", ["Timestamp: 0x6", "Timestamp: 0x7"]),
    # Branches before an I-sync have nothing to be compressed against.
    (A_PROFILE, "05", ["Branch address: address not known before an I-sync"]),
    # Thumb: A[6:1], then seven bits a byte; the fifth holds A[31:28] after 01.
    (
        A_PROFILE,
        ISYNC + "05|83 01|81 81 01|81 81 81 01|81 81 81 81 12",
        [IN_THUMB] + ["Branch address: 0x%08x Thumb" % at for at in (0x1004, 0x82, 0x4080, 0x204080, 0x20204080)],
    ),
    # ARM: A[7:2] first, A[31:29] last after 001. Jazelle: A[5:0] first, A[31:27] last after 1.
    (
        A_PROFILE,
        ISYNC + "81 80 80 80 0c|05|83 01|81 80 80 80 30|05",
        [IN_THUMB, "Branch address: 0x80000000 ARM", "Branch address: 0x80000008 ARM", "Branch address: 0x80000104 ARM"]
        + ["Branch address: 0x80000000 Jazelle", "Branch address: 0x80000002 Jazelle"],
    ),
    # Bit 6 of the fifth byte: exception information. AltISA [6], cancel [5], exception [4:1], NS [0].
    (
        A_PROFILE,
        ISYNC + "81 80 80 80 51 3d|81 80 80 80 48 1c|81 80 80 80 51 40|03",
        [IN_THUMB]
        + ["Branch address: 0x10000000 Thumb, NS, IRQ, cancels the last instruction"]
        + ["Branch address: 0x00000000 ARM, S, IRQ", "Branch address: 0x10000000 ThumbEE, S"]
        + ["Branch address: 0x10000002 ThumbEE"],
    ),
    # Information byte 1: Hyp [5], exception [8:4]; byte 2, told by bit 6: resume [3:0].
    (
        A_PROFILE,
        ISYNC + "81 80 80 80 48 87 20|81 80 80 80 48 87 00",
        [IN_THUMB, "Branch address: 0x00000000 ARM, NS, Hyp, Hyp", "Branch address: 0x00000000 ARM, NS, Hyp"],
    ),
    # The old exceptions in a fifth byte with bit 7 set: cancel [6], type [5:3], A[31:29].
    (
        A_PROFILE,
        ISYNC + "8d 80 80 80 88|8d 80 80 80 c0|8d 80 80 80 bb",
        [IN_THUMB, "Branch address: 0x00000018 ARM, IRQ"]
        + ["Branch address: 0x00000018 ARM, Reset, cancels the last instruction"]
        + ["Branch address: 0x60000018 ARM, Debug halt"],
    ),
    # The alternative encoding: a last byte but the first and the fifth has six address bits, and bit 6 tells of
    # exception information.
    (
        M_PROFILE,
        ISYNC + "53|e5 ca 42 02|81 3f|81 00",
        [IN_THUMB, "Branch address: 0x00001052 Thumb", "Branch address: 0x0000a564 Thumb, S, IRQ1"]
        + ["Branch address: 0x0000bf80 Thumb", "Branch address: 0x0000a000 Thumb"],
    ),
    (
        M_PROFILE,
        ISYNC + "81 40 10|81 40 12|81 40 1e|81 40 82 01|81 40 8c 01|81 40 90 01|81 40 92 01|81 40 80 0f",
        [IN_THUMB]
        + [
            "Branch address: 0x00000000 Thumb, S, " + name
            for name in ("IRQ0", "UsageFault", "SysTick", "Reset", "exception type 0x16", "IRQ8", "IRQ9", "IRQ224")
        ],
    ),
    (
        M_PROFILE,
        ISYNC + "81 40 a2 43|81 40 86 81 47|81 81 81 81 51 02",
        [IN_THUMB, "Branch address: 0x00000000 Thumb, S, IRQ1, cancels the last instruction, resume 0x3"]
        + ["Branch address: 0x00000000 Thumb, S, HardFault, resume 0x7", "Branch address: 0x10204080 Thumb, S, IRQ1"],
    ),
    # 001: A (bit 5), sizes 0, 1, 2 and 4; an address of five bytes has BE in bit 4 of the fifth.
    (
        DATA,
        "22 82 80 80 80 11|02|26 03 77|2e 01 78 56 34 12|0a bb cc|26 81 01 aa|22 80 80 80 80 01",
        ["Normal data: at 0x10000002 big-endian, value 0x0", "Normal data: value 0x0"]
        + ["Normal data: at 0x10000003 big-endian, value 0x77"]
        + ["Normal data: at 0x10000001 big-endian, value 0x12345678"]
        + ["Normal data: value 0xccbb", "Normal data: at 0x10000081 big-endian, value 0xaa"]
        + ["Normal data: at 0x10000000, value 0x0"],
    ),
    (DATA, "22 05", ["Normal data: at an address whose upper bits are not known, value 0x0"]),
    # 001: without address tracing the A bit is ignored, without value tracing there is no value.
    (VALUES, "26 77|2e 78 56 34 12", ["Normal data: value 0x77", "Normal data: value 0x12345678"]),
    (ADDRESSES, "2e 80 80 80 80 01|0e", ["Normal data: at 0x10000000", "Normal data"]),
    # Out-of-order: the tag is in bits [3:2] of the placeholder, in [6:5] of the data.
    (
        DATA,
        "7c 84 80 80 80 01|54|58|2c 44 33 22 11|40|64 99|48 34 12",
        ["Out-of-order placeholder: tag 3, at 0x10000004", "Out-of-order placeholder: tag 1"]
        + ["Out-of-order placeholder: tag 2", "Out-of-order data: tag 1, value 0x11223344"]
        + ["Out-of-order data: tag 2, value 0x0", "Out-of-order data: tag 3, value 0x99"]
        + ["Out-of-order data: tag 2, value 0x1234"],
    ),
    # The A bit of Value not traced is bit 4.
    (
        DATA,
        "50|62|6a|7a 84 80 80 80 01",
        ["Store failed", "Data suppressed", "Value not traced", "Value not traced: at 0x10000004"],
    ),
]


@pytest.mark.parametrize("config, text, expected", VECTORS)
def test_fields(config: Etmv3Config, text: str, expected: List[str]) -> None:
    raws = [bytes.fromhex(part) for part in (ASYNC + "|" + text).split("|")]
    found = list(list_packets(config, b"".join(raws), same))
    assert [packet.raw for packet in found] == raws
    assert [packet.name + (": " + packet.fields if packet.fields else "") for packet in found[1:]] == expected


@pytest.mark.parametrize("config, text, expected", VECTORS)
def test_cut_packets_wait(config: Etmv3Config, text: str, expected: List[str]) -> None:
    # Every packet but its last byte is no packet yet.
    for part in text.split("|"):
        raw = bytes.fromhex(part)
        for size in range(1, len(raw)):
            *_, last = list_packets(config, bytes.fromhex(ASYNC) + raw[:size], same)
            assert (last.raw, last.fields) == (raw[:size], "cut by the end of the buffer")


MALFORMED = [
    # A fifth address byte without an instruction set.
    (A_PROFILE, "81 80 80 80 00"),
    (A_PROFILE, "81 80 80 80 47"),
    # The alternative encoding has no old exceptions.
    (M_PROFILE, "81 80 80 80 88"),
    # A third information byte has bit 6 set, and is the last.
    (M_PROFILE, "81 40 82 81 07"),
    (M_PROFILE, "81 40 82 81 c7"),
    # Zeros that are no A-sync.
    (A_PROFILE, "00 00 00 00 80"),
    (A_PROFILE, "00 00 00 00 00 81"),
]


@pytest.mark.parametrize("config, text", MALFORMED)
def test_malformed_packets(config: Etmv3Config, text: str) -> None:
    data = bytes.fromhex(ASYNC + text + ASYNC + "66")
    names = [packet.name for packet in list_packets(config, data, same)]
    assert names[:2] == ["A-sync", "reserved"]
    assert names[-2:] == ["A-sync", "Ignore"]
