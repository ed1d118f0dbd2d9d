"""Programs built for a Cortex-M0+.

They are some of the other cores' programs, and some of its own.
``python -m tests.firmware.cortex_m0.build`` builds them anew.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

from tests.firmware.build import FOLDER as COMMON
from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent
_RECOVERY = ("-Wl,--wrap=run", "recovery/limits.c")


class Source(NamedTuple):
    """What a program is built from."""

    level: str
    # In the folder of all test programs, and linker's options.
    files: Tuple[str, ...]


PROGRAMS: Dict[str, Source] = {
    "nested": Source("O1", ("cortex_m0/nested.c",)),
    "tasks": Source("O1", ("cortex_m0/tasks.c",)),
    "sort": Source("O2", ("sort.c",)),
    "ticks": Source("O1", ("ticks.c",)),
    "faults": Source("O1", ("faults.c",)),
    "frames": Source("Os", (*_RECOVERY, "recovery/frames.c")),
    "interrupts": Source("O2", (*_RECOVERY, "recovery/interrupts.c")),
    "control": Source("O0", (*_RECOVERY, "recovery/control.c")),
    "state": Source("O2", (*_RECOVERY, "recovery/state.c")),
    "script": Source("Os", ("-ffunction-sections", "field/lib.c", "field/script.c", "field/heap.c")),
    "json": Source("O2", ("-ffunction-sections", "field/lib.c", "field/json.c", "field/heap.c")),
}
# Those that are built for a Cortex-M23, too; it runs the others as they are.
FOR_M23 = ("nested", "sort", "script")
_FLAGS = (
    "-mthumb -std=gnu11 -g -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns "
    "-nostdlib -nostartfiles -Wl,--gc-sections -T link.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def elf(name: str) -> str:
    """Return the path of a program's ELF file.

    :param name: One of PROGRAMS.
    """
    return str(FOLDER / (name + ".elf"))


def elf_m23(name: str) -> str:
    """Return the path of a program's ELF file for a Cortex-M23.

    :param name: One of FOR_M23.
    """
    return str(FOLDER / (name + "-m23.elf"))


def build(name: str, out: str, cpu: str = "cortex-m0plus") -> None:
    """Build a program.

    :param out: Path of the ELF file to write.
    :param cpu: Which processor, as the compiler calls it.
    """
    prefixes: List[str] = [option % COMMON for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    source = PROGRAMS[name]
    options = ["-mcpu=" + cpu, *_FLAGS, *prefixes, "-" + source.level]
    command = [compiler() or "arm-none-eabi-gcc", *options, "start.c", *source.files, "-lgcc", "-o", out]
    subprocess.run(command, cwd=COMMON, check=True)


if __name__ == "__main__":
    for program in PROGRAMS:
        build(program, elf(program))
        Path(elf(program)).chmod(0o644)
    for program in FOR_M23:
        build(program, elf_m23(program), "cortex-m23")
        Path(elf_m23(program)).chmod(0o644)
