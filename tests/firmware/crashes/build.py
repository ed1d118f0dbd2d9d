"""A program that crashes as a debugger asks, for every Cortex-M.

``python -m tests.firmware.crashes.build`` builds it anew, without floating point and with it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Dict, List

from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER / "crashes.c"
PROGRAMS: Dict[str, List[str]] = {
    "integers": ["-O1", "-foptimize-sibling-calls"],
    "floats": ["-O2", "-DFLOATS", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
}
_FLAGS = (
    "-mcpu=cortex-m4 -mthumb -std=c11 -g -Wall -Wextra -Werror -Wno-infinite-recursion "
    "-Wno-unused-parameter -ffreestanding -fno-tree-loop-distribute-patterns -nostdlib -nostartfiles "
    "-T link.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def elf(program: str) -> str:
    """Return the path of a program's ELF file.

    :param program: One of PROGRAMS.
    """
    return str(FOLDER / (program + ".elf"))


def ways() -> Dict[str, int]:
    """Return the numbers of the crashes by lower-case name."""
    (names,) = re.findall(r"enum way \{(.*?)\}", SOURCE.read_text(), re.DOTALL)
    return {name.lower(): number for number, name in enumerate(re.findall(r"\w+", names))}


def build(program: str, out: str) -> None:
    """Build a program.

    :param out: Path of the ELF file to write.
    """
    prefixes = [option % FOLDER for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    options = _FLAGS + prefixes + PROGRAMS[program]
    command = [compiler() or "arm-none-eabi-gcc", *options, "../start.c", "crashes.c", "-lgcc", "-o", out]
    subprocess.run(command, cwd=FOLDER, check=True)


if __name__ == "__main__":
    for each in PROGRAMS:
        build(each, elf(each))
        Path(elf(each)).chmod(0o644)
