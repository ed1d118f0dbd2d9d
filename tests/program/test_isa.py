"""Differential run against Capstone, and vectors worked by hand: masks.

Capstone says what an instruction is; what a trace unit makes of that instruction is IHI 0064 H.a, appendix F
(lines are those of its text in ../shared/spec): tables of A64 (L20220), A32 (L20253) and T32 (L20289).
"""

from __future__ import annotations

import random
from typing import Iterator, Optional, Tuple

import capstone
import pytest

from gdb_etm.program.isa import (
    Insn,
    InstructionKind,
    Isa,
    decode_a32,
    decode_a64,
    decode_t16,
    decode_t32,
    is_wide,
)
from gdb_etm.program.plain import list_plain, skip_plain
from tests.program.judge import Verdict, judge_a64, judge_arm

ADDRESS = 0x8000
THUMB = capstone.CS_MODE_THUMB | capstone.CS_MODE_V8
SAMPLES = 40000


def instruction(disassembler: capstone.Cs, code: bytes) -> Optional[capstone.CsInsn]:
    return next(disassembler.disasm(code, ADDRESS, 1), None)


def known_arm(disassembler: capstone.Cs, code: bytes) -> Optional[Verdict]:
    """Return the verdict on an A32 or T32 instruction, if known."""
    found = instruction(disassembler, code)
    return judge_arm(found, bool(disassembler.mode & capstone.CS_MODE_THUMB)) if found is not None else None


def known_a64(disassembler: capstone.Cs, code: bytes) -> Optional[Verdict]:
    """Return the verdict on an A64 instruction, if known."""
    found = instruction(disassembler, code)
    return judge_a64(found) if found is not None else None


def verdict(insn: Insn) -> Verdict:
    return Verdict(insn.size, insn.kind, insn.target, insn.link)


def disassembler(mode: int, architecture: int = capstone.CS_ARCH_ARM) -> capstone.Cs:
    found = capstone.Cs(architecture, mode)
    found.detail = True
    return found


def test_every_t16_encoding() -> None:
    judge = disassembler(THUMB | capstone.CS_MODE_MCLASS)
    unknown = set()
    for half in range(0xE800):
        assert not is_wide(half)
        expected = known_arm(judge, half.to_bytes(2, "little") + b"\x00\xbf")
        found = decode_t16(ADDRESS, half)
        if expected is None:
            unknown.add(found.kind)
            # BX with bits that should be zero is all that is taken for a branch and unknown to Capstone.
            assert found.kind is InstructionKind.OTHER or half & 0xFF03 in (0x4701, 0x4702, 0x4703)
        else:
            assert verdict(found) == expected, "0x%04x" % half
        assert found.isa is Isa.T32
    assert InstructionKind.DIRECT not in unknown


def t32_samples() -> Iterator[Tuple[int, int]]:
    choose = random.Random(32)
    for index in range(SAMPLES):
        first = choose.choice(
            (
                choose.randrange(0xE800, 0x10000),
                choose.randrange(0xF000, 0xF800),
                choose.randrange(0xE800, 0xEA00),
                choose.randrange(0xF850, 0xF8E0),
                choose.choice((0xF3AF, 0xF3BF, 0xF3DE, 0xEE07, 0xE8BD, 0xE8DF)),
            )
        )
        second = choose.randrange(0x10000)
        if index % 7 == 0:
            second = choose.choice((0xF000 | second & 0xFFF, 0x8F00 | second & 0xFF, 0x8000 | second & 0xFF))
        if index % 100 == 1:
            first, second = 0xF3AF, 0x8000 | second & 7
        yield first, second


def neon_mistaken(found: capstone.CsInsn, first: int) -> bool:
    # Capstone takes some encodings for Advanced SIMD's in A32; in T32 none has these first bytes.
    return found.mnemonic.startswith(("v", "sha", "aes")) and first >> 8 in (0xE8, 0xE9, *range(0xF0, 0xF8))


@pytest.mark.parametrize("profile", [0, capstone.CS_MODE_MCLASS], ids=["A", "M"])
def test_t32_samples(profile: int) -> None:
    judge = disassembler(THUMB | profile)
    judged = {kind: 0 for kind in InstructionKind}
    for first, second in t32_samples():
        assert is_wide(first)
        code = first.to_bytes(2, "little") + second.to_bytes(2, "little")
        expected = known_arm(judge, code)
        if expected is None or neon_mistaken(next(judge.disasm(code, ADDRESS, 1)), first):
            continue
        if first == 0xE89F:
            continue  # Capstone does not know CLRM of Armv8.1-M and takes it for an unpredictable LDM
        found = decode_t32(ADDRESS, first, second)
        assert verdict(found) == expected, code.hex()
        judged[found.kind] += 1
    assert all(
        judged[kind] > 10
        for kind in (InstructionKind.OTHER, InstructionKind.DIRECT, InstructionKind.INDIRECT, InstructionKind.WAIT)
    ), judged


