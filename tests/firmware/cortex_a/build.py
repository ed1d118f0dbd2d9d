"""The test programs for a Cortex-A9.

The portable ones in A32 and in T32 code, and two of its own.

``python -m tests.firmware.cortex_a.build`` builds them anew.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, List

from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent

PROGRAMS: Dict[str, List[str]] = {
    "sort-a32": ["-O2", "-fno-inline", "-marm", "../sort.c"],
    "sort-t32": ["-O2", "-fno-inline", "-mthumb", "../sort.c"],
    "tables-a32": ["-Os", "-marm", "-include", "a32.h", "divide.c", "../tables.c"],
    "tables-t32": ["-Os", "-mthumb", "divide.c", "../tables.c"],
    "steps-a32": ["-O2", "-marm", "../steps.c"],
    "steps-t32": ["-O2", "-mthumb", "../steps.c"],
    "branches-t32": ["-O1", "-mthumb", "../branches.c", "../branches.S"],
    "modes": ["-O1", "-mthumb", "modes.c", "modes.S"],
    "worlds": ["-O1", "-marm", "worlds.c", "worlds.S"],
}

_FLAGS = (
    "-mcpu=cortex-a9 -mfloat-abi=soft -std=c11 -g -Wall -Wextra -Werror -ffreestanding -mthumb-interwork "
    "-fno-tree-loop-distribute-patterns -nostdlib -nostartfiles -T ../link.ld -Wl,--build-id=none "
    "-Wl,--no-warn-rwx-segments -Wl,--no-warn-mismatch"
).split()


def elf(name: str) -> str:
    """Return the path of a test program's ELF file.

    :param name: One of PROGRAMS.
    """
    return str(FOLDER / (name + ".elf"))


def build(name: str, out: str) -> None:
    """Build a test program.

    :param out: Path of the ELF file to write.
    """
    prefixes = [option % FOLDER.parent for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    command = [compiler() or "arm-none-eabi-gcc", *_FLAGS, *prefixes, "start.S", *PROGRAMS[name], "-o", out]
    subprocess.run(command, cwd=FOLDER, check=True)


if __name__ == "__main__":
    for program in PROGRAMS:
        build(program, elf(program))
        Path(elf(program)).chmod(0o644)
