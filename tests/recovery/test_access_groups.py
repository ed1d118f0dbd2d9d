"""Worked by hand, and on Unicorn: stores miss what other groups access."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_etm.program.objects import Objects
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.recovery.small import DEVICE, RAM, Ran, run, wrong

# A word with a pointer, what it points to, and what the loop writes first.
POINTER, OBJECT, OTHER = RAM + 0x40, RAM + 0x80, RAM + 0xC0
# The pointer is read, and its own store hides it; what is loaded through it says that it leads elsewhere.  One
# instruction writes twice: where it is told to, and then to where a device says.
SOURCE = """
    %s
    str r2, [r1]
    ldr r8, [r1, #4]
    ldr r5, =0x%x
    movs r6, #2
    movs r7, #0
again:
    %s
    ldr r4, =0x%x
    ldr %s, [r4]
    subs r6, #1
    bne again
    movs r1, #0
    movs r2, #0
    movs r4, #0
    movs r5, #0
    movs r7, #0
"""
READ = (
    """
    ldr r3, =0x%x
    movs r6, #%%d
read:
    ldr r1, [r3]
    subs r6, #1
    bne read
"""
    % POINTER
)
OFTEN = READ % 40
# The same instruction reads what the store writes.
TWICE = """
    ldr r3, =0x%x
    movs r6, #2
read:
    ldr r1, [r3]
    ldr r3, =0x%x
    subs r6, #1
    bne read
""" % (
    OTHER,
    POINTER,
)


def known(done: Ran, *variables: Tuple[int, int]) -> bool:
    """Tell whether the pointer is known when its store runs.

    :param variables: Where variables begin and end.
    """
    recovery = done.recovery(Rules(limit=Tier.ASSUMED, objects=Objects(variables, [], [])))
    number = next(at for at, one in enumerate(done.before, 1) if one["r1"] == OBJECT)
    value = recovery.register(number, "r1").value
    assert not wrong(done, recovery)
    assert value in (None, OBJECT)
    return value is not None


def test_it_misses_what_its_group_does_not_access() -> None:
    source = SOURCE % (OFTEN, OTHER, "str r6, [r5]", DEVICE, "r5")
    assert known(run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: OTHER + 0x20}))


@pytest.mark.parametrize("target", [OTHER + 0x20, POINTER])
@pytest.mark.parametrize("times", [1, 31])
def test_it_may_hit_what_was_accessed_a_few_times(target: int, times: int) -> None:
    source = SOURCE % (READ % times, OTHER, "str r6, [r5]", DEVICE, "r5")
    assert not known(run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: target}))


def test_it_may_hit_what_is_on_the_stack() -> None:
    source = SOURCE % (OFTEN.replace("[r3]", "[sp]"), OTHER, "str r6, [r5]", DEVICE, "r5")
    assert not known(run(source, {"r2": 7, "sp": POINTER}, {POINTER: OBJECT, DEVICE: OTHER + 0x20}))


@pytest.mark.parametrize("target", [OTHER + 0x20, POINTER])
def test_it_may_hit_what_its_group_accesses(target: int) -> None:
    source = SOURCE % (TWICE, OTHER, "str r6, [r5]", DEVICE, "r5")
    assert not known(run(source, {"r2": 7}, {POINTER: OBJECT, OTHER: OTHER, DEVICE: target}))


@pytest.mark.parametrize("size, expected", [(4096, False), (4100, True)])
def test_a_variable_is_of_one_group_unless_it_is_large(size: int, expected: bool) -> None:
    source = SOURCE % (OFTEN, OTHER, "str r6, [r5]", DEVICE, "r5")
    done = run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: OTHER + 0x20})
    assert known(done, (POINTER, POINTER + size)) == expected


@pytest.mark.parametrize("index", [8, (POINTER - OTHER & 0xFFFFFFFF) >> 2])
def test_an_index_may_lead_anywhere(index: int) -> None:
    source = SOURCE % (OFTEN, OTHER, "str r6, [r5, r7, lsl #2]", DEVICE, "r7")
    assert not known(run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: index}))


@pytest.mark.parametrize("target", [OTHER + 0x20, POINTER])
def test_an_instruction_that_was_seen_nowhere_else_may_hit_anything(target: int) -> None:
    source = SOURCE % (OFTEN, OTHER, "ldr r4, =0x%x\n ldr r5, [r4]\n str r6, [r5]" % DEVICE, DEVICE, "r5")
    assert not known(run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: target}))


@pytest.mark.parametrize("target", [OTHER + 0x20, POINTER])
@pytest.mark.parametrize("times, may_hit", [(2, False), (3, True)])
def test_an_instruction_that_was_mostly_seen_nowhere_may_hit_anything(target: int, times: int, may_hit: bool) -> None:
    # It writes where it is told to once, and then to where a device says.
    loop = SOURCE.replace("movs r6, #2\n    movs r7", "movs r6, #%d\n    movs r7" % times)
    source = loop % (OFTEN, OTHER, "str r6, [r5]", DEVICE, "r5")
    done = run(source, {"r2": 7}, {POINTER: OBJECT, DEVICE: OTHER + 0x20 if not may_hit else target})
    assert known(done) == (not may_hit)
