"""Loads and stores told apart by masks.

Evidence: differential run against Capstone, over every 16-bit T32 encoding and samples of the others; rows of tables
F-9 and F-17 (L20555, L20834) worked by hand where Capstone does not know an encoding.
"""

from __future__ import annotations

import random
from typing import Iterator, Optional, Set

import capstone
import pytest

from gdb_etm.program.accesses import Access, accesses
from gdb_etm.program.isa import Isa

THUMB = capstone.CS_MODE_THUMB | capstone.CS_MODE_V8
SAMPLES = 60000

LOADS_ARM = tuple("ldr ldm lda ldc pop tbb tbh rfe vldr vldm vld1 vld2 vld3 vld4 vpop vlldm fldm".split())
STORES_ARM = tuple("str stm stl stc push srs vstr vstm vst1 vst2 vst3 vst4 vpush vlstm blxns fstm".split())


def verdict_arm(name: str) -> Access:
    if name.startswith("swp"):
        return Access.BOTH
    if name.startswith(LOADS_ARM):
        return Access.LOAD
    return Access.STORE if name.startswith(STORES_ARM) else Access.NONE


# Allocation tags (stg and its like) are newer than the tables and not in them.
TAGS = ("stg", "st2g", "stz2g", "stzg", "ldg")
NEWER = ("st64b", "ld64b")
ATOMICS = tuple(
    (
        "swp cas ldadd ldclr ldeor ldset ldsmax ldsmin ldumax ldumin "
        "stadd stclr steor stset stsmax stsmin stumax stumin"
    ).split()
)


def verdict_a64(name: str, operands: str) -> Optional[Access]:
    if name.startswith(NEWER):
        return None
    if name.startswith(ATOMICS):
        return Access.BOTH
    if name.startswith(TAGS) and name != "stgp":
        return Access.NONE
    if name.startswith("ld"):
        return Access.LOAD
    if name.startswith("st"):
        return Access.STORE
    return Access.STORE if name == "dc" and operands.startswith("zva") else Access.NONE


def test_every_t16_encoding() -> None:
    judging = capstone.Cs(capstone.CS_ARCH_ARM, THUMB | capstone.CS_MODE_MCLASS)
    seen: Set[Access] = set()
    for half in range(0xE800):
        code = half.to_bytes(2, "little")
        found = next(judging.disasm(code + b"\x00\xbf", 0x8000, 1), None)
        if found is not None:
            assert accesses(code, 0, Isa.T32) is verdict_arm(found.mnemonic), "0x%04x %s" % (half, found.mnemonic)
            seen.add(verdict_arm(found.mnemonic))
    assert seen == {Access.NONE, Access.LOAD, Access.STORE}


def t32_samples() -> Iterator[bytes]:
    choose = random.Random(320)
    for index in range(SAMPLES):
        tops = (choose.randrange(0xE8, 0xEA), choose.randrange(0xF8, 0xFA), 0xEC, 0xED, choose.randrange(0xE8, 0x100))
        first = tops[index % len(tops)] << 8 | choose.getrandbits(8)
        second = choose.getrandbits(16)
        if index % 3 == 0:
            second = choose.choice((0x0F40, 0x0F50, 0x0F70, 0x0F80, 0x0F90, 0x0FA0, 0x0FC0, 0x0FF0)) | second & 0xF00F
        if index % 4 == 1:
            second = second & 0xFF | choose.choice((0x0A00, 0x0B00, 0x1C00, 0xFC00))
        yield first.to_bytes(2, "little") + second.to_bytes(2, "little")


@pytest.mark.parametrize("profile", [0, capstone.CS_MODE_MCLASS], ids=["A", "M"])
def test_t32_samples(profile: int) -> None:
    judging = capstone.Cs(capstone.CS_ARCH_ARM, THUMB | profile)
    judged = {access: 0 for access in (Access.NONE, Access.LOAD, Access.STORE)}
    for code in t32_samples():
        found = next(judging.disasm(code, 0x8000, 1), None)
        if found is None or mistaken(found, code):
            continue
        expected = verdict_arm(found.mnemonic)
        assert accesses(code, 0, Isa.T32) is expected, "%s %s %s" % (code.hex(), found.mnemonic, found.op_str)
        judged[expected] += 1
    assert all(count > 1000 for count in judged.values()), judged


