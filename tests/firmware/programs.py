"""The programs that recovery is measured on, by name or by path.

There are our own set, the field's, that with libraries of C and C++, and any other ELF file for a simulated board.
"""

from __future__ import annotations

from typing import Optional

from tests.firmware.field import build as field
from tests.firmware.field.hosted import build as hosted
from tests.firmware.recovery import build as own

OWN = own.PROGRAMS
FIELD = (*field.PROGRAMS, *hosted.PROGRAMS)
# Those that damage their stack, break the calling convention, or write where they should not.
SMASHING = own.SMASHING
_TARGETS = {**field.BUILDS, **hosted.BUILDS}
_DEEP = {**own.DEEP, **hosted.DEEP, **{name: source.deep for name, source in field.SOURCES.items()}}


def elf(program: str) -> str:
    """Return the path of a program's ELF file."""
    if program in hosted.PROGRAMS:
        return hosted.elf(program)
    if program in field.PROGRAMS:
        return field.elf(program)
    return own.elf(program) if program in OWN else program


def missing(program: str) -> Optional[str]:
    """Say what a program lacks to be built, or None."""
    return hosted.missing(program) if program in hosted.PROGRAMS else None


def board_of(program: str) -> Optional[str]:
    """Return a program's own board; None if any will do."""
    return _TARGETS[program].board if program in _TARGETS else None


def deep_of(program: str) -> Optional[str]:
    """Return the function where a deep halt is, or None."""
    return _DEEP[program.partition("-")[0]] if program in OWN or program in _TARGETS else None
