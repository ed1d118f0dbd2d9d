"""Worked by hand: which parts of lines have a style."""

from __future__ import annotations

import pytest

from gdb_etm.views.styles import Styler, style_call, style_frame, style_instruction

_SHORT = {"address": "A", "function": "F", "filename": "P", "variable": "V", "metadata": "M"}


def marked(styler: Styler, line: str) -> str:
    """Put each part in braces after its style's letter."""
    return styler(line, lambda name, text: "%s{%s}" % (_SHORT[name], text))


@pytest.mark.parametrize(
    "line, expected",
    [
        ("21902   0x000004f2 <dispatch+18>   ldr   r3, [r4, #4]", "A{0x000004f2} <F{dispatch}+18>"),
        ("=> 7   0x000004f2 <dispatch>   beq.n  0x388 <crc16+14>", "A{0x000004f2} <F{dispatch}>"),
        ("   9   0x00000100 70 47   bx  lr", "A{0x00000100} 70"),
        ("5    cycle 16 (+16)   0x00001010   b   0x1000", "A{0x00001010}   b   0x1000"),
        ("7 ! 0x00001010 <a<int>::b(int)+4>   nop", "A{0x00001010} <F{a<int>::b(int)}+4>"),
        ("rx.c:57          table[id].handler(&msg);", "P{rx.c}:57"),
        ("   [gap: the trace starts here]", "   M{[gap: the trace starts here]}"),
        ("           store  4 bytes  at 0x20000050 <station>", "at 0x20000050 <station>"),
        ("<SysTick (exception 15), return address 0x000004f2>", "<SysTick (exception 15), return address 0x000004f2>"),
    ],
)
def test_instructions(line: str, expected: str) -> None:
    assert expected in marked(style_instruction, line)


def test_branch_targets() -> None:
    line = marked(style_instruction, "=> 7   0x000004f2 <dispatch>   beq.n  0x388 <crc16+14>")
    assert line.endswith("beq.n  A{0x388} <F{crc16}+14>")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("43      dispatch", "43      F{dispatch}"),
        ("=> 43      dispatch   inst 5,9   at rx.c:51,57", "=> 43      F{dispatch}   inst 5,9   at P{rx.c}:51,57"),
        ("44   f     inst 5,9", "44   F{f}     inst 5,9"),
        ("44   f     inst 5,9   inlined: g, h", "44   F{f}     inst 5,9   inlined: g, h"),
        ("45        <SysTick, exception 15>", "45        <SysTick, exception 15>"),
        ("46   ?? at 0x00000188", "46   ?? at 0x00000188"),
        ("     [halt in put (breakpoint 1)]", "     M{[halt in put (breakpoint 1)]}"),
    ],
)
def test_calls(line: str, expected: str) -> None:
    assert marked(style_call, line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ("dispatch (...) at rx.c:121", "F{dispatch} (...) at P{rx.c}:121"),
        (
            "#0  0x0000025a in put (r=0x20, n=3) at rx.c:46",
            "#0  A{0x0000025a} in F{put} (V{r}=0x20, V{n}=3) at P{rx.c}:46",
        ),
        (
            "#2  0x70 in Reset () at s.c:19   [called before]",
            "#2  A{0x70} in F{Reset} () at P{s.c}:19   [called before]",
        ),
        ("Run till exit from #0  put () at rx.c:46", "Run till exit from #0  F{put} () at P{rx.c}:46"),
        ("Breakpoint 1, put () at rx.c:46", "Breakpoint 1, F{put} () at P{rx.c}:46"),
        ("#1  <SysTick (exception 15)>", "#1  <SysTick (exception 15)>"),
        ("46\tput (a=1);", "46\tput (a=1);"),
        ("instruction 5 of 10", "instruction 5 of 10"),
        ("[the capture ends here]", "M{[the capture ends here]}"),
    ],
)
def test_frames(line: str, expected: str) -> None:
    assert marked(style_frame, line) == expected
