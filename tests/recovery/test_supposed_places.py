"""Worked by hand, and on Unicorn: where pointers turn out to lead."""

from __future__ import annotations

from typing import Mapping

import pytest

from gdb_etm.recovery.rules import Rules
from tests.recovery.small import DEVICE, RAM, run, wrong

POINTER, OBJECT, TARGET = RAM + 0x40, RAM + 0x80, RAM + 0x100
# The pointer is known if all stores miss it, and then one of four places where the words are.
SOURCE = """
    ldr r3, =0x%x
    ldr r1, [r3]
    str r2, [r1]
    ldr r4, =0x%x
    ldr r4, [r4]
    ands r4, #0x18
    ldr r1, [r1, #4]
    adds r4, r1
%s
    movs r1, #0
    movs r2, #0
    movs r4, #0
""" % (
    POINTER,
    DEVICE,
    "\n".join("    str r7, [r4, #%d]" % (0x20 * at) for at in range(8)),
)
FIRST = 9
WORDS = {POINTER: OBJECT, OBJECT + 4: TARGET}


def known(registers: Mapping[str, int], elsewhere: Mapping[int, int]) -> bool:
    """Tell whether it is known where the words were stored."""
    done = run(SOURCE, {"r2": 7, **registers}, {**WORDS, DEVICE: 0x10, **elsewhere})
    recovery = done.recovery(Rules())
    assert not wrong(done, recovery)
    value = recovery.register(FIRST, "r4").value
    assert value in (None, TARGET + 0x10)
    if value is not None:
        assert "no other address fits" in " ".join([step.text for step in recovery.why(FIRST, "r4")])
    return value is not None


def test_one_place_alone_fits() -> None:
    assert known({"r7": 0x12345678}, {})


@pytest.mark.parametrize("other", [8, 24])
def test_of_two_places_none_is_told(other: int) -> None:
    assert not known({"r7": 0x12345678}, {TARGET + other + 0x20 * at: 0x12345678 for at in range(8)})