def test_clearing_registers_is_no_branch() -> None:
    # CLRM {r0, APSR} has bit 15 set as LDM with PC has (Armv8-M ARM, C2.4).
    assert decode_t32(ADDRESS, 0xE89F, 0x8001).kind is InstructionKind.OTHER
    assert decode_t32(ADDRESS, 0xE89D, 0x8001).kind is InstructionKind.INDIRECT


def a32_samples() -> Iterator[int]:
    choose = random.Random(320)
    for index in range(SAMPLES):
        word = choose.getrandbits(32)
        if index % 3 == 0:
            word |= 0xF000
        if index % 5 == 0:
            word |= 0xF0000000
        if index % 11 == 0:
            word = word & 0xF00000FF | 0x012FFF00
        if index % 50 == 0:
            word = choose.choice((0xF57FF060, 0xE320F002, 0xE320F003, 0xE160006E)) | word & 0xF
        yield word


def test_a32_samples() -> None:
    judge = disassembler(capstone.CS_MODE_ARM | capstone.CS_MODE_V8)
    judged = {kind: 0 for kind in InstructionKind}
    for word in a32_samples():
        expected = known_arm(judge, word.to_bytes(4, "little"))
        if expected is not None:
            found = decode_a32(ADDRESS, word)
            assert verdict(found) == expected, "%08x" % word
            judged[found.kind] += 1
    assert all(
        judged[kind] > 10
        for kind in (InstructionKind.OTHER, InstructionKind.DIRECT, InstructionKind.INDIRECT, InstructionKind.WAIT)
    ), judged


def a64_samples() -> Iterator[int]:
    choose = random.Random(64)
    tops = (0x14, 0x54, 0x34, 0x94, 0xD4, 0xD6, 0xB4, 0x36)
    for index in range(SAMPLES):
        word = choose.getrandbits(32)
        if index % 4 == 0:
            word = word & 0xFFFFFF | choose.choice(tops) << 24
        if index % 9 == 0:
            low = choose.choice((0, 0, 0x800, 0x81F, 0xC00, 0xC1F, 0xBFF, 0xFFF))
            word = 0xD61F0000 | choose.randrange(16) << 21 | choose.getrandbits(5) << 5 | low
        if index % 10 == 1:
            word = 0xD5030000 | word & 0x3FFF | 0x1F
        if index % 50 == 2:
            word = choose.choice((0xD503205F, 0xD503207F, 0xD65F03C0, 0xD65F0BFF, 0xD65F0FFF, 0xD69F03E0, 0xD69F0BFF))
        yield word


def test_a64_samples() -> None:
    judge = disassembler(capstone.CS_MODE_ARM, capstone.CS_ARCH_ARM64)
    judged = {kind: 0 for kind in InstructionKind}
    for word in a64_samples():
        expected = known_a64(judge, word.to_bytes(4, "little"))
        if expected is not None:
            found = decode_a64(ADDRESS, word)
            assert verdict(found) == expected, "%08x" % word
            judged[found.kind] += 1
    assert all(
        judged[kind] > 10
        for kind in (InstructionKind.OTHER, InstructionKind.DIRECT, InstructionKind.INDIRECT, InstructionKind.WAIT)
    ), judged


