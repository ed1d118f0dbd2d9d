"""Real GDB: a handler in assembler code, without call frame information.

GDB cannot unwind it, and ends with an error after the frames that it has found.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

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
__attribute__((noinline)) static void end(unsigned reason, const unsigned *frame)
{
    __asm volatile("bkpt" :: "r"(reason), "r"(frame));
}

void stop(const unsigned *frame)
{
    end(3, frame);
    __asm volatile("");
}

void ask(void)
{
    __asm volatile("svc 2");
}
"""


def test_arguments_are_shown_as_far_as_gdb_unwinds(tmp_path: Path) -> None:
    (tmp_path / "handler.s").write_text(HANDLER)
    (tmp_path / "program.c").write_text(PROGRAM)
    options = (
        "-mcpu=cortex-m33 -mthumb -Os -g -ffreestanding -nostdlib -nostartfiles -Wl,--no-warn-rwx-segments".split()
    )
    command = [compiler() or "", *options, "-T", str(LINKED), "handler.s", "program.c", "-o", "program.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    path = tmp_path / "program.elf"
    output = run_gdb(["etm connect board:m33 --elf %s" % path, "etm start", "continue", "echo >>>\\n", "etm backtrace"])
    frames = [line for line in output.split(">>>\n")[1].splitlines() if line.startswith("#")]
    assert frames[0].endswith("in end (frame=0x2000ffe0, reason=3) at program.c:4"), output
    assert " in stop (frame=0x2000ffe0) at program.c:9" in frames[1]
    # It goes on behind the SVC.
    assert frames[3:5] == ["#3  <SVCall (exception 11)>", "#4  ask () at program.c:16"]
