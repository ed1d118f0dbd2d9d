"""Vectors worked by hand: registers of slots, and the core's state."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.recovery.lift.operations import (
    CONTROL,
    FLOAT_OPS,
    FP_MODE,
    FPCA,
    FPSCR,
    GE,
    HANDLER,
    MASK,
    PRIMASK,
    SP,
    C,
    N,
    Op,
    V,
    Z,
    slot_values,
)
from gdb_etm.recovery.ssa.features import uses_floats, uses_process_stack


def program(*halves: int) -> Program:
    return Program([MemoryImage(0x100, b"".join(half.to_bytes(2, "little") for half in halves), "test")])


def test_a_core_register_is_told_whole() -> None:
    assert slot_values("sp", 0x20001000) == ((SP, MASK, 0x20001000),)
    assert slot_values("pc", 0x100) == ()


def test_status() -> None:
    flags = ((N, 1, 1), (Z, 1, 0), (C, 1, 1), (V, 1, 0), (GE, 0xF, 5))
    assert slot_values("xpsr", 0xA105000F) == flags + ((HANDLER, 1, 1),)
    assert slot_values("xpsr", 0xA1050000) == flags + ((HANDLER, 1, 0),)
    assert slot_values("cpsr", 0xA00501DF) == flags


def test_of_the_others_what_is_meant() -> None:
    assert slot_values("control", 0xE) == ((CONTROL, 3, 2), (FPCA, 1, 1))
    assert slot_values("fpscr", 0x6140009F) == ((FPSCR, 0xF0000000, 0x60000000), (FP_MODE, MASK, 5))
    assert slot_values("primask", 0xFF01) == ((PRIMASK, 1, 1),)


@pytest.mark.parametrize(
    "halves, expected",
    [
        ((0xF380, 0x8809), True),  # msr psp, r0
        ((0xF38E, 0x8814), True),  # msr control, lr
        ((0xBF00, 0xF381, 0x8889), True),  # msr psp_ns, r1
        ((0xF380, 0x8808), False),  # msr msp, r0
        ((0xF3EF, 0x8009), False),  # mrs r0, psp
        ((0x8000, 0x09F3, 0x0088), False),  # the same bytes at an odd address
    ],
)
def test_whether_a_program_writes_psp(halves: Tuple[int, ...], expected: bool) -> None:
    assert uses_process_stack(program(*halves)) is expected


@pytest.mark.parametrize(
    "halves, expected",
    [
        ((0xEE30, 0x0A20), True),  # vadd.f32 s0, s0, s1
        ((0xED2D, 0x8B04), True),  # vpush {d8, d9}
        ((0xFE00, 0x0A81), True),  # vseleq.f32 s0, s1, s2
        ((0xEE10, 0x0F10), False),  # mrc p15
        ((0xE92D, 0x4FF0), False),  # push.w
    ],
)
def test_whether_a_program_has_floating_point(halves: Tuple[int, ...], expected: bool) -> None:
    assert uses_floats(program(*halves)) is expected


def test_operations_are_numbered_without_gaps() -> None:
    numbers = [value for name, value in vars(Op).items() if name.isupper()]
    assert numbers == list(range(len(numbers))) and FLOAT_OPS[-1] == numbers[-1]
