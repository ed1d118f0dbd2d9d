"""Differential run against Capstone, some worked by hand: unconditional branches.

Capstone tells the condition of every branch outside IT blocks; what is in IT blocks is Armv8-M ARM, C1.3.3.
"""

from __future__ import annotations

import random
from typing import Iterator

import capstone
import pytest

from gdb_etm.program.isa import InstructionKind, Isa, decode_t32, is_unconditional
from gdb_etm.program.untaken import always_taken
from tests.program.judge import is_conditional, judge_a64, judge_arm
from tests.protocols.etmv4.streams import Code, program

ADDRESS = 0x8000
ENGINES = {
    Isa.T32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8),
    Isa.A32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
    Isa.A64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}


T32 = (0xF000, 0xF400, 0xF3C0, 0xF3D0, 0xE8B0, 0xE8D0, 0xF850)
A32 = (0x0A000000, 0x0B000000, 0x012FFF10, 0x08BDF000, 0x049DF000, 0x00000000)
A64 = (0x54000000, 0x14000000, 0x94000000, 0x34000000, 0xB5000000, 0x36000000, 0xB7000000, 0xD61F0000, 0xD65F0000)


def words(isa: Isa) -> Iterator[int]:
    """Yield all 16-bit T32 instructions, and samples of the others."""
    choose = random.Random(7)
    if isa is Isa.T32:
        yield from range(0xE800)
    for _ in range(40000):
        if isa is Isa.T32:
            yield choose.choice(T32) | choose.getrandbits(10) | (0x8000 | choose.getrandbits(16)) << 16
        elif isa is Isa.A32:
            yield choose.getrandbits(4) << 28 | choose.choice(A32) | choose.getrandbits(choose.choice((4, 24)))
        else:
            yield choose.choice(A64) | choose.getrandbits(choose.choice((5, 10, 24)))


@pytest.mark.parametrize("isa", list(Isa))
def test_capstone_says_the_same(isa: Isa) -> None:
    engine = capstone.Cs(*ENGINES[isa])
    engine.detail = True
    seen = {True: 0, False: 0}
    for word in words(isa):
        found = next(engine.disasm(word.to_bytes(4, "little"), ADDRESS, 1), None)
        if found is None:
            continue
        verdict = judge_a64(found) if isa is Isa.A64 else judge_arm(found, isa is Isa.T32)
        # ISB and its CP15 form lead to the next instruction in any case.
        if verdict.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT) and verdict.target != ADDRESS + 4:
            assert is_unconditional(word, isa) is not is_conditional(found), "0x%08x %s" % (word, found.mnemonic)
            seen[is_conditional(found)] += 1
    assert min(seen.values()) > 500


def test_loops_end() -> None:
    # LE, LE with a counter, WLS (Armv8.1-M ARM, C2.4): Capstone does not know them.
    for first, second in ((0xF00F, 0xC001), (0xF02F, 0xC001), (0xF040, 0xC001)):
        assert decode_t32(ADDRESS, first, second).kind is InstructionKind.DIRECT
        assert not is_unconditional(first | second << 16, Isa.T32)


@pytest.mark.parametrize(
    "code, start, always",
    [
        # IT EQ and BX LR; ITTE EQ, two more, and BX LR; the same at its first and second.
        ("08bf 7047", 0, False),
        ("06bf 0120 0120 7047", 0, False),
        ("06bf 7047", 0, False),
        ("06bf 0120 7047", 0, False),
        # Behind the block: IT EQ, one instruction, BX LR.
        ("08bf 0120 7047", 0, True),
        # ITTTT and three wide instructions between.
        ("01bf aff30080 aff30080 aff30080 7047", 0, False),
        ("01bf aff30080 aff30080 aff30080 0120 7047", 0, True),
        # IT AL is no condition.
        ("e8bf 7047", 0, True),
        # The second half of MOVW R15, #... looks like IT: from where the code is known to begin it is none.
        ("4ff208bf 7047", 0, True),
        ("4ff208bf 7047", 4, False),
        # Hints are not IT; nor is what lies before the code.
        ("00bf 7047", 0, True),
        ("7047", 0, True),
    ],
)
def test_it_blocks(code: str, start: int, always: bool) -> None:
    memory = program(Code(ADDRESS, code))
    branch = ADDRESS + len(bytes.fromhex(code)) - 2
    assert always_taken(memory.read, ADDRESS + start, branch, Isa.T32) is always
