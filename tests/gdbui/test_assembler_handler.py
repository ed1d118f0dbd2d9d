"""Real GDB: a handler in assembler code, without call frame information.

A program asks for it by SVC when it has noticed a mistake.  GDB cannot unwind the handler, and ends with an error after
the frames that it has found.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List

import pytest

from tests.firmware.build import compiler
from tests.gdb_session import ROOT, run_gdb

pytestmark = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")

LINKED = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.ld"
HANDLER = """
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word 0x20010000, Reset_Handler, unexpected, unexpected, 0, 0, 0, 0, 0, 0, 0, SVC_Handler
    .text
    .global Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    bl ask
    .type unexpected, %function
unexpected:
    b .
    .type SVC_Handler, %function
SVC_Handler:
    mov r0, sp
    push {r0, lr}
    bl stop
    pop {r0, pc}
"""
PROGRAM = """
__attribute__((noinline)) static void fatal_error(unsigned reason, const unsigned *frame)
{
    __asm volatile("bkpt" :: "r"(reason), "r"(frame));
}

void stop(const unsigned *frame)
{
    fatal_error(3, frame);
    __asm volatile("");
}

unsigned limit;

void ask(void)
{
    for (unsigned count = 0; count < 20; ++count)
        if (count == limit)
            __asm volatile("svc 2");
}
"""


def asked(tmp_path: Path, command: str) -> List[str]:
    """Run the program, and a command at its end."""
    (tmp_path / "handler.s").write_text(HANDLER)
    (tmp_path / "program.c").write_text(PROGRAM)
    options = (
        "-mcpu=cortex-m33 -mthumb -Os -g -ffreestanding -nostdlib -nostartfiles -Wl,--no-warn-rwx-segments".split()
    )
    files = ["-T", str(LINKED), "handler.s", "program.c", "-o", "program.elf"]
    subprocess.run([compiler() or "", *options, *files], cwd=tmp_path, check=True)
    connect = "etm connect board:m33 --elf %s" % (tmp_path / "program.elf")
    return run_gdb([connect, "etm start", "continue", "echo >>>\\n", command]).split(">>>\n")[1].splitlines()


def test_arguments_are_shown_as_far_as_gdb_unwinds(tmp_path: Path) -> None:
    frames = [line for line in asked(tmp_path, "etm backtrace") if line.startswith("#")]
    assert frames[0].endswith("in fatal_error (frame=0x2000ffe0, reason=3) at program.c:4"), frames
    assert " in stop (frame=0x2000ffe0) at program.c:9" in frames[1]
    assert frames[3] == "#3  <SVCall (exception 11)>" and "ask () at program.c:" in frames[4]


def test_a_mistake_was_made_where_the_program_asked_for_the_handler(tmp_path: Path) -> None:
    what, where, *_ = asked(tmp_path, "etm fault")
    assert what == "what   the program stopped itself in fatal_error"
    assert where.startswith("where") and "<ask+" in where and where.endswith("svc 2")
