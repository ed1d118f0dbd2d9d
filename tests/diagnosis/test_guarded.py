"""The board's truth: a guard of the stack, checked as LLVM does.

The function returns from within an IT block, and what is called otherwise is a trap.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import gdb_etm
from tests.firmware.build import compiler
from tests.firmware.faulty.build import FOLDER

BOARD = FOLDER / "board"
SOURCE = """
#include <stdint.h>
uintptr_t __stack_chk_guard = 0xdeadbee1;
__attribute__((noreturn)) void __stack_chk_fail(void) { __builtin_trap(); }
void copied(const char *text);
__asm__(
    ".syntax unified\\n.thumb_func\\n.type copied, %function\\ncopied:\\n"
    "push {r7, lr}\\nsub sp, #16\\nldr r2, =__stack_chk_guard\\nldr r2, [r2]\\nstr r2, [sp, #12]\\n"
    "mov r1, r0\\nmov r0, sp\\nbl strcpy\\n"
    "ldr r3, =__stack_chk_guard\\nldr r3, [r3]\\nldr r2, [sp, #12]\\ncmp r3, r2\\n"
    "itt eq\\naddeq sp, #16\\npopeq {r7, pc}\\nbl __stack_chk_fail\\n.ltorg\\n.size copied, . - copied\\n"
);
int main(void)
{
    copied("short");
    copied("too long for that");
    return 0;
}
"""
OPTIONS = "-mcpu=cortex-m33 -mthumb -g -O1 -ffreestanding -nostdlib -nostartfiles -Wl,--no-warn-rwx-segments".split()


def test_what_checked_the_guard_is_told_and_not_what_reports_it(tmp_path: Path) -> None:
    gcc = compiler()
    if gcc is None:
        pytest.skip("no arm-none-eabi-gcc")
    (tmp_path / "guarded.c").write_text(SOURCE)
    built = tmp_path / "guarded.elf"
    sources = [str(tmp_path / "guarded.c"), *(str(BOARD / name) for name in ("start.c", "system.c", "lib.c"))]
    subprocess.run([gcc, *OPTIONS, "-T", str(BOARD / "link.ld"), *sources, "-lgcc", "-o", str(built)], check=True)
    with gdb_etm.connect("board:m33", elf=built) as session:
        session.start()
        session.run(20)
        text = "\n".join(session.command("fault"))
    assert "<copied+" in text and "bl" in text and "__stack_chk_fail>" in text
    assert "the condition (r2 = 0x" in text
    assert "is a trap" not in text
