"""The transfers of an instruction by transfer index.

Evidence: vectors worked by hand from the specification, F.2 (the line stands beside each); beside
each encoding is what Capstone reads in it.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest

from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import (
    EXCEPTION_ENTRY,
    EXCEPTION_RETURN,
    FUNCTION_RETURN,
    LAZY_PUSH,
    TransferPart,
    TransferRole,
    transfers,
)

Shape = List[Tuple[str, int, Optional[int]]]


def shape(parts: Tuple[TransferPart, ...]) -> Shape:
    letters = {TransferRole.DATA: "", TransferRole.STATUS: "?", TransferRole.OPERAND: "*"}
    return [
        ("st" if part.store else "ld", part.size, part.offset) for part in parts if part.role is TransferRole.DATA
    ] + [
        (letters[part.role] + str(index), part.size, part.offset)
        for index, part in enumerate(parts)
        if part.role is not TransferRole.DATA
    ]


def order(way: str, count: int, size: int = 4) -> Shape:
    return [(way, size, size * place) for place in range(count)]


def half(*words: int) -> bytes:
    return b"".join(word.to_bytes(2, "little") for word in words)


def word(value: int) -> bytes:
    return value.to_bytes(4, "little")


T16 = [
    (0x4801, "ldr r0, [pc, #4]", [("ld", 4, 0)]),
    (0x5088, "str r0, [r1, r2]", [("st", 4, 0)]),
    (0x5288, "strh r0, [r1, r2]", [("st", 2, 0)]),
    (0x5488, "strb r0, [r1, r2]", [("st", 1, 0)]),
    (0x5688, "ldrsb r0, [r1, r2]", [("ld", 1, 0)]),
    (0x5888, "ldr r0, [r1, r2]", [("ld", 4, 0)]),
    (0x5A88, "ldrh r0, [r1, r2]", [("ld", 2, 0)]),
    (0x5C88, "ldrb r0, [r1, r2]", [("ld", 1, 0)]),
    (0x5E88, "ldrsh r0, [r1, r2]", [("ld", 2, 0)]),
    (0x6048, "str r0, [r1, #4]", [("st", 4, 0)]),
    (0x7848, "ldrb r0, [r1, #1]", [("ld", 1, 0)]),
    (0x8048, "strh r0, [r1, #2]", [("st", 2, 0)]),
    (0x9801, "ldr r0, [sp, #4]", [("ld", 4, 0)]),
    # L20404: address order 32, one word for each register.
    (0xB5F0, "push {r4-r7, lr}", order("st", 5)),
    (0xBD10, "pop {r4, pc}", order("ld", 2)),
    (0xC064, "stmia r0!, {r2, r5, r6}", order("st", 3)),
    (0xC864, "ldmia r0!, {r2, r5, r6}", order("ld", 3)),
    (0x4784, "blxns r0", order("st", 2)),
    (0x1840, "adds r0, r0, r1", []),
    (0xB004, "add sp, #16", []),
]
T32 = [
    (0xF8D0, 0x1004, "ldr.w r1, [r0, #4]", [("ld", 4, 0)]),
    (0xF800, 0x1B01, "strb r1, [r0], #1", [("st", 1, 0)]),
    (0xF9B0, 0x1002, "ldrsh.w r1, [r0, #2]", [("ld", 2, 0)]),
    (0xE8BD, 0x80F0, "ldmia.w sp!, {r4-r7, pc}", order("ld", 5)),
    (0xE92D, 0x4FF0, "stmdb sp!, {r4-r11, lr}", order("st", 9)),
    (0xE9D0, 0x1202, "ldrd r1, r2, [r0, #8]", order("ld", 2)),
    (0xE8E0, 0x1202, "strd r1, r2, [r0], #8", order("st", 2)),
    # L20415, L20425: the success indicator is the last index and has no address of its own.
    (0xE840, 0x1300, "strex r3, r1, [r0]", [("st", 4, 0), ("?1", 4, None)]),
    (0xE8C0, 0x1F43, "strexb r3, r1, [r0]", [("st", 1, 0), ("?1", 1, None)]),
    (0xE8C0, 0x1F53, "strexh r3, r1, [r0]", [("st", 2, 0), ("?1", 2, None)]),
    (0xE8C0, 0x1273, "strexd r3, r1, r2, [r0]", [("st", 4, 0), ("st", 4, 4), ("?2", 4, None)]),
    (0xE8C0, 0x1FE3, "stlex r3, r1, [r0]", [("st", 4, 0), ("?1", 4, None)]),
    (0xE8C0, 0x1FAF, "stl r1, [r0]", [("st", 4, 0)]),
    (0xE8C0, 0x1F8F, "stlb r1, [r0]", [("st", 1, 0)]),
    (0xE850, 0x1F00, "ldrex r1, [r0]", [("ld", 4, 0)]),
    (0xE8D0, 0x1F5F, "ldrexh r1, [r0]", [("ld", 2, 0)]),
    (0xE8D0, 0x127F, "ldrexd r1, r2, [r0]", order("ld", 2)),
    (0xE8D0, 0xF001, "tbb [r0, r1]", [("ld", 1, 0)]),
    (0xE8D0, 0xF011, "tbh [r0, r1, lsl #1]", [("ld", 2, 0)]),
    (0xED90, 0x0A01, "vldr s0, [r0, #4]", [("ld", 4, 0)]),
    # L20694: a doubleword is two words.
    (0xED80, 0x0B02, "vstr d0, [r0, #8]", order("st", 2)),
    (0xECB0, 0x0A04, "vldmia r0!, {s0-s3}", order("ld", 4)),
    (0xED2D, 0x8B04, "vpush {d8-d9}", order("st", 4)),
    (0xECBD, 0x8B04, "vpop {d8-d9}", order("ld", 4)),
    # Table F-24, L21423.
    (0xEC20, 0x0A00, "vlstm r0", order("st", 34)),
    (0xEC30, 0x0A00, "vlldm r0", order("ld", 34)),
    # L20776 and L20813: words in address order, a smaller one last.
    (0xF960, 0x070F, "vld1.8 {d16}, [r0]", order("ld", 2)),
    (0xF9C0, 0x032F, "vst4.8 {d16[1], d17[1], d18[1], d19[1]}, [r0]", [("st", 4, 0)]),
    (0xF9C0, 0x022F, "vst3.8 {d16[1], d17[1], d18[1]}, [r0]", [("st", 3, 0)]),
    (0xF9E0, 0x064F, "vld3.16 {d16[1], d17[1], d18[1]}, [r0]", [("ld", 4, 0), ("ld", 2, 4)]),
    (0xF960, 0x000F, "vld4.8 {d16-d19}, [r0]", order("ld", 8)),
    (0xF9E0, 0x0E4F, "vld3.16 {d16[], d17[], d18[]}, [r0]", [("ld", 4, 0), ("ld", 2, 4)]),
    (0xF3BF, 0x8F4F, "dsb sy", []),
]
A32 = [
    (0xE5901004, "ldr r1, [r0, #4]", [("ld", 4, 0)]),
    (0xE5C01001, "strb r1, [r0, #1]", [("st", 1, 0)]),
    (0xE1D010F2, "ldrsh r1, [r0, #2]", [("ld", 2, 0)]),
    (0xE1D010D1, "ldrsb r1, [r0, #1]", [("ld", 1, 0)]),
    (0xE1C010B2, "strh r1, [r0, #2]", [("st", 2, 0)]),
    (0xE1C020D8, "ldrd r2, r3, [r0, #8]", order("ld", 2)),
    (0xE1C020F8, "strd r2, r3, [r0, #8]", order("st", 2)),
    (0xE8BD80F0, "pop {r4-r7, pc}", order("ld", 5)),
    (0xE1803F91, "strex r3, r1, [r0]", [("st", 4, 0), ("?1", 4, None)]),
    (0xE1A04F92, "strexd r4, r2, r3, [r0]", [("st", 4, 0), ("st", 4, 4), ("?2", 4, None)]),
    (0xE180FC91, "stl r1, [r0]", [("st", 4, 0)]),
    # L20437: swap.
    (0xE1001092, "swp r1, r2, [r0]", [("ld", 4, 0), ("st", 4, 0)]),
    (0xE1401092, "swpb r1, r2, [r0]", [("ld", 1, 0), ("st", 1, 0)]),
    (0xF8BD0A00, "rfeia sp!", order("ld", 2)),
    (0xF96D0513, "srsdb sp!, #19", order("st", 2)),
    (0xED900B02, "vldr d0, [r0, #8]", order("ld", 2)),
    (0xF420070F, "vld1.8 {d0}, [r0]", order("ld", 2)),
    (0xE12FFF1E, "bx lr", []),
]
A64 = [
    (0xF9400401, "ldr x1, [x0, #8]", [("ld", 8, 0)]),
    (0xB9000401, "str w1, [x0, #4]", [("st", 4, 0)]),
    (0x39800401, "ldrsb x1, [x0, #1]", [("ld", 1, 0)]),
    (0x18000041, "ldr w1, .+8", [("ld", 4, 0)]),
    (0x58000041, "ldr x1, .+8", [("ld", 8, 0)]),
    (0x98000041, "ldrsw x1, .+8", [("ld", 4, 0)]),
    (0x9C000041, "ldr q1, .+8", order("ld", 2, 8)),
    (0x3DC00401, "ldr q1, [x0, #16]", order("ld", 2, 8)),
    (0xFD400401, "ldr d1, [x0, #8]", [("ld", 8, 0)]),
    # Table F-17, L20834: address order 32 and 64.
    (0x29400801, "ldp w1, w2, [x0]", order("ld", 2)),
    (0x69400801, "ldpsw x1, x2, [x0]", order("ld", 2)),
    (0xA9400801, "ldp x1, x2, [x0]", order("ld", 2, 8)),
    (0xAD000801, "stp q1, q2, [x0]", order("st", 4, 8)),
    (0x2D400801, "ldp s1, s2, [x0]", order("ld", 2)),
    # L20466, L20476.
    (0xC8037C01, "stxr w3, x1, [x0]", [("st", 8, 0), ("?1", 8, None)]),
    (0xC8230801, "stxp w3, x1, x2, [x0]", [("st", 8, 0), ("st", 8, 8), ("?2", 8, None)]),
    (0xC87F0801, "ldxp x1, x2, [x0]", order("ld", 2, 8)),
    (0x889FFC01, "stlr w1, [x0]", [("st", 4, 0)]),
    (0x085FFC01, "ldaxrb w1, [x0]", [("ld", 1, 0)]),
    # L20487: compare and swap; L20503: pairs.
    (0xC8A17C02, "cas x1, x2, [x0]", [("ld", 8, 0), ("st", 8, 0), ("?2", 8, None)]),
    (
        0x08227C04,
        "casp w2, w3, w4, w5, [x0]",
        [("ld", 4, 0), ("st", 4, 0), ("ld", 4, 4), ("st", 4, 4), ("?4", 4, None)],
    ),
    # L20537: atomic operations; L21395 ("Swap instructions").
    (0xF8210002, "ldadd x1, x2, [x0]", [("ld", 8, 0), ("st", 8, 0), ("*1", 8, 0)]),
    (0xB8218002, "swp w1, w2, [x0]", [("ld", 4, 0), ("st", 4, 0)]),
    (0xF8BFC001, "ldapr x1, [x0]", [("ld", 8, 0)]),
    (0xF8200401, "ldraa x1, [x0]", [("ld", 8, 0)]),
    # L21019 to L21268: doublewords in address order, a smaller one last.
    (0x4C407001, "ld1 {v1.16b}, [x0]", order("ld", 2, 8)),
    (0x0C400001, "ld4 {v1.8b-v4.8b}, [x0]", order("ld", 4, 8)),
    (0x0D404001, "ld1 {v1.h}[0], [x0]", [("ld", 2, 0)]),
    (0x0D60A001, "ld4 {v1.s-v4.s}[0], [x0]", order("ld", 2, 8)),
    (0x0D00A001, "st3 {v1.s-v3.s}[0], [x0]", [("st", 8, 0), ("st", 4, 8)]),
    (0x0D60C801, "ld2r {v1.2s, v2.2s}, [x0]", [("ld", 8, 0)]),
    (0xD503201F, "nop", []),
]
CASES = [(half(code), Isa.T32, text, expected) for code, text, expected in T16]
CASES += [(half(first, second), Isa.T32, text, expected) for first, second, text, expected in T32]
CASES += [(word(code), Isa.A32, text, expected) for code, text, expected in A32]
CASES += [(word(code), Isa.A64, text, expected) for code, text, expected in A64]


@pytest.mark.parametrize("code, isa, text, expected", CASES, ids=[case[1].name + " " + case[2] for case in CASES])
def test_transfers(code: bytes, isa: Isa, text: str, expected: Shape) -> None:
    assert shape(transfers(b"\xff\xff" + code, 2, isa)) == expected


def test_how_many_are_not_in_the_instruction() -> None:
    # LDC and STC leave the number of words to the coprocessor, DC ZVA to the size of a cache line.
    assert shape(transfers(half(0xED90, 0x5E01), 0, Isa.T32)) == order("ld", 32)  # ldc p14, c5, [r0, #4]
    assert shape(transfers(word(0xD50B7420), 0, Isa.A64)) == order("st", 256, 8)


def test_exceptions() -> None:
    # Table F-23, L21395, and the frame's layout (Armv8-M ARM, B3.19): offsets from R0, the lowest of the basic state.
    offsets = [part.offset for part in EXCEPTION_ENTRY]
    assert offsets[:8] == [0, 4, 8, 12, 16, 20, 24, 28]  # R0-R3, R12, LR, ReturnAddress, xPSR
    assert offsets[8:26] == [0x20 + 4 * place for place in range(18)]  # S0-S15, FPSCR, reserved
    assert offsets[26:36] == [-0x28 + 4 * place for place in range(10)]  # signature, reserved, R4-R11
    assert offsets[36:] == [0x68 + 4 * place for place in range(16)]  # S16-S31
    assert offsets == [part.offset for part in EXCEPTION_RETURN]
    assert {part.store for part in EXCEPTION_ENTRY} == {True} and {part.store for part in EXCEPTION_RETURN} == {False}
    assert shape(LAZY_PUSH) == order("st", 34)
    assert shape(FUNCTION_RETURN) == order("ld", 2)
