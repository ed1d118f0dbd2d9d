"""Worked by hand: SP under a frame pointer, by call frame information."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.functions.frames import SavedRegister, StackFrames
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.lift.template import Templates

START = 0x1000
R7 = 7
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


class Told:
    """Call frame information of that function."""

    def row(self, address: int) -> Optional[FrameRow]:
        known = [at for at in ROWS if at <= address - START]
        return ROWS[max(known)] if START <= address < START + 20 else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (START, START + 20) if START <= address < START + 20 else None


def known_at(address: int) -> Dict[int, int]:
    code = bytes.fromhex("".join(line.split()[0] for line in CODE.split("\n") if line))
    templates = Templates(Program([MemoryImage(START, code, "code")]), True)
    frames = StackFrames(Told(), templates.at_address)
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