# Address, halfwords and what they are; the text is the GNU assembler's.  Targets are worked by hand from the fields
# (Armv8.1-M ARM, C2.4): immh is bit 11, imml bits 10:1 of the second halfword, the distance is imml:immh:0.
LOOPS = [
    (0x100, 0xF043, 0xE001, InstructionKind.OTHER, 0, "dls lr, r3"),
    (0x104, 0xF043, 0xC811, InstructionKind.DIRECT, 0x104 + 4 + (8 << 2 | 2), "wls lr, r3, 12a"),
    (0x108, 0xF000, 0xC80F, InstructionKind.DIRECT, 0x108 + 4 + (7 << 2 | 2), "wlstp.8 lr, r0, 12a"),
    (0x10C, 0xF030, 0xC80D, InstructionKind.DIRECT, 0x10C + 4 + (6 << 2 | 2), "wlstp.64 lr, r0, 12a"),
    (0x110, 0xF021, 0xE001, InstructionKind.OTHER, 0, "dlstp.32 lr, r1"),
    (0x114, 0xF00F, 0xE001, InstructionKind.OTHER, 0, "lctp"),
    (0x11A, 0xF00F, 0xC803, InstructionKind.DIRECT, 0x11A + 4 - (1 << 2 | 2), "le lr, 118"),
    (0x11E, 0xF02F, 0xC805, InstructionKind.DIRECT, 0x11E + 4 - (2 << 2 | 2), "le 118"),
    (0x122, 0xF01F, 0xC807, InstructionKind.DIRECT, 0x122 + 4 - (3 << 2 | 2), "letp lr, 118"),
    (0x126, 0xF00F, 0xC815, InstructionKind.DIRECT, 0x126 + 4 - (10 << 2 | 2), "le lr, 100"),
    (0x12A, 0xF4DF, 0xE7FF, InstructionKind.FUTURE, 0, "bf 140, 12a"),
    (0x12E, 0xF3FF, 0xCFE7, InstructionKind.FUTURE, 0, "bfl 140, 100"),
    (0x132, 0xF2E2, 0xE001, InstructionKind.FUTURE, 0, "bfx 140, r2"),
    (0x136, 0xF1F2, 0xE001, InstructionKind.FUTURE, 0, "bflx 140, r2"),
    (0x13A, 0xF083, 0xE7F7, InstructionKind.FUTURE, 0, "bfcsel 140, 12a, 144, eq"),
]


@pytest.mark.parametrize("address, first, second, kind, target, text", LOOPS, ids=[loop[-1] for loop in LOOPS])
def test_loops_and_branch_futures(
    address: int, first: int, second: int, kind: InstructionKind, target: int, text: str
) -> None:
    # Table of 32-bit T32 P0 instructions, L20289: WLS, WLSTP, LE, LETP are direct; DLS and LCTP are not listed.
    assert decode_t32(address, first, second) == Insn(4, kind, target, Isa.T32, False)


def test_non_secure_branches() -> None:
    # Armv8-M: bit 2 of BX and BLX; BLXNS is a link branch, BXNS is not (L20289).
    assert decode_t16(0, 0x471C) == Insn(2, InstructionKind.INDIRECT, 0, Isa.T32, False)
    assert decode_t16(0, 0x47A4) == Insn(2, InstructionKind.INDIRECT, 0, Isa.T32, True)


@pytest.mark.parametrize(
    "found, target, isa",
    [
        # BLX immediate changes the instruction set; its target is relative to the aligned PC.
        (decode_t32(0x1002, 0xF000, 0xE802), 0x1000 + 4 + 4, Isa.A32),
        (decode_t32(0x1000, 0xF7FF, 0xEFFE), 0x1000 + 4 - 4, Isa.A32),
        # In A32 bit 24 (H) adds 2.
        (decode_a32(0x1000, 0xFA000001), 0x1008 + 4, Isa.T32),
        (decode_a32(0x1000, 0xFBFFFFFF), 0x1008 - 4 + 2, Isa.T32),
    ],
)
def test_blx_changes_the_instruction_set(found: Insn, target: int, isa: Isa) -> None:
    assert found == Insn(4, InstructionKind.DIRECT, target, isa, True)


@pytest.mark.parametrize(
    "found",
    [
        decode_t16(0x1000, 0xE7FE),
        decode_t32(0x1000, 0xF7FF, 0xFFFE),
        decode_a32(0x1000, 0xEAFFFFFE),
        decode_a64(0x1000, 0x14000000),
    ],
)
def test_a_branch_to_itself(found: Insn) -> None:
    assert found.target == 0x1000


def test_targets_wrap() -> None:
    # b.n backwards from the bottom of memory, and b forwards over its top.
    assert decode_t16(0, 0xE7FC).target == 0xFFFFFFFC
    assert decode_a32(0xFFFFFFF8, 0xEA000000).target == 0
    assert decode_a64(0xFFFFFFFFFFFFFFFC, 0x14000001).target == 0


# ISB is a branch to the next instruction in all its forms (L20220-L20289): the CP15 form is MCR p15, 0, Rt, c7, c5, 4.
@pytest.mark.parametrize(
    "found",
    [
        decode_t32(0x1000, 0xF3BF, 0x8F6F),
        decode_t32(0x1000, 0xEE07, 0x3F95),
        decode_a32(0x1000, 0xF57FF06F),
        decode_a32(0x1000, 0xEE073F95),
        decode_a64(0x1000, 0xD5033FDF),
    ],
)
def test_isb_goes_on_with_the_next_instruction(found: Insn) -> None:
    assert (found.kind, found.target, found.link) == (InstructionKind.DIRECT, 0x1004, False)


