"""Programs whose past registers are recovered, as built ELF files.

They are built for a Cortex-M4; the other boards run them too.

Each is there without optimisation, optimised for size and for speed: compilers keep values in other places then.
``python -m tests.firmware.recovery.build`` builds them anew.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, List

from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent

# Programs that keep the calling convention.
KEEPING = (
    *("frames", "control", "algorithms", "interrupts", "kernel", "floats"),
    *("digest", "text", "state", "twins", "requests", "fibers", "mainstack"),
)
# Programs that damage their stack, break the calling convention, or write where they should not.
SMASHING = ("overrun", "clobber", "corrupt")
LEVELS = ("O0", "Os", "O2")
# Of each program a function that others call, or a handler does: where it may well stop with a fault.
DEEP = {
    "frames": "on_sum",
    "control": "decimal",
    "algorithms": "quick_sort",
    "interrupts": "stir",
    "kernel": "switch_task",
    "floats": "SysTick_Handler",
    "digest": "compress",
    "text": "put_number",
    "state": "allocate",
    "twins": "check_of",
    "requests": "serve",
    "fibers": "follow",
    "mainstack": "switch_task",
    "overrun": "copy",
    "clobber": "leap",
    "corrupt": "emit",
}
_MORE: Dict[str, List[str]] = {"floats": ["-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]}

# In an order by which each has its board.
PROGRAMS = tuple("%s-%s" % (name, level) for name in (*KEEPING[:-2], *SMASHING, *KEEPING[-2:]) for level in LEVELS)

_FLAGS = (
    "-mcpu=cortex-m4 -mthumb -std=c11 -g -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns "
    "-nostdlib -nostartfiles -T ../link.ld -Wl,--wrap=run -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def elf(program: str) -> str:
    """Return the path of a program's ELF file.

    :param program: One of PROGRAMS.
    """
    return str(FOLDER / (program + ".elf"))


def board_of(program: str) -> str:
    """Return a program's board; every board gets every level.

    :param program: One of PROGRAMS.
    """
    source, level = divmod(PROGRAMS.index(program), len(LEVELS))
    return ("m33", "m4", "m7")[(source + level) % 3]


def build(program: str, out: str, *more: str) -> None:
    """Build a program.

    :param out: Path of the ELF file to write.
    :param more: Options of the compiler.
    """
    name, _, level = program.partition("-")
    prefixes = [option % FOLDER for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    options = _FLAGS + prefixes + ["-" + level, *_MORE.get(name, []), *more]
    command = [compiler() or "arm-none-eabi-gcc", *options, "../start.c", "limits.c", name + ".c", "-lgcc", "-o", out]
    subprocess.run(command, cwd=FOLDER, check=True)


if __name__ == "__main__":
    for each in PROGRAMS:
        build(each, elf(each))
        Path(elf(each)).chmod(0o644)
