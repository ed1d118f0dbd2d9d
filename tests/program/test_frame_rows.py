"""Vectors worked by hand from the Armv8-M ARM: released frames.

Encodings: C2.4.  LLVM leaves such frames.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, Optional

import pytest

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.frame_rows import CALLEE_SAVED, FrameRow, with_releases

ENTRY = FrameRow(13, 0, {}, CALLEE_SAVED)
LOCALS = FrameRow(13, 8, {}, CALLEE_SAVED)
SAVED = {4: -16, 5: -12, 7: -8, 14: -4}
PUSHED = FrameRow(13, 16, SAVED, (6, 8, 9, 10, 11))


def rows(row: FrameRow, code: str, starts: Optional[List[int]] = None) -> Dict[int, Optional[FrameRow]]:
    """Return what is told of a body, by where that changes.

    Its information has one row, and the same again at ``starts``.
    """
    data = bytes.fromhex(code)
    begins = [0x1000] + (starts or [])
    places, found = with_releases(begins, [row] * len(begins), [(0x1000, data)])
    assert places == sorted(set(places)) and len(places) == len(found)
    changes = [index for index, row in enumerate(found) if not index or row != found[index - 1]]
    return {places[index]: found[index] for index in changes}


def test_locals_that_are_released_before_the_return() -> None:
    # nop; add sp, #8; bx lr; nop: another block of the body
    assert rows(LOCALS, "00bf 02b0 7047 00bf") == {0x1000: LOCALS, 0x1004: ENTRY, 0x1006: LOCALS}


def test_what_is_popped_is_the_callers_again() -> None:
    # add sp, #8; pop.w {r4, r5, r7, lr}; b.w to another function; nop
    body = FrameRow(13, 24, SAVED, (6, 8, 9, 10, 11))
    found = rows(body, "02b0 bde8b040 00f000b9 00bf")
    assert found == {0x1000: body, 0x1002: PUSHED, 0x1006: ENTRY, 0x100A: body}


def test_a_frame_pointer_that_is_popped_gives_the_stack_pointer() -> None:
    # ldr r11, [sp], #4; pop.w {r4, r5, r7, lr}; bx lr
    body = FrameRow(7, 8, {**SAVED, 11: -20}, (6, 8, 9, 10))
    found = rows(body, "5df804bb bde8b040 7047")
    # Where r11's word was cannot be told from the pop behind it.
    assert found == {0x1000: body, 0x1008: FrameRow(13, 0, {}, (4, 5, 6, 7, 8, 9, 10))}
    unknown = FrameRow(7, 8, {14: -4})
    assert rows(unknown, "bde89040 7047") == {0x1000: unknown, 0x1004: None}


@pytest.mark.parametrize(
    "code, size",
    [
        ("7fb0", 508),  # add sp, #508
        ("0df22c1d", 300),  # addw sp, sp, #300
        ("0df5ad5d", 5536),  # add.w sp, sp, #5536
        ("0df1ff0d", 255),  # add.w sp, sp, #255
        ("bdec048b", 16),  # vpop {d8, d9}
        ("bdec038a", 12),  # vpop {s16, s17, s18}
        ("08bc", 4),  # pop {r3}
        ("5df8083b", 8),  # ldr r3, [sp], #8
    ],
)
def test_every_way_up(code: str, size: int) -> None:
    body = FrameRow(13, 6000, {14: -4})
    width = len(code) // 2
    assert rows(body, code + "7047 00bf") == {
        0x1000: body,
        0x1000 + width: FrameRow(13, 6000 - size, {14: -4}),
        0x1002 + width: body,
    }


def test_where_the_information_has_a_row_it_counts() -> None:
    other = FrameRow(13, 12, {})
    places, found = with_releases([0x1000, 0x1004], [LOCALS, other], [(0x1000, bytes.fromhex("00bf 02b0 7047"))])
    assert (places, found) == ([0x1000, 0x1004], [LOCALS, other])
    # One that has the frame where it was, although SP has moved, is false: libgcc's __aeabi_uldivmod.
    assert rows(LOCALS, "00bf 02b0 7047", [0x1004]) == {0x1000: LOCALS, 0x1004: ENTRY}


def test_returns_and_other_instructions_change_nothing() -> None:
    # pop {r4, r7, pc}; pop.w {r4, pc}; sub sp, #8; ldr r0, [sp, #8]; add r0, sp, #8; str r0, [sp], #4
    for code in ("90bd 00bf", "bde81080 00bf", "82b0", "0298", "02a8", "4df8040b"):
        assert rows(PUSHED, code + "7047") == {0x1000: PUSHED}


def test_a_conditional_release_is_none_to_rely_on() -> None:
    # ittt eq; addeq sp, #8; nopeq; bxeq lr; nop
    assert rows(LOCALS, "02bf 02b0 00bf 7047 00bf") == {0x1000: LOCALS, 0x1004: None, 0x1008: LOCALS}
    # it eq; popeq {r4, r5, r7, pc}; nop
    assert rows(PUSHED, "08bf b0bd 00bf") == {0x1000: PUSHED}


def test_a_release_goes_where_branches_lead() -> None:
    # add sp, #8; cbz r0, to the last instruction; b to the last but one; nop; bx lr; bx lr
    found = rows(LOCALS, "02b0 18b1 01e0 00bf 00bf 7047 7047")
    assert found == {0x1000: LOCALS, 0x1002: ENTRY, 0x1006: LOCALS, 0x100A: ENTRY}
    # add sp, #8; b to the last; add sp, #4; bx lr: there it is one or the other
    assert rows(LOCALS, "02b0 00e0 01b0 7047") == {0x1000: LOCALS, 0x1002: ENTRY, 0x1004: LOCALS, 0x1006: None}
    # More than the frame has: none of a function that keeps to its frame.
    assert rows(LOCALS, "03b0 7047") == {0x1000: LOCALS, 0x1002: None}


def test_a_file_is_read_so(tmp_path: Path) -> None:
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("no arm-none-eabi-gcc")
    source, built = tmp_path / "leaf.s", tmp_path / "leaf"
    # A table of branches, which looks like ADD SP, before the release.
    source.write_text(
        ".syntax unified\n.thumb\n.text\n.global f\n.thumb_func\nf: .cfi_startproc\n.cfi_sections .debug_frame\n"
        "sub sp, #8\n.cfi_def_cfa_offset 8\ntbb [pc, r0]\n.byte 1, 0xb0\nadd sp, #8\nbx lr\n.cfi_endproc\n"
    )
    options = ["-mcpu=cortex-m4", "-mthumb", "-nostdlib", "-Wl,-Ttext=0x1000,-ef", "-o", str(built)]
    subprocess.run([compiler, *options, str(source)], check=True)
    frames = load_frames([str(built)])
    assert [frames.row(at) for at in (0x1000, 0x1002, 0x1008, 0x100A)] == [ENTRY, LOCALS, LOCALS, ENTRY]
