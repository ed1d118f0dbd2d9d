"""Floating-point registers as instructions name them (Armv8-M ARM, C2.3.8; A-profile ARM, F3.1.11)."""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.recovery.lift.builder import ONE, Builder
from gdb_etm.recovery.lift.operations import FP_DEFAULT, FP_MODE, FPCA, FPSCR, S0, Op, Operand, Slot

_DOUBLE = 11

# The slots of a register: one for a single-precision register, two for a double, none for d16 to d31.
Words = Tuple[Slot, ...]


def begin(build: Builder) -> None:
    """Do what each floating-point instruction of M-profile does first (ExecuteFPCheck)."""
    if build.m_profile:
        build.set(FP_MODE, mode(build))
        build.set(FPCA, ONE if build.aspen else build.value(Op.SELECT, FPCA, ONE, build.unknown()))
        flags(build)


def flags(build: Builder) -> Operand:
    """Give FPSCR, whose flags are not known with a new context."""
    if not build.m_profile:
        return FPSCR
    found = build.value(Op.SELECT, FPCA, FPSCR, build.unknown())
    build.set(FPSCR, found)
    return found


def mode(build: Builder) -> Operand:
    """Give the mode in which an instruction computes."""
    if not build.m_profile:
        return FP_MODE
    return build.value(Op.SELECT, FPCA, FP_MODE, FP_DEFAULT if build.aspen else build.unknown())


def is_double(word: int) -> bool:
    """Check whether an instruction is for double-precision registers."""
    return word >> 8 & 0xF == _DOUBLE


def single(field: int, low: int) -> Slot:
    """Give the slot of s register ``field:low``."""
    return S0 + (field << 1 | low)


def _register(field: int, bit: int, double: bool) -> Words:
    if not double:
        return (single(field, bit),)
    return () if bit else (S0 + 2 * field, S0 + 2 * field + 1)


def destination(word: int, double: bool) -> Words:
    """Give the register of bits 22 and 15:12."""
    return _register(word >> 12 & 0xF, word >> 22 & 1, double)


def first(word: int, double: bool) -> Words:
    """Give the register of bits 7 and 19:16."""
    return _register(word >> 16 & 0xF, word >> 7 & 1, double)


def second(word: int, double: bool) -> Words:
    """Give the register of bits 5 and 3:0."""
    return _register(word & 0xF, word >> 5 & 1, double)


def words(build: Builder, slots: Words) -> List[Operand]:
    """Give the values of a register, unknown where it is no slot."""
    return list(slots) if slots else [build.unknown(), build.unknown()]
