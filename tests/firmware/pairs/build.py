"""Builds of the program with planted differences."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Sequence, Tuple

from elftools.elf.elffile import ELFFile

from tests.firmware.build import FOLDER, compiler, symbol

SOURCE = Path(__file__).resolve().parent / "pairs.c"
_FLAGS = (
    "-mcpu=cortex-m33 -mthumb -std=c11 -g -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns "
    "-nostdlib -nostartfiles -Wl,--build-id=none -Wl,--no-warn-rwx-segments -O1"
).split()


def build(
    out: Path, options: Sequence[str] = (), inputs: Sequence[Tuple[int, int]] = (), source: Path = SOURCE
) -> Path:
    """Build it.

    :param out: The ELF file to write.
    :param options: More of the compiler's options.
    :param inputs: Other inputs, by their indexes; the code stays the same.
    :param source: The program.
    """
    command = [compiler() or "arm-none-eabi-gcc", *_FLAGS, *options, "-I", str(FOLDER), "-T", "crashes/link.ld"]
    subprocess.run([*command, "start.c", str(source), "-o", str(out)], cwd=FOLDER, check=True)
    with open(out, "r+b") as file:
        elf = ELFFile(file)
        address = symbol(str(out), "input")
        section = next(
            one for one in elf.iter_sections() if one["sh_addr"] <= address < one["sh_addr"] + one["sh_size"]
        )
        for at, value in inputs:
            file.seek(section["sh_offset"] + address - section["sh_addr"] + 4 * at)
            file.write(value.to_bytes(4, "little"))
    return out


def line_of(mark: str, source: Path = SOURCE) -> int:
    """Give the line that a comment marks, such as ``INPUT 3``."""
    lines = enumerate(source.read_text("ascii").splitlines(), 1)
    return next(number for number, line in lines if re.search(r"/\* .*\b%s\b.* \*/$" % mark, line))
