"""Worked by hand: what is taken for a saved register."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range
from gdb_etm.replay.effects import Effects, StackSlot

START = 0x1000


@pytest.mark.parametrize(
    "code, stores, spoils",
    [
        # push {r7, lr}
        ("80b5", ((7, -8), (14, -4)), ()),
        # str lr, [sp, #-4]!
        ("4df804ed", ((14, -4),), ()),
        # sub sp, #16
        ("84b0", (), ()),
        # A variable that is r7 for a while: str r7, [sp, #4]; it may be written by others before it is loaded again.
        ("0197", (), ((13, 4),)),
        # str lr, [sp, #4]
        ("cdf804e0", (), ((13, 4),)),
        # What was pushed to make room is written: strd r1, r2, [sp, #4]; strb r0, [r7, #3]
        ("cde90112", (), ((13, 4), (13, 8))),
        ("f870", (), ((7, 0),)),
        # str r0, [r1]
        ("0860", (), ()),
    ],
)
def test_what_is_pushed_is_saved_and_what_is_spilled_is_not(
    code: str, stores: Tuple[StackSlot, ...], spoils: Tuple[StackSlot, ...]
) -> None:
    data = bytes.fromhex(code)
    effects = Effects(Program([MemoryImage(START, data, "code")]), True)
    found = effects(Range(START, START + len(data), 1, Isa.T32, False))
    assert tuple([one for effect in found for one in effect.stores]) == stores
    assert tuple([one for effect in found for one in effect.spoils]) == spoils