def mistaken(found: capstone.CsInsn, code: bytes) -> bool:
    # Capstone takes some encodings for A32's Advanced SIMD, does not know CLRM and VSCCLRM, which are where loads
    # relative to PC would be unpredictable, and shows unpredictable loads of PC.
    name = found.mnemonic
    if name.startswith(("sha", "aes")) or name.startswith("v") and code[1] in (0xE8, 0xE9, *range(0xF0, 0xF8)):
        return True
    if name.startswith(("vldm", "fldm", "ldm")) and code[0] in (0x9F, 0xDF):
        return True
    return bool(found.op_str.startswith("pc, [") and name.startswith(("ldrb", "ldrh", "ldrs")))


def a32_samples() -> Iterator[int]:
    choose = random.Random(3200)
    for index in range(SAMPLES):
        word = choose.getrandbits(32)
        if index % 5 == 0:
            word |= 0xF0000000
        if index % 4 == 1:
            word = word & 0xF1F0F06F | choose.choice((0x90, 0xF90, 0xC90, 0xE90, 0xB0, 0xD0, 0xF0))
        yield word


def test_a32_samples() -> None:
    judging = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8)
    judged = {access: 0 for access in (Access.NONE, Access.LOAD, Access.STORE)}
    for word in a32_samples():
        code = word.to_bytes(4, "little")
        found = next(judging.disasm(code, 0x8000, 1), None)
        if found is None:
            continue
        expected = verdict_arm(found.mnemonic)
        assert accesses(code, 0, Isa.A32) is expected, "%08x %s %s" % (word, found.mnemonic, found.op_str)
        judged[expected] += 1
    assert all(count > 1000 for count in judged.values()), judged


def a64_samples() -> Iterator[int]:
    choose = random.Random(640)
    tops = bytes.fromhex("08 48 88 c8 0c 4c 0d 4d 18 19 59 99 d9 28 29 38 39 78 b8 f8 f9 3c 3d fc d5")
    for index in range(SAMPLES):
        word = choose.getrandbits(32)
        if index % 3:
            word = word & 0xFFFFFF | choose.choice(tops) << 24
        if index % 50 == 0:
            word = 0xD50B7420 | word & 0x1F
        if word >> 25 & 0xD:
            yield word  # else it is SVE's or SME's, which are newer than the tables


def test_a64_samples() -> None:
    judging = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    judged = {access: 0 for access in (Access.NONE, Access.LOAD, Access.STORE, Access.BOTH)}
    for word in a64_samples():
        code = word.to_bytes(4, "little")
        found = next(judging.disasm(code, 0x8000, 1), None)
        if found is None:
            continue
        expected = verdict_a64(found.mnemonic, found.op_str)
        if expected is not None:
            assert accesses(code, 0, Isa.A64) is expected, "%08x %s %s" % (word, found.mnemonic, found.op_str)
            judged[expected] += 1
    assert all(count > 500 for count in judged.values()), judged


@pytest.mark.parametrize(
    "code, isa, access",
    [
        # What Capstone does not tell apart, from table F-9 (L20555) and the Armv8-M ARM.
        ("84 47", Isa.T32, Access.STORE),  # blxns r0
        ("04 47", Isa.T32, Access.NONE),  # bxns r0
        ("7f e9 7f e9", Isa.T32, Access.NONE),  # sg
        ("30 ec 00 0a", Isa.T32, Access.LOAD),  # vlldm r0
        ("20 ec 00 0a", Isa.T32, Access.STORE),  # vlstm r0
        ("9f e8 0f 00", Isa.T32, Access.NONE),  # clrm {r0-r3}
        ("9f ec 04 0a", Isa.T32, Access.NONE),  # vscclrm {s0-s3, vpr}
        ("40 e8 00 f1", Isa.T32, Access.NONE),  # tt r1, r0
        ("92 10 00 e1", Isa.A32, Access.BOTH),  # swp r1, r2, [r0]
        ("92 10 40 e1", Isa.A32, Access.BOTH),  # swpb r1, r2, [r0]
    ],
)
def test_by_hand(code: str, isa: Isa, access: Access) -> None:
    assert accesses(bytes.fromhex(code), 0, isa) is access


def test_cut_code_is_neither() -> None:
    for isa in Isa:
        for code in (b"", b"\x01", b"\xd0\xf8", b"\xd0\xf8\x00"):
            assert accesses(code, 0, isa) is Access.NONE
