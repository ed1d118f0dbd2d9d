"""Faulty programs, built on demand into ``build/faulty``.

``programs.py`` says what each is.  In its source the comment CULPRIT marks the mistake's lines, and FAULTS the line
that faults.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from typing import List, Optional, Tuple

from tests.firmware.build import compiler
from tests.firmware.faulty.programs import PROGRAMS
from tests.firmware.field.build import options_of

FOLDER = Path(__file__).resolve().parent
BUILT = FOLDER.parents[2] / "build" / "faulty"
_FLAGS = (
    "-mthumb -g -Wall -Wextra -ffunction-sections -fdata-sections -Wl,--gc-sections -nostartfiles -T board/link.ld "
    "-Wl,--build-id=none -Wl,--no-warn-rwx-segments"
).split()
_FREESTANDING = "-ffreestanding -fno-tree-loop-distribute-patterns -nostdlib".split()
_STANDARD_CPP = "-std=gnu++17 -fno-threadsafe-statics -fno-use-cxa-atexit".split()
_CPP = [*_STANDARD_CPP, "-fno-exceptions", "-fno-rtti"]
_SHARED = FOLDER.parent / "newlib.c"


def missing(program: str = "") -> Optional[str]:
    """Say what is missing to build the programs, or None.

    :param program: One of PROGRAMS, which may need more than others.
    """
    path = compiler()
    if path is None:
        return "no arm-none-eabi-gcc"
    needed = [("libc.a", "libnewlib-arm-none-eabi")]
    if program and PROGRAMS[program].standard:
        needed.append(("libstdc++.a", "libstdc++-arm-none-eabi-newlib"))
    for library, package in needed:
        found = subprocess.run([path, "-print-file-name=" + library], stdout=subprocess.PIPE, check=True).stdout
        if not Path(found.decode().strip()).is_absolute():
            return "no " + package
    return None


def source(program: str) -> Path:
    """Return the path of a program's source file.

    :param program: One of PROGRAMS.
    """
    return FOLDER / ("%s.%s" % (program, PROGRAMS[program].language))


def marked(program: str, mark: str) -> List[Tuple[str, int]]:
    """Return the lines of a source that a comment marks.

    :param mark: ``"CULPRIT"`` or ``"FAULTS"``.
    :returns: File names and line numbers.
    """
    lines = source(program).read_text("ascii").splitlines()
    form = re.compile(r"/\* .*\b%s\b.* \*/$" % mark)
    return [(source(program).name, number) for number, line in enumerate(lines, 1) if form.search(line)]


def name_of(program: str, level: str, board: str) -> str:
    """Return the name of a build's files."""
    return "%s-%s-%s" % (program, level, board)


def _commands(program: str, level: str, board: str, out: str) -> List[List[str]]:
    faulty = PROGRAMS[program]
    gcc = compiler() or "arm-none-eabi-gcc"
    options = [*_FLAGS, "-ffile-prefix-map=%s=." % FOLDER, *options_of(board, faulty.floats, level), *faulty.options]
    options += [] if faulty.hosted else _FREESTANDING
    c = "-std=gnu11"
    own = [c] if faulty.language == "c" else _STANDARD_CPP if faulty.standard else _CPP
    sources = ["board/start.c", *(("board/system.c", "../newlib.c") if faulty.hosted else ("board/lib.c",))]
    objects = ["%s.%s.o" % (out, part) for part in ("program", *(Path(one).stem for one in sources))]
    libraries = ["-lstdc++"] if faulty.standard else []
    libraries += ["-lm"] if faulty.hosted else ["-lgcc"]
    return [
        [gcc, *options, *own, "-c", source(program).name, "-o", objects[0]],
        *([gcc, *options, c, "-c", one, "-o", made] for one, made in zip(sources, objects[1:])),
        [gcc, *options, *objects, *libraries, "-o", out],
    ]


def digest(program: str, level: str, board: str) -> str:
    """Return what changes whenever a build does."""
    found = hashlib.sha256(repr(_commands(program, level, board, "")).encode())
    for path in [source(program), _SHARED, *sorted((FOLDER / "board").iterdir())]:
        found.update(path.read_bytes())
    return found.hexdigest()


def elf(program: str, level: str, board: str, folder: Path = BUILT) -> Path:
    """Return the path of a build's ELF file; build it if needed.

    :param program: One of PROGRAMS.
    :param level: One of ``levels_of(program)``.
    :param board: ``m33``, ``m7`` or ``m4``.
    :param folder: Where it is put.
    :raises ValueError: The compiler does not take it.
    """
    path = folder / (name_of(program, level, board) + ".elf")
    note, wanted = path.with_suffix(".digest"), digest(program, level, board)
    if path.exists() and note.exists() and note.read_text("ascii") == wanted:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    for command in _commands(program, level, board, str(path)):
        done = subprocess.run(command, cwd=str(FOLDER), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise ValueError(done.stdout.decode())
    for part in folder.glob(path.name + ".*.o"):
        part.unlink()
    note.write_text(wanted, "ascii")
    return path
