"""The test programs, with built ELF files beside their sources.

``python -m tests.firmware.build`` builds them anew; a test compares them with their sources where the
compiler is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from elftools.elf.elffile import ELFFile

FOLDER = Path(__file__).resolve().parent

# Optimisation decides which branches the compiler writes: -Os jump tables by TBB and TBH, -O2 tail calls.  Which
# floating-point unit there is depends on the core.
_DROPPED = ["-O2", "-ffunction-sections", "-Wl,--gc-sections"]
PROGRAMS: Dict[str, List[str]] = {
    "sort": ["-O2", "-fno-inline"],
    "interrupts": ["-O1"],
    "tasks": ["-O1"],
    "tables": ["-Os"],
    "branches": ["-O1"],
    "fpu": ["-O1", "-mfloat-abi=hard", "-mfpu=%s"],
    "ticks": ["-O1"],
    "rounds": ["-O1"],
    "steps": ["-O2"],
    "faults": ["-O1"],
    "dropped": _DROPPED,
    "dropped4": _DROPPED + ["-gdwarf-4"],
    "transfers": ["-O1", "-mfloat-abi=hard", "-mfpu=%s"],
}

_FLAGS = (
    "-mcpu=%s -mthumb -std=c11 -g -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns "
    "-nostdlib -nostartfiles -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def elf(name: str) -> str:
    """Return the path of a test program's ELF file.

    :param name: One of PROGRAMS.
    """
    return str(FOLDER / (name + ".elf"))


def symbol(path: str, name: str) -> int:
    """Return a symbol's address in an ELF file, without Thumb bit.

    :raises KeyError: When there is none of that name.
    """
    return _symbols(path, os.stat(path).st_mtime_ns)[name][0] & ~1


def size(path: str, name: str) -> int:
    """Return a symbol's size in bytes.

    :raises KeyError: When there is none of that name.
    """
    return _symbols(path, os.stat(path).st_mtime_ns)[name][1]


@lru_cache(maxsize=None)
def _symbols(path: str, written: int) -> Dict[str, Tuple[int, int]]:
    # Tests ask for some of them line by line.
    found: Dict[str, Tuple[int, int]] = {}
    with open(path, "rb") as file:
        for entry in ELFFile(file).get_section_by_name(".symtab").iter_symbols():
            found.setdefault(entry.name, (int(entry["st_value"]), int(entry["st_size"])))
    return found


def compiler() -> Optional[str]:
    """Return the path of the compiler; None when it is not installed."""
    return shutil.which("arm-none-eabi-gcc")


def build(name: str, out: str) -> None:
    """Build a test program for the Cortex-M33; a Cortex-M7 runs it too.

    :param out: Path of the ELF file to write.
    """
    build_for("cortex-m33", "fpv5-sp-d16", name, out)


def build_for(core: str, floating_point: str, name: str, out: str, script: str = "link.ld") -> None:
    """Build a test program.

    :param core: Which processor, as the compiler calls it.
    :param floating_point: Which floating-point unit.
    :param out: Path of the ELF file to write.
    :param script: What says where it is put.
    """
    sources = ["start.c", name + ".c"] + [path.name for path in [FOLDER / (name + ".S")] if path.exists()]
    # Told twice: the compiler does not pass it on to the assembler.
    prefixes = [option % FOLDER for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    flags = [flag % core if "%s" in flag else flag for flag in _FLAGS]
    options = [option % floating_point if "%s" in option else option for option in PROGRAMS[name]]
    command = [compiler() or "arm-none-eabi-gcc", *flags, "-T", script, *prefixes, *options, *sources, "-o", out]
    subprocess.run(command, cwd=FOLDER, check=True)


if __name__ == "__main__":
    for program in PROGRAMS:
        build(program, elf(program))
        Path(elf(program)).chmod(0o644)
