"""Differential run against Capstone: T32 lengths, branches and targets."""

from __future__ import annotations

import random
from typing import Callable, Iterator, List, Optional, Tuple

import pytest
from capstone import CS_ARCH_ARM, CS_GRP_JUMP, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs, CsInsn
from capstone.arm import ARM_OP_IMM, ARM_REG_PC

from gdb_etm.board.path import CortexMBlock, CortexMPath, WrongPath
from gdb_etm.board.t32 import condition_passes, decode, ways
from gdb_etm.program.accesses import Access, accesses
from gdb_etm.program.isa import Isa

AT = 0x1000
_DISASSEMBLER = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)
_DISASSEMBLER.detail = True
_TABLE = ("tbb", "tbh")


def judged(code: bytes) -> Optional[CsInsn]:
    """Return what Capstone makes of the instruction at the start, or None."""
    return next(_DISASSEMBLER.disasm(code, AT), None)


def expected(instruction: CsInsn) -> Tuple[bool, Optional[int], bool]:
    """Return whether execution falls through, the target, and its kind."""
    name = instruction.mnemonic.split(".")[0]
    writes_pc = ARM_REG_PC in instruction.regs_access()[1]
    if name in _TABLE or (writes_pc and name.startswith(("ldr", "ldm", "pop", "add", "mov"))):
        return False, None, True
    if instruction.group(CS_GRP_JUMP) or name in ("bl", "cbz", "cbnz"):
        last = instruction.operands[-1]
        if last.type == ARM_OP_IMM:
            return name not in ("b", "bl"), last.imm & 0xFFFFFFFF, False
        return False, None, True
    return True, None, False


def narrow() -> Iterator[bytes]:
    for code in range(0xE800):
        yield code.to_bytes(2, "little")


def wide() -> Iterator[bytes]:
    source = random.Random(33)
    first_halves = [*range(0xE800, 0xEA00), *range(0xF000, 0xF800), *range(0xF850, 0xF860), *range(0xF8D0, 0xF8E0)]
    for first in first_halves:
        for _ in range(12):
            yield first.to_bytes(2, "little") + source.getrandbits(16).to_bytes(2, "little")


# Not on a Cortex-M33: what belongs to other profiles, and BXNS, which needs the Security Extension.
_NOT_HERE = ("blx", "bxj", "rfe", "srs", "eret", "bxns", "blxns", "subs", "hvc", "smc", "dcps1", "dcps2", "dcps3")
# Advanced SIMD and cryptography of other profiles; TT with other bits than those it must have.
_NOT_FOR_DATA = ("vld1", "vld2", "vld3", "vld4", "vst1", "vst2", "vst3", "vst4", "sha", "tt")
# UNPREDICTABLE when they write the PC, or when it is the base that is written back.
_NOT_TO_PC = ("strex", "ldrex", "ldrd", "strd", "ssat", "usat", "mrs", "add", "mov")


def unpredictable(instruction: CsInsn) -> bool:
    """Tell whether it does what no instruction may do with the PC."""
    return instruction.op_str.startswith("pc!") or (
        instruction.mnemonic.startswith(_NOT_TO_PC) and ARM_REG_PC in instruction.regs_access()[1]
    )


@pytest.mark.parametrize("codes", [narrow, wide], ids=["16-bit", "32-bit"])
def test_ways_are_capstones(codes: Callable[[], Iterator[bytes]]) -> None:
    wrong: List[str] = []
    seen = 0
    for code in codes():
        instruction = judged(code)
        if instruction is None or instruction.mnemonic.startswith(("bxns", "blxns")):
            continue
        if len(code) == 4 and (instruction.mnemonic.startswith(_NOT_HERE) or unpredictable(instruction)):
            continue
        own = decode(code, 0)
        found = tuple(ways(AT, own))
        seen += 1
        if own.size != instruction.size or found != expected(instruction):
            wrong.append("%s %s %s: %s" % (code.hex(), instruction.mnemonic, instruction.op_str, found))
    assert not wrong
    assert seen > 5000


def test_conditions() -> None:
    # EQ with Z, NE without, HI: C and not Z, LE: Z or N != V, AL.
    z, n, c, v = (1 << bit for bit in (30, 31, 29, 28))
    with_z = [condition for condition in range(15) if condition_passes(condition, z)]
    assert with_z == [0x0, 0x3, 0x5, 0x7, 0x9, 0xA, 0xD, 0xE]
    assert condition_passes(0x8, c) and not condition_passes(0x8, c | z)
    assert condition_passes(0xB, n) and not condition_passes(0xB, n | v)


def test_path_follows_the_instruction_set() -> None:
    # 0: CMP; 2: BNE 0; 4: NOP; 6: B 0
    memory = bytes.fromhex("0028 fdd1 00bf fbe7".replace(" ", ""))
    path = CortexMPath(lambda address, size: memory[address : address + size])
    first, second = path.block(0, 4), path.block(4, 4)
    assert path.walk([first, first, second, first], None) == [0, 2, 0, 2, 4, 6, 0, 2]
    assert path.walk([first, second], 6) == [0, 2, 4]
    assert path.walk([first, second], 4) == [0, 2]
    with pytest.raises(WrongPath, match="0x00000006 cannot be followed by 0x00000004"):
        path.walk([first, second, second], None)


def test_blocks_know_what_is_conditional() -> None:
    # ITE EQ; MOVEQ; MOVNE; BX LR
    block = CortexMBlock(0, bytes.fromhex("0cbf 0020 0120 7047".replace(" ", "")))
    assert block.conditional == {2, 4}
    assert block.ways == (False, None, True)
    assert CortexMBlock(0, bytes.fromhex("08bf7047")).ways == (True, None, True)


def test_loads_and_stores_as_the_decoders_masks_tell_them() -> None:
    """The board's masks were written apart from the decoder's."""
    halves = random.Random(7)
    codes = list(narrow())
    for first in [*range(0xE800, 0xEA00), *range(0xEC00, 0xEE00), *range(0xF800, 0xFA00)]:
        for _ in range(24):
            codes.append(first.to_bytes(2, "little") + halves.getrandbits(16).to_bytes(2, "little"))
    for code in codes:
        instruction = judged(code)
        if instruction is None or instruction.mnemonic.startswith(_NOT_HERE + _NOT_FOR_DATA):
            continue
        if "ldm" in instruction.mnemonic and instruction.op_str.startswith("pc"):
            continue  # UNPREDICTABLE
        ours, access = decode(code, 0), accesses(code, 0, Isa.T32)
        assert (ours.loads(), ours.stores()) == (access is Access.LOAD, access is Access.STORE), instruction
