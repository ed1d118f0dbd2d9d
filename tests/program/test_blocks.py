"""Vectors worked by hand: where blocks end."""

from __future__ import annotations

import random
from typing import Optional, Tuple

import pytest

from gdb_etm.program.blocks import NEVER, NOWHERE, UNCLEAR, Block, BlockEnd, Blocks
from gdb_etm.program.futures import Future
from gdb_etm.program.image import Program
from gdb_etm.program.isa import TO_REGISTER, Insn, InstructionKind, Isa, from_packed, to_packed
from tests.protocols.etmv4.streams import Code, program


def blocks(*pieces: Code, waits: bool = False, futures: bool = False) -> Blocks:
    return Blocks(program(*pieces), waits, futures)


def short(block: Block) -> Tuple[int, int, int, str]:
    return block.start, block.end, block.instructions, block.stop.value


# 1000 movs r0, #1 | 1002 mov.w r0, #1 | 1006 ldr r0, [r1] | 1008 bl 1020 | 100c isb | 1010 bx lr
CODE = Code(0x1000, "0120 4ff00100 0868 00f00af8 bff36f8f 7047")


def test_a_block_ends_after_its_branch() -> None:
    found = blocks(CODE).at(0x1000, Isa.T32)
    assert short(found) == (0x1000, 0x100C, 4, "branch")
    assert found.last == Insn(4, InstructionKind.DIRECT, 0x1020, Isa.T32, True)


def test_a_block_may_be_one_instruction() -> None:
    known = blocks(CODE)
    assert short(known.at(0x100C, Isa.T32)) == (0x100C, 0x1010, 1, "branch")
    assert known.at(0x100C, Isa.T32).last == Insn(4, InstructionKind.DIRECT, 0x1010, Isa.T32, False)
    assert short(known.at(0x1010, Isa.T32)) == (0x1010, 0x1012, 1, "branch")


def test_a_block_is_made_once() -> None:
    known = blocks(CODE)
    assert known.at(0x1000, Isa.T32) is known.at(0x1000, Isa.T32)
    assert known.at(0x1000, Isa.T32) is not known.at(0x1002, Isa.T32)


def test_missing_code() -> None:
    known = blocks(Code(0x1000, "0120 0120"))
    assert short(known.at(0x1000, Isa.T32)) == (0x1000, 0x1004, 2, "no code")
    assert known.at(0x1000, Isa.T32).last is None
    assert short(known.at(0x2000, Isa.T32)) == (0x2000, 0x2000, 0, "no code")
    assert short(Blocks(Program([])).at(0, Isa.A64)) == (0, 0, 0, "no code")


@pytest.mark.parametrize("text", ["0120 4ff0", "0120 4ff001", "0120 4f"])
def test_a_wide_instruction_cut_at_the_end_of_memory(text: str) -> None:
    # The halfword 0xF04F begins a 32-bit instruction whose second halfword is not there.
    assert short(blocks(Code(0x1000, text)).at(0x1000, Isa.T32)) == (0x1000, 0x1002, 1, "no code")


@pytest.mark.parametrize("isa, text", [(Isa.A32, "0100a0e3 0100"), (Isa.A64, "1f2003d5 1f20")])
def test_a_word_cut_at_the_end_of_memory(isa: Isa, text: str) -> None:
    assert short(blocks(Code(0x1000, text)).at(0x1000, isa)) == (0x1000, 0x1004, 1, "no code")


def test_code_over_the_border_of_two_pieces() -> None:
    # The BL at 0x1008 lies half in each; so does a block of plain instructions before it.
    for border in range(1, 18):
        data = bytes.fromhex(CODE.text)
        known = blocks(Code(0x1000, data[:border].hex()), Code(0x1000 + border, data[border:].hex()))
        assert known.at(0x1000, Isa.T32) == blocks(CODE).at(0x1000, Isa.T32), border


def test_waits() -> None:
    # movs r0, #1 | wfi | movs r0, #1 | wfe.w | b 1000.  WFI and WFE are P0 only with TRCIDR2.WFXMODE (IHI 0064, F.1).
    code = Code(0x1000, "0120 30bf 0120 aff30280 f9e7")
    assert short(blocks(code).at(0x1000, Isa.T32)) == (0x1000, 0x100C, 5, "branch")
    traced = blocks(code, waits=True)
    first = traced.at(0x1000, Isa.T32)
    assert short(first) == (0x1000, 0x1004, 2, "branch")
    # Execution goes on with the next instruction (L6881).
    assert first.last == Insn(2, InstructionKind.DIRECT, 0x1004, Isa.T32, False)
    assert traced.at(0x1004, Isa.T32).last == Insn(4, InstructionKind.DIRECT, 0x100A, Isa.T32, False)
    assert traced.until(0x1000, Isa.T32, 0x1006).stop is BlockEnd.BRANCH


@pytest.mark.parametrize("isa, text", [(Isa.A32, "03f020e3 feffffea"), (Isa.A64, "7f2003d5 00000014")])
def test_waits_in_other_instruction_sets(isa: Isa, text: str) -> None:
    # wfi | b .
    assert blocks(Code(0x1000, text)).at(0x1000, isa).instructions == 2
    found = blocks(Code(0x1000, text), waits=True).at(0x1000, isa)
    assert found.instructions == 1
    assert found.last == Insn(4, InstructionKind.DIRECT, 0x1004, isa, False)


