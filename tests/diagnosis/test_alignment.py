"""The board's truth: an unaligned address that was made of a distance.

The allocator rounds the same memory's address up, which is no mistake.
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
#include "lib.h"
static unsigned char pool[64];
static unsigned char *top = pool;
static const char text[] __attribute__((aligned(4))) = "12 34 56";
volatile unsigned read;
NOINLINE unsigned char *reserve(unsigned size)
{
    unsigned char *at = (unsigned char *)(((unsigned long)top + 7 + 4) & ~7ul);
    top = at + size;
    return at;
}
NOINLINE unsigned number_at(const char *from)
{
    return *(const unsigned short *)from;
}
NOINLINE unsigned length_of(const char *from, unsigned char *copy)
{
    unsigned char *to = copy;
    while (*from >= '0')
        *to++ = *from++;
    return to - copy;
}
int main(void)
{
    SCB_CCR |= CCR_UNALIGN_TRP;
    unsigned at = length_of(text, reserve(4)) + 1;
    read = number_at(text + at + length_of(text + at, reserve(4)));
    return 0;
}
"""
OPTIONS = "-mcpu=cortex-m33 -mthumb -g -O1 -ffreestanding -nostdlib -nostartfiles -Wl,--no-warn-rwx-segments".split()


def test_a_pointer_whose_distance_was_used_is_not_blamed(tmp_path: Path) -> None:
    gcc = compiler()
    if gcc is None:
        pytest.skip("no arm-none-eabi-gcc")
    (tmp_path / "text.c").write_text(SOURCE)
    built = tmp_path / "text.elf"
    sources = [str(tmp_path / "text.c"), *(str(BOARD / name) for name in ("start.c", "system.c", "lib.c"))]
    include = ["-I", str(BOARD)]
    command = [gcc, *OPTIONS, *include, "-T", str(BOARD / "link.ld"), *sources, "-lgcc", "-o", str(built)]
    subprocess.run(command, check=True)
    with gdb_etm.connect("board:m33", elf=built) as session:
        session.start()
        session.run(20)
        text = "\n".join(session.command("fault"))
    assert "ldrh" in text and "not a multiple of 2" in text
    assert "no multiple of" not in text and "nothing on the way from there is known to be wrong" in text
