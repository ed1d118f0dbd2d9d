"""Programs that resemble the field's firmware, as built ELF files.

Kernels, an interpreter, a compressor, a file system and the like, in several translation units each.  The builds are
spread over levels of optimisation, cores, and both ways to pass floating-point numbers, as BUILDS says.
``python -m tests.firmware.field.build`` builds them anew.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent


class Source(NamedTuple):
    """What a program is built from."""

    files: Tuple[str, ...]
    # A function that others call, or a handler does: where it may well stop with a fault.
    deep: str


class Target(NamedTuple):
    """What a program is built for."""

    board: str
    # -mfloat-abi.
    floats: str


_OS = ("os/threads.c", "os/sync.c", "os/timers.c", "os/port.c", "heap.c")
_SVC = ("svc/threads.c", "svc/objects.c", "svc/port.c")
SOURCES: Dict[str, Source] = {
    "station": Source(("station.c", *_OS), "filter"),
    "gateway": Source(("gateway.c", *_SVC), "fold"),
    "plant": Source(("plant.c", "exec/exec.c"), "regulate"),
    "logger": Source(("logger.c",), "longest_match"),
    "json": Source(("json.c", "heap.c"), "write_value"),
    "script": Source(("script.c", "heap.c"), "heap_allocate"),
    "files": Source(("files.c",), "buffer_of"),
    "channel": Source(("channel.c",), "crc32"),
}
BUILDS: Dict[str, Target] = {
    "station-O2": Target("m33", "hard"),
    "station-Og": Target("m7", "hard"),
    "station-Os": Target("m4", "soft"),
    "station-O0": Target("m33", "soft"),
    "gateway-O2": Target("m33", "hard"),
    "gateway-Os": Target("m33", "soft"),
    "gateway-flto": Target("m7", "hard"),
    "gateway-Og": Target("m4", "hard"),
    "plant-O2": Target("m7", "soft"),
    "plant-O0": Target("m4", "soft"),
    "plant-Os": Target("m33", "soft"),
    "logger-O2": Target("m4", "soft"),
    "logger-Og": Target("m33", "soft"),
    "logger-flto": Target("m7", "hard"),
    "json-O2": Target("m33", "soft"),
    "json-O0": Target("m7", "soft"),
    "json-flto": Target("m4", "hard"),
    "script-O2": Target("m7", "hard"),
    "script-Os": Target("m4", "hard"),
    "script-Og": Target("m33", "soft"),
    "files-O2": Target("m33", "hard"),
    "files-Os": Target("m7", "soft"),
    "files-Og": Target("m4", "soft"),
    "channel-O2": Target("m4", "hard"),
    "channel-O0": Target("m33", "hard"),
    "channel-Os": Target("m7", "hard"),
}
PROGRAMS = tuple(BUILDS)
LEVELS: Dict[str, Tuple[str, ...]] = {
    **{level: ("-" + level,) for level in ("O0", "Og", "Os", "O2")},
    "flto": ("-O2", "-flto"),
}
_CORES: Dict[str, Tuple[str, str]] = {
    "m33": ("cortex-m33", "fpv5-sp-d16"),
    "m7": ("cortex-m7", "fpv5-sp-d16"),
    "m4": ("cortex-m4", "fpv4-sp-d16"),
    "m0": ("cortex-m0plus", ""),
}
_FLAGS = (
    "-mthumb -std=gnu11 -g -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns "
    "-ffunction-sections -fdata-sections -Wl,--gc-sections -nostdlib -nostartfiles -T ../link.ld "
    "-Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def elf(program: str) -> str:
    """Return the path of a program's ELF file.

    :param program: One of PROGRAMS.
    """
    return str(FOLDER / (program + ".elf"))


def board_of(program: str) -> str:
    """Return the board that a program was built for.

    :param program: One of PROGRAMS.
    """
    return BUILDS[program].board


def options_of(board: str, floats: str, level: str) -> List[str]:
    """Return the compiler's options for a core and a level.

    :param board: One of ``m33``, ``m7``, ``m4`` and ``m0``, which has no floating-point unit.
    :param floats: ``soft`` or ``hard``.
    :param level: One of LEVELS.
    """
    cpu, unit = _CORES[board]
    return ["-mcpu=" + cpu, "-mfloat-abi=" + floats, *(["-mfpu=" + unit] if floats == "hard" else []), *LEVELS[level]]


def build(program: str, out: str) -> None:
    """Build a program.

    :param out: Path of the ELF file to write.
    """
    name, _, level = program.partition("-")
    files: Sequence[str] = ("../start.c", "lib.c", *SOURCES[name].files)
    prefixes = [option % FOLDER for option in ("-ffile-prefix-map=%s=.", "-Wa,--debug-prefix-map=%s=.")]
    options = [*_FLAGS, *prefixes, *options_of(*BUILDS[program], level)]
    command = [compiler() or "arm-none-eabi-gcc", *options, *files, "-lgcc", "-o", out]
    subprocess.run(command, cwd=FOLDER, check=True)


if __name__ == "__main__":
    for each in PROGRAMS:
        build(each, elf(each))
        Path(elf(each)).chmod(0o644)
