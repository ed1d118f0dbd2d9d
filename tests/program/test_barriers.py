"""Barriers told apart by masks.

Evidence: differential run against Capstone, over every second halfword of T32's control instructions, and samples of
A32; ENTERX and LEAVEX, which Capstone does not know, by hand from the ARMv7-A ARM (A9.3.1).
"""

from __future__ import annotations

import random
from typing import Iterator

import capstone
import pytest

from gdb_etm.program.barriers import is_barrier, is_enterx, is_leavex
from gdb_etm.program.isa import Isa

SAMPLES = 40000
# The last three are options of DSB.
NAMES = ("dmb", "dsb", "ssbb", "pssbb", "dfb")


def is_told(name: str, operands: str) -> bool:
    """Tell by Capstone's words whether something is a barrier."""
    if name.split(".")[0] in NAMES:
        return True
    # MCR p15, 0, <Rt>, c7, c10, 4 or 5; MCR2 is another instruction.
    ends = operands.startswith("p15, #0,") and operands.endswith(("c7, c10, #4", "c7, c10, #5"))
    return name.startswith("mcr") and name != "mcr2" and ends


def differences(isa: Isa, codes: Iterator[bytes]) -> Iterator[str]:
    mode = capstone.CS_MODE_THUMB if isa is Isa.T32 else capstone.CS_MODE_ARM
    judge = capstone.Cs(capstone.CS_ARCH_ARM, mode)
    for code in codes:
        for _, _, name, operands in judge.disasm_lite(code, 0, 1):
            if is_told(name, operands) != is_barrier(code, isa):
                yield "%s: %s %s" % (code.hex(" "), name, operands)


def t32_codes() -> Iterator[bytes]:
    for first in (0xF3BF, 0xEE07, 0xEE06, 0xEE17, 0xF3AF, 0xFE07):
        for second in range(1 << 16):
            yield first.to_bytes(2, "little") + second.to_bytes(2, "little")


def a32_codes() -> Iterator[bytes]:
    dice = random.Random(1)
    for base, free in ((0xF57FF000, 0xFF), (0x0E070F9A, 0xF000F000), (0x0E070FBA, 0xF000F000), (0xF5700000, 0xFFFFF)):
        for _ in range(SAMPLES):
            changed = dice.getrandbits(32) & (free | dice.choice((0, 1 << dice.randrange(32))))
            yield (base ^ changed).to_bytes(4, "little")


@pytest.mark.parametrize("isa, codes", [(Isa.T32, t32_codes), (Isa.A32, a32_codes)])
def test_barriers_are_capstones(isa: Isa, codes: object) -> None:
    assert callable(codes)
    assert list(differences(isa, codes()))[:10] == []


def test_changes_of_thumb_state() -> None:
    # 1111 0011 1011 (1)(1)(1)(1) | 10(0)0 (1)(1)(1)(1) 000J (1)(1)(1)(1): J is 1 for ENTERX.
    enterx, leavex, isb = bytes.fromhex("bff31f8f"), bytes.fromhex("bff30f8f"), bytes.fromhex("bff36f8f")
    assert [is_enterx(code) for code in (enterx, leavex, isb)] == [True, False, False]
    assert [is_leavex(code) for code in (enterx, leavex, isb)] == [False, True, False]
    assert not is_enterx(enterx[:2]) and not is_leavex(b"")
