"""A test program linked for the memory of AN505.

``python -m tests.firmware.an505.build`` builds it anew.
"""

from __future__ import annotations

from pathlib import Path

from tests.firmware.build import build_for

FOLDER = Path(__file__).resolve().parent
SORT = str(FOLDER / "sort.elf")


def build(out: str) -> None:
    """Build the program.

    :param out: Path of the ELF file to write.
    """
    build_for("cortex-m33", "fpv5-sp-d16", "sort", out, "an505/link.ld")


if __name__ == "__main__":
    build(SORT)
    Path(SORT).chmod(0o644)