def test_branch_futures() -> None:
    # movs r0, #1 | bf 1008, 1000 | movs r0, #1 | b 1000
    code = Code(0x1000, "0120 dff0fdef 0120 fae7")
    assert short(blocks(code).at(0x1000, Isa.T32)) == (0x1000, 0x100A, 4, "branch")
    traced = blocks(code, futures=True)
    assert short(traced.at(0x1000, Isa.T32)) == (0x1000, 0x1006, 2, "branch")
    assert traced.outline(0x1001, False) == (UNCLEAR, UNCLEAR, 0)
    future = traced.future(0x1002)
    assert future == Future(end=0x1008, target=0x1000, indirect=False, link=False, size=4)
    # In its effect, the block ends before the instruction that it replaces; a branch on the way ends it earlier.
    assert short(traced.before(0x1006, Isa.T32, future)) == (0x1006, 0x1008, 1, "branch")
    assert short(traced.before(0x1006, Isa.T32, future._replace(end=0x100A))) == (0x1006, 0x100A, 2, "branch")


def test_until() -> None:
    known = blocks(CODE)
    # Up to, not including, the instruction at the address.
    assert short(known.until(0x1000, Isa.T32, 0x1006)) == (0x1000, 0x1006, 2, "no branch found")
    assert short(known.until(0x1000, Isa.T32, 0x1000)) == (0x1000, 0x1000, 0, "no branch found")
    # An instruction that begins before it is included: it was executed in part (L7277).
    assert short(known.until(0x1000, Isa.T32, 0x1004)) == (0x1000, 0x1006, 2, "no branch found")
    # A branch on the way, and missing code, end it early.
    assert short(known.until(0x1000, Isa.T32, 0x1010)) == (0x1000, 0x1008, 3, "branch")
    assert short(known.until(0x1000, Isa.T32, 0x1008)) == (0x1000, 0x1008, 3, "no branch found")
    assert short(blocks(Code(0x1000, "0120")).until(0x1000, Isa.T32, 0x1004)) == (0x1000, 0x1002, 1, "no code")


def test_instruction() -> None:
    known = blocks(CODE)
    assert known.instruction(0x1002, Isa.T32) == Insn(4, InstructionKind.OTHER, 0, Isa.T32, False)
    none: Optional[Insn] = known.instruction(0x1012, Isa.T32)
    assert none is None


def test_addresses() -> None:
    known = blocks(CODE)
    assert known.addresses(0x1000, 0x100C, Isa.T32) == [0x1000, 0x1002, 0x1006, 0x1008]
    assert known.addresses(0x1000, 0x1000, Isa.T32) == []
    assert known.addresses(0x1000, 0x100C, Isa.A32) == [0x1000, 0x1004, 0x1008]


def test_the_same_address_in_two_instruction_sets() -> None:
    # 0xE7FEE7FE: two times b . in T32; in A32 an instruction that is undefined, so none that is traced.
    known = blocks(Code(0x1000, "fee7fee7 1eff2fe1"))
    assert known.at(0x1000, Isa.T32).end == 0x1002
    assert known.at(0x1000, Isa.A32).end == 0x1008


# What ends A64 blocks, and what only looks like it: B.AL, BR, WFI, ISB, TBZ, CBZ, B, BL and NOP.
A64_ENDS = (0x5400004E, 0xD61F0000, 0xD503207F, 0xD5033FDF, 0x36000040, 0x34FFFFE0, 0x17FFFFFF, 0x94000002, 0xD503201F)


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("start", [0x8000, 0xFFFFFFC000080000])
def test_an_outline_says_what_its_block_says(isa: Isa, waits: bool, start: int) -> None:
    choose = random.Random(int(isa))
    words = [choose.choice(A64_ENDS) if choose.random() < 0.3 else choose.getrandbits(32) for _ in range(3000)]
    memory = program(Code(start, b"".join(word.to_bytes(4, "little") for word in words).hex()))
    for address in range(start - 4, start + 4 * 3000 + 8, 2):
        # Whether or not the memory there was looked at before.
        one = Blocks(memory, waits)
        block = one.at(address, isa)
        one = one if choose.random() < 0.5 else Blocks(memory, waits)
        skipped, taken, instructions = one.outline(to_packed(address, isa is Isa.T32), isa is Isa.A64)
        last = block.last
        if last is None:
            ran = block.instructions if block.stop is BlockEnd.NO_CODE else 0
            assert (skipped, taken, instructions) == (NOWHERE, NOWHERE, ran)
        else:
            assert instructions == block.instructions
            assert skipped == (NEVER if one.always_taken(block) else to_packed(block.end, isa is Isa.T32))
            to_register = last.kind is InstructionKind.INDIRECT
            assert taken == (TO_REGISTER if to_register else to_packed(last.target, last.isa is Isa.T32))


@pytest.mark.parametrize("address", [0, 0x1002, 0x7FFFFFFFFFFFFFFC, 0x8000000000000000, 0xFFFFFFFFFFFFFFFE])
def test_packed_addresses(address: int) -> None:
    for is_t32 in (False, True):
        packed = to_packed(address, is_t32)
        assert from_packed(packed) == address and packed & 1 == is_t32 and -(1 << 63) <= packed < 1 << 63


def test_ends_of_blocks_in_large_code() -> None:
    # Branches to themselves, the last beyond what is marked at once.
    code = bytearray(b"\x1f\x20\x03\xd5" * 70000)
    ends = [4, 0xFFFC, 0x10000, 0x20004, 4 * 70000 - 4]
    for at in ends:
        code[at : at + 4] = b"\x00\x00\x00\x14"
    found = blocks(Code(0x400000, code.hex()))
    begin = 0
    for at in ends:
        for known in (found, blocks(Code(0x400000, code.hex()))):
            known.at(0x400000, Isa.A64)
            assert known.outline(0x400000 + begin, True) == (NEVER, 0x400000 + at, (at - begin >> 2) + 1)
        begin = at + 4


def test_code_without_branches() -> None:
    found = blocks(Code(0, "00bf" * 80000)).at(0, Isa.T32)
    assert found.stop is BlockEnd.TOO_LONG and found.last is None