def words(isa: Isa, index: int) -> Iterator[Tuple[bytes, Insn]]:
    # Every value of the byte by which skip_plain decides, with samples of the others.
    choose = random.Random(index)
    for byte in range(256):
        for _ in range(300):
            rest = choose.getrandbits(32)
            if isa is Isa.T32:
                first = byte << 8 | rest & 0xFF
                second = rest >> 16 if rest & 0x100 else choose.choice((0x8F00, 0xF000, 0x8000)) | rest >> 24
                code = first.to_bytes(2, "little") + second.to_bytes(2, "little")
                yield code, decode_t32(0, first, second) if is_wide(first) else decode_t16(0, first)
                continue
            word = byte << 24 | choose.choice((rest & 0xFFFFFF, rest & 0xFFFFFF | 0xF000, rest & 0xFF | 0x12FFF00))
            word &= 0xFFFFFFFF
            yield word.to_bytes(4, "little"), (decode_a64 if isa is Isa.A64 else decode_a32)(0, word)


@pytest.mark.parametrize("isa", list(Isa), ids=[isa.name for isa in Isa])
def test_only_plain_instructions_are_skipped(isa: Isa) -> None:
    skipped = 0
    for code, insn in words(isa, 1):
        index, count = skip_plain(code[: insn.size] + bytes(4), 0, isa)
        if count:
            assert insn.kind is InstructionKind.OTHER, code.hex()
            assert index >= insn.size
            skipped += 1
    assert skipped > 1000


def test_skipping_counts_and_stops() -> None:
    # movs r0, #1; mov.w r0, #1; ldr r0, [r1]; b . ; movs r0, #1
    code = bytes.fromhex("0120 4ff00100 0868 fee7 0120 0120".replace(" ", ""))
    assert skip_plain(code, 0, Isa.T32) == (8, 3)
    assert skip_plain(code, 6, Isa.T32) == (8, 1)
    assert skip_plain(code, 8, Isa.T32) == (8, 0)


@pytest.mark.parametrize(
    "word",
    [0xE160006E, 0xE12FFF1E, 0xE12FFF33, 0xE8BD8010, 0xE59FF000, 0xE1A0F00E, 0xEA000001, 0xFA000000, 0xEE070F95],
    ids=["eret", "bx", "blx", "pop", "ldr pc", "mov pc", "b", "blx label", "isb"],
)
def test_branches_of_a32_are_not_skipped(word: int) -> None:
    assert decode_a32(0, word).kind is not InstructionKind.OTHER
    # mov r1, r0; the branch; mov r1, r0
    code = b"".join(one.to_bytes(4, "little") for one in (0xE1A01000, word, 0xE1A01000))
    assert skip_plain(code, 0, Isa.A32) == (4, 1)


def test_addresses_of_plain_instructions() -> None:
    code = bytes.fromhex("0120 4ff00100 0868 fee7 0120 0120".replace(" ", ""))
    for most, expected in ((9, [0x1000, 0x1002, 0x1006, 0x1008]), (2, [0x1000, 0x1002, 0x1006]), (0, [0x1000])):
        addresses = [0x1000]
        assert list_plain(code, 0, Isa.T32, addresses, most) == expected[-1]
        assert addresses == expected
    addresses = [0x2000]
    plain = 0xE1A01000.to_bytes(4, "little") * 3 + 0xEA000001.to_bytes(4, "little")
    assert list_plain(plain, 0, Isa.A32, addresses, 9) == 0x200C
    assert addresses == [0x2000, 0x2004, 0x2008, 0x200C]
    addresses = [0x2000]
    assert list_plain(plain, 0, Isa.A32, addresses, 1) == 0x2004


def test_skipping_stays_within_the_code() -> None:
    # The last halfword may be the first half of a wide instruction that is cut: mov.w r0, r1 is ea4f 0001.
    for isa in Isa:
        for code in (b"", b"\x4f", b"\x4f\xea", b"\x00\x20\x4f\xea", b"\x00\x20\x00\x20\x4f"):
            index, _ = skip_plain(code, 0, isa)
            assert index <= len(code)
    assert skip_plain(b"\x00\x20\x00\x20\x4f\xea", 0, Isa.T32)[0] <= 4
