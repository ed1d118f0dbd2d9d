"""Worked by hand: IT blocks that are entered in the middle."""

from __future__ import annotations

from typing import Optional, Tuple

import pytest

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.image import MemoryImage, Program
from gdb_etm.program.isa import Isa
from gdb_etm.program.objects import Objects
from gdb_etm.recovery.lift.template import Templates

START = 0x100
NOP, PUSH, MOVEQ, IT_EQ = 0xBF00, 0xB508, 0x2001, 0xBF08
# B.W, whose second half is that of an ITTTE PL; BL, whose second half is a first half, too; LDR.W.
BRANCH, CALL, LOAD = (0xF7FF, 0xBF57), (0xF7FF, 0xFD05), (0xF8D0, 0x1004)


def condition(*halves: int, objects: Optional[Objects] = None) -> int:
    """Give the condition of the last halfword's instruction.

    There are 16 bytes of others before all.
    """
    code = b"".join(half.to_bytes(2, "little") for half in (NOP,) * 8 + halves)
    templates = Templates(Program([MemoryImage(START, code, "code")]), True, objects)
    template = templates.at(START + len(code) - 2, Isa.T32)
    assert template is not None
    return template.condition


@pytest.mark.parametrize("before", [BRANCH, BRANCH + (NOP,), CALL + BRANCH, CALL + CALL + BRANCH + (NOP,)])
def test_the_second_half_of_an_instruction_is_no_it(before: Tuple[int, ...]) -> None:
    assert condition(*before, PUSH) == ALWAYS


@pytest.mark.parametrize("before", [(), CALL, LOAD, CALL + CALL, LOAD + CALL + CALL])
def test_it_is_found_behind_other_instructions(before: Tuple[int, ...]) -> None:
    assert condition(*before, IT_EQ, MOVEQ) == 0


def test_constants_before_a_function_are_no_it() -> None:
    # -0.7 as a float.
    constant = (0x3333, 0xBF33)
    function = START + 16 + 4
    assert condition(*constant, PUSH) != ALWAYS
    assert condition(*constant, PUSH, objects=Objects([], [(function, function + 2)], [])) == ALWAYS
