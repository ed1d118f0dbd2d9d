"""The A32 instructions (A-profile ARM, F4.1); the condition field is left to the caller."""

from __future__ import annotations

from gdb_etm.recovery.lifting.builder import EVERYTHING, Builder


def lift_a32(build: Builder, word: int) -> None:
    """Lift an A32 instruction.

    :param word: The instruction word.
    """
    build.lose(EVERYTHING)
    build.clobber()
