"""The programs that recovery is measured on, by name or by path.

There are our own set, the field's, and any other ELF file for a simulated board.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from tests.firmware.field import build as field
from tests.firmware.recovery import build as own


def elf(program: str) -> str:
    """Return the path of a program's ELF file."""
    if program in field.PROGRAMS:
        return field.elf(program)
    return own.elf(program) if program in own.PROGRAMS else program


def board_of(program: str) -> Optional[str]:
    """Return a program's own board; None if any will do."""
    return field.board_of(program) if program in field.PROGRAMS else None


def deep_of(program: str) -> Optional[str]:
    """Return the function where a deep halt is, or None."""
    name = program.partition("-")[0]
    if program in field.PROGRAMS:
        return field.SOURCES[name].deep
    return own.DEEP[name] if program in own.PROGRAMS else None
