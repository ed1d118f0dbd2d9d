"""Worked by hand, and on Unicorn: calls of shared code."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Optional, Tuple

import pytest

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.functions.escape import Escape
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.lift.template import Template, Templates
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.history.executed import history_of
from tests.recovery.small import CODE, STACK, built, run

# Two functions with frames of their own, and what they share: that one's place is 32 bytes behind the beginning.
SOURCE = """
    push {r4, lr}
    sub sp, #16
    %s
    bl shared
    mov r12, r4
    add sp, #16
    pop {r4, pc}
    .org 32
shared:
    %s
    bx lr
    .org 48
conventional:
    push {r4, lr}
    mov r4, r0
    str r4, [sp, #8]
    pop {r4, pc}
"""
SHARED, CONVENTIONAL, END = CODE + 32, CODE + 48, CODE + 56


class Told:
    """Call frame information of these functions."""

    def __init__(self) -> None:
        saved = {4: -8, 14: -4}
        self._rows: Dict[int, FrameRow] = {
            CODE: FrameRow(13, 0, {}),
            CODE + 2: FrameRow(13, 8, saved),
            CODE + 4: FrameRow(13, 24, saved),
            CODE + 14: FrameRow(13, 8, saved),
            SHARED: FrameRow(13, 0, {}),
            CONVENTIONAL: FrameRow(13, 0, {}),
            CONVENTIONAL + 2: FrameRow(13, 8, saved),
        }

    def row(self, address: int) -> Optional[FrameRow]:
        starts = sorted(self._rows)
        return self._rows[starts[bisect_right(starts, address) - 1]] if CODE <= address < END else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        starts = [CODE, SHARED, CONVENTIONAL, END]
        at = bisect_right(starts, address)
        return (starts[at - 1], starts[at]) if 0 < at < len(starts) else None


def parts(shared: str, before: str = "nop") -> Tuple[Losses, Escape, Template]:
    """Return what tells of a program, and its first instruction."""
    program = history_of(built(SOURCE % (before, shared)), [CODE]).program
    templates, told = Templates(program, True), Told()
    code = FunctionCode(told, program)
    losses = Losses(told, code, templates.at_address)
    first = templates.at(CODE, Isa.T32)
    assert first is not None
    return losses, Escape(told, code, losses, templates.at_address), first


@pytest.mark.parametrize(
    "shared, lost, used",
    [
        ("mov r4, r0", {4}, {4}),
        ("ldr r0, [r4]", set(), {4}),
        ("mov r4, r0\n    b conventional", {4}, {4}),
        ("str r0, [sp, #4]", {13}, {13}),
        ("add r1, sp, #8", {13}, {13}),
        # What is saved is what call frame information says.
        ("push {r5, r6}\n    pop {r5, r6}", {5, 6}, {5, 6}),
        ("ldr r0, [sp, #4]", set(), set()),
        ("mov r3, r0", set(), set()),
    ],
)
def test_what_is_used_of_the_callers(shared: str, lost: "set[int]", used: "set[int]") -> None:
    losses, _, like = parts(shared)
    found = losses.of(SHARED, like)
    assert (found.lost, found.used) == (lost, used)
    assert not losses.of(CONVENTIONAL, like).used
    # In the middle of a function, and where there is none, nothing is told.
    assert not losses.of(SHARED + 2, like).lost and not losses.of(END, like).used


def test_a_call_of_shared_code_does_not_keep_what_it_writes() -> None:
    source = SOURCE % ("movs r4, #7", "mov r4, r0") + "\n"
    ran = run(source, {"r0": 0x55, "sp": STACK, "lr": END | 1})
    recovery = ran.recovery(Rules(frames=Told()))
    after = ran.number(CODE + 10)
    assert recovery.register(after, "r4")[:2] == (0x55, Tier.EXACT)
    assert recovery.register(after - 3, "r4")[:2] == (7, Tier.EXACT)
    assert not recovery.findings


@pytest.mark.parametrize("shared, private", [("mov r4, r0", True), ("str r0, [sp, #4]", False)])
def test_a_frame_that_shared_code_writes_is_not_private(shared: str, private: bool) -> None:
    _, escape, first = parts(shared, "str r0, [sp]")
    assert escape.keeps((CODE, SHARED), first) is private
