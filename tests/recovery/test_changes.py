"""Worked by hand, property test: what waits is looked at again."""

from __future__ import annotations

import random

import pytest

from gdb_etm.recovery.memory.may_alias import MayAlias
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.ssa.features import features_of
from gdb_etm.recovery.values import Tier
from tests.recovery.small import DEVICE, RAM, STACK, Ran, run, wrong
from tests.recovery.test_dead_stack import REGISTERS, SOURCE
from tests.recovery.test_overlaps import EXACT, SAVED, X, Y, program
from tests.recovery.test_recovery import value

Z = RAM + 0x80
# r7 is where pointers come from that nobody knows; r1, r2 and r8 are addresses.
HEAD = " ldr r7, =0x%x\n ldr r1, =0x%x\n ldr r2, =0x%x\n ldr r8, =0x%x\n" % (DEVICE, X, Y, Z)
# It is known what r0 is when the store of 5 is known to have missed, as something else is there at the end.
LATE = " str r0, [r1]\n ldr r6, [r7]\n movs r3, #5\n str r3, [r6]\n"
# What r4 was is to be known from what is left of it at the end.
KEPT, GONE = " str r4, [r8]\n", " movs r0, #0\n movs r3, #0\n movs r4, #0\n movs r5, #0\n movs r6, #0\n"


@pytest.mark.parametrize(
    "between",
    [
        # The store's index comes through memory, so that it is known late how far it goes.
        " ldrb r5, [r7]\n and r5, #0xc\n str r5, [r1]\n ldr r5, [r1]\n str r3, [r2, r5]\n",
        # One store may hit, and too many others until it is known what they store, or where.
        " ldr r6, [r7]\n" + " str r0, [r6]\n" * 6 + LATE,
        " ldr r6, [r7]\n str r2, [r6]\n" + " str r2, [r0]\n" * 6 + LATE,
        " ldr r6, [r7]\n ldrb r5, [r7]\n and r5, #0xc\n str r2, [r6]\n" + " str r2, [r0, r5]\n" * 6 + LATE,
        # More than are looked at, until it is known where they are; but for one that misses.
        " ldrb r5, [r7]\n and r5, #0xc\n str r3, [r2, r5]\n" + " str r3, [r0]\n" * 401 + LATE,
    ],
)
def test_what_is_known_late(between: str) -> None:
    ran = run(HEAD + KEPT + between + GONE, {"r0": Y, "r3": 1, "r4": 0x12345678}, {DEVICE: Y + 0x20})
    assert value(ran, 1, "r4", EXACT)[:2] == (0x12345678, Tier.EXACT)
    assert not wrong(ran, ran.recovery(EXACT))


def test_stores_that_become_known_together_are_no_barriers_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    may_hit = MayAlias.may_write
    monkeypatch.setattr(MayAlias, "may_write", lambda *given: looks.append(given) or may_hit(*given))
    offsets = range(0, 160, 4)
    forms = " str r0, [r1, #%d]\n", " ldr r3, [r1, #%d]\n"
    ran = run(HEAD + "".join([form % offset for form in forms for offset in offsets]), {"r0": 9})
    assert value(ran, len(ran.history), "r3", EXACT)[:2] == (9, Tier.EXACT)
    assert len(looks) < len(offsets)


def assert_complete(ran: Ran) -> None:
    """Check that another look at all that waits gives nothing new."""
    for limit in Tier.EXACT, Tier.ASSUMED:
        features = features_of(ran.history.program, ran.history.source.core, (None, ran.end), None, None)
        solution = Solution(ran.history, 1, len(ran.history), None, ran.end, Rules(limit=limit), features)
        domain = solution.ssa.domain
        known = list(domain.mask)
        solution.solver.memory.look_at_everything()
        solution.solver.propagation.run()
        assert domain.mask[: len(known)] == known


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_left_of_stores_that_may_hit(seed: int) -> None:
    chance = random.Random(seed)
    near = (X, X + 1, X - 2, X + 4, STACK - 4, STACK - 8, Y)
    pointers = {DEVICE + 4 * index: chance.choice(near) for index in range(16)}
    assert_complete(run(program(chance), {}, pointers, seed))


def test_nothing_is_left_of_sums_and_the_dead_stack() -> None:
    assert_complete(run(SAVED % (X, DEVICE, Y), {}, {DEVICE: Y + 0x20}))
    assert_complete(run(SOURCE % "nop", REGISTERS))
