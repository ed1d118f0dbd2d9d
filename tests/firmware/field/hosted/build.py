"""Programs with newlib and libstdc++, built where Debian's are installed.

Their ELF files hold the libraries' code, so they are built into ``build/field`` and nowhere kept.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, Optional

from tests.firmware.build import compiler
from tests.firmware.field.build import Target, options_of

FOLDER = Path(__file__).resolve().parent
_BUILT = FOLDER.parents[3] / "build" / "field"
_SOURCES = {"notebook": "notebook.c", "registry": "registry.cpp"}
# By program: the library, and Debian's package with it.
_LIBRARIES = {
    "notebook": ("libc.a", "libnewlib-arm-none-eabi"),
    "registry": ("libstdc++.a", "libstdc++-arm-none-eabi-newlib"),
}
# A function of ours or of the library that others call.
DEEP = {"notebook": "_malloc_r", "registry": "__cxa_throw"}
BUILDS: Dict[str, Target] = {
    "notebook-O2": Target("m33", "hard"),
    "notebook-Os": Target("m4", "soft"),
    "notebook-Og": Target("m7", "hard"),
    "registry-O2": Target("m7", "hard"),
    "registry-Os": Target("m33", "soft"),
    "registry-Og": Target("m4", "hard"),
}
PROGRAMS = tuple(BUILDS)
_FLAGS = (
    "-mthumb -g -Wall -Wextra -Werror -ffunction-sections -fdata-sections -Wl,--gc-sections -nostartfiles "
    "-T hosted.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()


def missing(program: str) -> Optional[str]:
    """Say what a program lacks to be built, or None.

    :param program: One of PROGRAMS.
    """
    path = compiler()
    if path is None:
        return "no arm-none-eabi-gcc"
    library, package = _LIBRARIES[program.partition("-")[0]]
    found = subprocess.run([path, "-print-file-name=" + library], stdout=subprocess.PIPE, check=True).stdout
    return None if Path(found.decode().strip()).is_absolute() else "no " + package


def elf(program: str) -> str:
    """Return the path of a program's ELF file; build it if needed.

    :param program: One of PROGRAMS that lacks nothing.
    """
    path = _BUILT / (program + ".elf")
    sources = [*FOLDER.glob("*.*"), FOLDER.parent / "build.py", FOLDER.parents[1] / "newlib.c"]
    if not path.exists() or path.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        _BUILT.mkdir(parents=True, exist_ok=True)
        _build(program, str(path))
    return str(path)


def _build(program: str, out: str) -> None:
    name, _, level = program.partition("-")
    gcc = compiler() or "arm-none-eabi-gcc"
    options = [*_FLAGS, *options_of(*BUILDS[program], level)]
    objects = []
    for source in ("../../start.c", "../../newlib.c", "system.c", _SOURCES[name]):
        objects.append("%s.%s.o" % (out, Path(source).stem))
        command = [gcc, *options, "-c", source, "-o", objects[-1]]
        subprocess.run(command, cwd=FOLDER, check=True)
    cxx = gcc[: -len("gcc")] + "g++" if name == "registry" else gcc
    subprocess.run([cxx, *options, *objects, "-lm", "-o", out], cwd=FOLDER, check=True)
    for path in objects:
        Path(path).unlink()
