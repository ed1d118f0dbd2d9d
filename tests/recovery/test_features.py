"""Vectors worked by hand: what code and registers show of a core."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

import pytest

from gdb_etm.capture import Core, MemoryImage
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.recovery.ssa.features import changes_security_state, features_of, has_no_security, uses_floats
from gdb_etm.recovery.values import CoreState, no_memory

START = 0x100


def program(*halves: int) -> Program:
    return Program([MemoryImage(START, b"".join(half.to_bytes(2, "little") for half in halves), "test")])


class One:
    """Call frame information of one function, from the beginning on."""

    def row(self, address: int) -> Optional[FrameRow]:
        return None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (START, START + 0x40) if START <= address < START + 0x40 else None


@pytest.mark.parametrize(
    "halves, expected",
    [
        ((0xF7FF, 0xFFEC, 0x4A05, 0x4770), False),  # bl; ldr r2, [pc, #20]; bx lr
        ((0x4770, 0x46C0, 0x4770, 0xEE30, 0x0A20), True),  # bx lr; not reached: what is there is not known
        ((0xE001, 0xFFEC, 0x4A05, 0xEE30, 0x0A20, 0x4770), True),  # b over a constant to vadd.f32
        ((0xD100, 0x4770, 0xEE30, 0x0A20, 0x4770), True),  # bne over bx lr
        ((0xBF08, 0x4770, 0xEE30, 0x0A20, 0x4770), True),  # it eq; bxeq lr: what follows is reached
        ((0xF7FF, 0xBFEC, 0x4A05, 0x4770), False),  # b.w
        ((0xE92D, 0x4FF0, 0xF7FF, 0xFFEC, 0x4A05, 0x4770), False),  # push.w before it
        ((0x4A00, 0x4770, 0xEE30, 0x0A20), False),  # ldr r2, [pc]; bx lr; the constant
        ((0x4A00, 0x4770, 0x4770, 0x4770, 0xEE30, 0x0A20), True),  # another place than that of the constant
        ((0xF8DF, 0x2004, 0x4770, 0xBF00, 0xEE30, 0x0A20), False),  # ldr.w r2, [pc, #4]
        ((0xBF00, 0x4770, 0xEE30, 0x0A20, 0xF85F, 0x2008), True),  # ldr.w r2, [pc, #-8], never reached
        ((0xE002, 0x0000, 0xEE30, 0x0A20, 0xF85F, 0x2008, 0x4770), False),  # b over the constant to it
        # tbb [pc, r0]: of the table one target alone is behind it, and within the function.
        ((0xE8DF, 0xF000, 0xEE30, 0x0A20, *[0] * 8, 0x4770), False),
        # tbb: a target behind the first entries, where vadd.f32 is.
        ((0xE8DF, 0xF000, 0x0202, 0xBF00, 0xEE30, 0x0A20, 0x4770), True),
        ((0xE8DF, 0xF010, 0xEE30, 0x0A20, 0x0004, 0xBF00, 0x4770), False),  # tbh [pc, r0, lsl #1]
        ((*[0x4770] * 31, 0xEE30, 0x0A20), False),  # over the function's end
    ],
)
def test_code_is_told_from_what_looks_like_floating_point(halves: Tuple[int, ...], expected: bool) -> None:
    assert uses_floats(program(*halves), One()) is expected


def test_where_no_function_is_told_all_that_looks_like_it_counts() -> None:
    assert uses_floats(program(0xF7FF, 0xFFEC, 0x4A05, 0x4770))


@pytest.mark.parametrize(
    "halves, expected",
    [
        ((0xE97F, 0xE97F), True),  # sg
        ((0x4774,), True),  # bxns lr
        ((0x4784,), True),  # blxns r0
        ((0x47FC,), True),
        ((0x4770, 0x4780, 0x46C0), False),  # bx lr; blx r0; nop
    ],
)
def test_whether_a_program_changes_the_security_state(halves: Tuple[int, ...], expected: bool) -> None:
    assert changes_security_state(program(*halves)) is expected


def state(**registers: int) -> CoreState:
    return CoreState(registers, no_memory)


@pytest.mark.parametrize(
    "registers, expected",
    [
        ({"msplim": 0, "psplim": 0}, True),
        ({"msplim": 0, "msplim_s": 0, "msplim_ns": 0}, False),
        ({"msplim_s": 0}, False),
        ({"msp": 0}, False),
    ],
)
def test_whether_registers_tell_of_no_security_extension(registers: Dict[str, int], expected: bool) -> None:
    assert has_no_security((None, state(**registers))) is expected


def test_what_is_known_of_exc_return() -> None:
    plain, m33 = program(0xBF00), Core("cpu_0", "Cortex-M33", {})
    assert features_of(plain, Core("cpu_0", "Cortex-M4", {}), ()).security == 0x61
    assert features_of(plain, m33, (state(msplim=0),)).security == 0x20
    unknown = features_of(plain, m33, (state(msp=0),))
    assert unknown.security is None and unknown.one_state
    assert not features_of(program(0x4784), m33, (state(msp=0),)).one_state
    assert features_of(program(0x4784), m33, (state(msplim=0),)).one_state


def test_floating_point_is_not_in_use() -> None:
    floats, m33 = program(0xEE30, 0x0A20), Core("cpu_0", "Cortex-M33", {})
    assert features_of(floats, m33, ()).fpu
    assert not features_of(floats, Core("cpu_0", "Cortex-M3", {}), ()).fpu
    assert not features_of(program(0xBF00), m33, ()).fpu
    assert features_of(program(0xBF00), m33, (), fpu=True).fpu
