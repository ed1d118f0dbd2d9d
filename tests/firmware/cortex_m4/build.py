"""The test programs built for a Cortex-M4, without VSEL.

``python -m tests.firmware.cortex_m4.build`` builds them anew.
"""

from __future__ import annotations

from pathlib import Path

from tests.firmware.build import PROGRAMS, build_for

FOLDER = Path(__file__).resolve().parent


def elf(name: str) -> str:
    """Return the path of a test program's ELF file.

    :param name: One of PROGRAMS.
    """
    return str(FOLDER / (name + ".elf"))


def build(name: str, out: str) -> None:
    """Build a test program.

    :param out: Path of the ELF file to write.
    """
    build_for("cortex-m4", "fpv4-sp-d16", name, out)


if __name__ == "__main__":
    for program in PROGRAMS:
        build(program, elf(program))
        Path(elf(program)).chmod(0o644)
