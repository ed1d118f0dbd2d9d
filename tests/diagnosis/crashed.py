"""Small programs that crash, built and run for one test each."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Tuple

import pytest

import gdb_etm
from tests.firmware.build import compiler
from tests.firmware.faulty.build import FOLDER

BOARD = FOLDER / "board"
OPTIONS = "-mcpu=cortex-m33 -mthumb -g -O1 -ffreestanding -nostdlib -nostartfiles -Wl,--no-warn-rwx-segments".split()
SECONDS = 20


def built(folder: Path, source: str, flags: Tuple[str, ...] = ()) -> Path:
    """Build a program for the m33.

    :param folder: Where it is built.
    :param source: It, in C; ``lib.h`` and ``chip.h`` of the faulty programs' board are found.
    :param flags: More options of the compiler.
    """
    gcc = compiler()
    if gcc is None:
        pytest.skip("no arm-none-eabi-gcc")
    (folder / "crash.c").write_text(source)
    elf = folder / "crash.elf"
    sources = [str(folder / "crash.c"), *(str(BOARD / name) for name in ("start.c", "system.c", "lib.c"))]
    command = [gcc, *OPTIONS, *flags, "-I", str(BOARD), "-T", str(BOARD / "link.ld"), *sources, "-lgcc", "-o", str(elf)]
    subprocess.run(command, check=True)
    return elf


def fault_of(
    folder: Path,
    source: str,
    option: Tuple[str, ...] = (),
    more: Tuple[str, ...] = (),
    flags: Tuple[str, ...] = (),
) -> str:
    """Say what ``etm fault`` says of a program.

    The other parameters are those of :func:`built`.

    :param option: Of the board, such as ``board.write_buffer=1``.
    :param more: Commands, what they say is said too.
    """
    with gdb_etm.connect("board:m33", elf=built(folder, source, flags), option=option) as session:
        session.start()
        session.run(SECONDS)
        return "\n".join(line for command in ("fault", *more) for line in session.command(command))
