"""Instruction sets."""

from __future__ import annotations

from enum import IntEnum


class Isa(IntEnum):
    """Instruction set of a piece of code; the value indexes tables."""

    A32 = 0
    T32 = 1
    A64 = 2
