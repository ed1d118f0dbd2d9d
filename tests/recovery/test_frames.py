"""Worked by hand: SP under a frame pointer, by call frame information."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.functions.frames import SavedRegister, StackFrames
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.lift.template import Templates

START = 0x1000
R7, R11 = 7, 11
# A function that returns in two places, which GCC has laid out so that the second part of its body comes after the
# first return.
CODE = """
80b5  push {r7, lr}
84b0  sub sp, #16
00af  add r7, sp, #0
00bf  nop
10b9  cbnz r0, 0x1010
1037  adds r7, #16
bd46  mov sp, r7
80bd  pop {r7, pc}
00bf  nop
fae7  b
"""
PUSHED, MOVED = FrameRow(SP, 8, {}), FrameRow(SP, 24, {})
BODY, RAISED = FrameRow(R7, 24, {}), FrameRow(R7, 8, {})
ROWS = {0: FrameRow(SP, 0, {}), 2: PUSHED, 4: MOVED, 6: BODY, 12: RAISED, 14: PUSHED, 16: BODY}


# A handler that gives the frame of what it has interrupted as its own.
HANDLER = """
eff30981  mrs r1, psp
8b46  mov r11, r1
00bf  nop
00bf  nop
"""
# A return that loads the frame pointer, and a part of the body behind it.
RELOADS = """
80b4  push {r7}
82b0  sub sp, #8
00af  add r7, sp, #0
18b1  cbz r0, 0x1010
0837  adds r7, #8
bd46  mov sp, r7
80bc  pop {r7}
7047  bx lr
00bf  nop
"""
RELOADED = {
    **{0: FrameRow(SP, 0, {}), 2: FrameRow(SP, 4, {}), 4: FrameRow(SP, 12, {}), 6: FrameRow(R7, 12, {})},
    **{10: FrameRow(R7, 4, {}), 12: FrameRow(SP, 4, {}), 14: FrameRow(SP, 0, {}), 16: FrameRow(R7, 12, {})},
}


class Told:
    """Call frame information of one function."""

    def __init__(self, rows: Mapping[int, FrameRow], size: int) -> None:
        self._rows = rows
        self._size = size

    def row(self, address: int) -> Optional[FrameRow]:
        known = [at for at in self._rows if at <= address - START]
        return self._rows[max(known)] if START <= address < START + self._size else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (START, START + self._size) if START <= address < START + self._size else None


def known_at(address: int, source: str = CODE, rows: Mapping[int, FrameRow] = ROWS) -> Dict[int, int]:
    code = bytes.fromhex("".join(line.split()[0] for line in source.split("\n") if line))
    templates = Templates(Program([MemoryImage(START, code, "code")]), True)
    frames = StackFrames(Told(rows, len(code)), templates.at_address)
    template = templates.at(address, Isa.T32)
    assert template is not None
    return {one.register: one.distance for one in frames.at(template)}


def test_the_frame_pointer_was_set_where_the_stack_pointer_was() -> None:
    assert known_at(START + 6) == {R7: -24, SP: -24}


def test_a_return_sets_no_frame_pointer_for_what_is_behind_it() -> None:
    # "pop {r7, pc}" writes r7, and what comes next is reached from before it.
    assert known_at(START + 16) == {R7: -24, SP: -24}


def test_without_a_frame_pointer_the_frame_is_told_by_the_stack_pointer() -> None:
    assert known_at(START + 14) == dict([SavedRegister(SP, -8)])


@pytest.mark.parametrize("register", [4, R11])
def test_what_the_code_does_not_make_of_the_stack_pointer_is_no_frame(register: int) -> None:
    # r4 is never set, as the handlers of a public kernel have it.
    rows = {0: FrameRow(SP, 0, {}), 6: FrameRow(register, 0, {})}
    assert known_at(START + 4, HANDLER, rows) == {SP: 0}
    assert known_at(START + 6, HANDLER, rows) == {}
    assert known_at(START + 8, HANDLER, rows) == {}


def test_a_part_that_begins_with_a_frame_pointer_has_it() -> None:
    assert known_at(START + 6, HANDLER, {0: FrameRow(R11, 8, {})}) == {R11: -8}


def test_what_a_return_loads_is_no_new_frame_pointer() -> None:
    assert known_at(START + 16, RELOADS, RELOADED) == {R7: -12, SP: -12}
    assert known_at(START + 10, RELOADS, RELOADED) == {R7: -4, SP: -12}
