"""Worked by hand, property tests: stores to unknown addresses.

What was true before is true afterwards; on Unicorn, where such stores hit, no recovered value is wrong.
"""

from __future__ import annotations

import random
from typing import List, Optional, Sequence, Tuple

import pytest

from gdb_etm.recovery.constraints.choice import moved
from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.overlaps import MOST, Found, Weighing, candidates, wide
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.diagnosis.test_faulty import run as faulty
from tests.firmware.faulty.verdict import judge
from tests.recovery.small import DEVICE, RAM, STACK, run, wrong
from tests.recovery.test_constraints import settle, told
from tests.recovery.test_recovery import X, texts, value

Y = RAM + 0x40
EXACT = Rules(limit=Tier.EXACT)
# An address that only the device knows.
POINTER = " ldr r6, =0x%x\n ldr r6, [r6]\n" % DEVICE
# A word is stored; then comes a store to that address, and r0 is overwritten.
KEPT = " ldr r1, =0x%x\n str r0, [r1]\n" % X + POINTER
GONE = " movs r0, #0\n movs r6, #0\n"
ONE = KEPT + " movs r3, #5\n str r3, [r6]\n" + GONE


def test_a_store_of_something_else_has_missed() -> None:
    ran = run(ONE, {"r0": 0x1234}, {DEVICE: Y})
    said = "stored at #2, still there at the end: stores to unknown addresses in between wrote something else"
    assert value(ran, 1, "r0", EXACT)[:3] == (0x1234, Tier.EXACT, said)
    assert texts(ran, 1, "r0", EXACT)[0] == said


def test_a_store_of_the_same_may_have_hit() -> None:
    assert value(run(ONE, {"r0": 5}, {DEVICE: Y}), 1, "r0", EXACT).value is None
    assert value(run(ONE, {"r0": 7}, {DEVICE: X}), 1, "r0", EXACT).value is None


def test_a_newer_store_may_hide_an_older_one() -> None:
    # No byte of what is there at the end is 0x55, but the word store has hit all the same.
    ran = run(KEPT + " movs r3, #0x55\n str r3, [r6]\n movs r4, #9\n strb r4, [r6]\n" + GONE, {}, {DEVICE: X})
    assert value(ran, 1, "r0", EXACT).value is None
    assert not wrong(ran, ran.recovery(EXACT))


def test_of_one_store_the_rest_is_as_it_was() -> None:
    # The halfword 5 would fit at X, but then the other half would not be 0x1234 shifted up.
    source = KEPT + " movs r3, #5\n strh r3, [r6]\n" + GONE
    assert value(run(source, {"r0": 0x12340005}, {DEVICE: Y}), 1, "r0", EXACT).known == 0xFFFF0000
    assert value(run(source, {"r0": 0x12340006}, {DEVICE: Y}), 1, "r0", EXACT).value == 0x12340006


def test_what_all_would_leave_alike_is_known() -> None:
    source = KEPT.replace("r0", "r2") + " uxtb r3, r0\n bic r6, #3\n str r3, [r6]\n ldr r5, [r1]\n nop\n" + GONE
    ran = run(source + " movs r5, #0\n str r5, [r1]\n movs r3, #0\n", {"r2": 0x560034}, {DEVICE: Y})
    found = value(ran, 9, "r5", EXACT)
    assert (found.value, found.known & 0xFF00FF00, found.bits & 0xFF00FF00) == (None, 0xFF00FF00, 0)


SAVED = """
    ldr r4, =0x%x
    ldr r0, =0x%x
    ldr r6, =0x%x
    ldr r2, =0x12345678
    str r2, [r6]
    bl f
    str r0, [r4]
    movs r2, #0
    ldr r5, [r6]
    movs r4, #0
    b end
f:  push {r4, lr}
    ldr r1, [r0]
    ldr r3, [r0, #4]
    uxtb r3, r3
    bic r1, #3
    str r3, [r1]
    movs r1, #0
    movs r3, #0
    pop {r4, pc}
"""


def test_a_pointer_that_was_saved_is_one_of_few() -> None:
    # f has saved r4 where its store may have hit, which wrote less than 0x100: then r4 is that.  In either case the
    # store through it misses what r6 points to; and nothing that f has written is the word that is there.
    ran = run(SAVED % (X, DEVICE, Y), {}, {DEVICE: Y + 0x20})
    recovery = ran.recovery(EXACT)
    assert recovery.memory(len(ran.history) - 2, Y, 1)[0].value == 0x78
    assert not wrong(ran, recovery)


KEEPS = (" str r2, [r1]", " str r0, [r1]", " strh r2, [r1]\n strh r0, [r1, #2]")
DATA = (" uxtb r3, r0", " mov r3, r2", " ldr r3, [r7, #68]")
STORES = (" str r3, [r6]", " strb r3, [r6]", " strh r3, [r6]", " it mi\n strmi r3, [r1]")
LOADS = (" ldr r5, [r1]", " ldr r5, [r1]\n push {r5}\n str r3, [r6]\n pop {r4}", " ldrb r5, [r1, #1]")
USES = (" cmp r5, r2\n beq 1f\n nop\n1:", " adds r5, #1", " mov r2, r5", " lsrs r5, r5, #8", " eors r2, r5")


def program(chance: random.Random) -> str:
    """Write a program with stores of unknown address near reloaded words."""
    lines = [" ldr r7, =0x%x\n ldr r1, =0x%x\n ldr r0, [r7, #64]" % (DEVICE, X)]
    lines.append(" ldr r2, =0x%x" % chance.getrandbits(32))
    for _ in range(3):
        lines.append(chance.choice(KEEPS))
        for _ in range(chance.randrange(1, 4)):
            lines.append(" ldr r6, [r7, #%d]" % (4 * chance.randrange(16)))
            lines.append(chance.choice(DATA + (" movs r3, #%d" % chance.randrange(256),)))
            lines.append(chance.choice(STORES))
        lines.append(chance.choice(LOADS))
        lines.append(chance.choice(USES))
    if chance.random() < 0.7:
        lines += [" movs r0, #0", " movs r6, #0", " movs r3, #0"]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_wrong_where_stores_hit(seed: int) -> None:
    chance = random.Random(seed)
    near = (X, X + 1, X - 1, X + 2, X - 2, X + 4, X - 4, STACK - 4, STACK - 8, Y)
    ram = {DEVICE + 4 * index: chance.choice(near) for index in range(16)}
    ran = run(program(chance), {}, ram, seed)
    for limit in (Tier.EXACT, Tier.ASSUMED):
        recovery = ran.recovery(Rules(limit=limit))
        assert not wrong(ran, recovery)
        assert not [one for one in recovery.findings if one.tier is Tier.EXACT]


def left(chance: random.Random, domain: Domain) -> List[Tuple[int, int]]:
    """Refine a relation of random stores; return variables and truth."""
    words = (0x20000034, 0x20000038, 0x34, 0x3434, 0, MASK, chance.getrandbits(32))
    wanted, shift = wide(chance.choice((15, 15, 3, 6))), chance.choice((0, 0, 0, 8, -8))
    source, data = chance.choice(words), [chance.choice(words) for _ in range(chance.randrange(4))]
    value, rest = moved(source, shift) & wanted, chance.getrandbits(32) & ~wanted
    parts: List[Tuple[int, ...]] = []
    variables: List[int] = []
    for number, word in enumerate(data):
        size, hit = chance.choice((1, 2, 4)), chance.choice((None, *range(-3, 4)))
        places = [(moved((1 << 8 * size) - 1, 8 * at) & wanted, 8 * at) for at in range(1 - size, 4)]
        for part, distance in places:
            if part and (distance == 8 * (hit or 0) or chance.random() < 0.6):
                parts.append((number, part, distance))
                if hit is not None and distance == 8 * hit:
                    value = value & ~part | moved(word, distance) & part
    first = domain.new()
    variables = [domain.new() for _ in data]
    found = domain.new()
    truth = list(zip([first, *variables, found], [source, *data, value | rest]))
    for variable, true in truth:
        told(chance, domain, variable, true)
    for variable, word in zip(variables, data):
        if chance.random() < 0.3:
            domain.merge(first, variable, (word - source) & MASK)
    newest = sorted(parts, reverse=True)
    single = int(len({number for number, _, _ in parts}) == 1)
    numbers = tuple([variables[number] for number, _, _ in newest])
    where = tuple([one for number, part, distance in newest for one in (part, distance, number)])
    relation = (ConstraintKind.MAY_ALIAS, len(newest), found, first, *numbers, wanted, shift, *where, single, 0, 1)
    settle(domain, relation)
    return truth


def test_the_truth_survives() -> None:
    for seed in range(6000):
        domain = Domain()
        for variable, true in left(random.Random(seed), domain):
            assert (true ^ domain.bits[variable]) & domain.mask[variable] == 0, seed
            low, span = domain.interval(variable)
            assert (true - low) & MASK <= span, seed


@pytest.mark.pure
def test_what_was_too_much_before_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # More stores than are weighed: each time it is as if all of them were looked at.
    weigh = Weighing.weigh
    too_many: List[bool] = []

    def checked(
        self: Weighing, found: Found, until: int, source: int, shift: int, stores: Sequence[int]
    ) -> Tuple[Optional[Constraint], int]:
        ssa = self.__dict__["_ssa"]
        known = self.__dict__["_many"].get((until, source, found.address))
        others, count = candidates(ssa, stores, found)
        result = weigh(self, found, until, source, shift, stores)
        assert result[1] == (stores[count - 1] if count else until)
        if others is not None and len(others) > MOST:
            too_many.append(known is not None)
            assert result[0] is None
        return result

    monkeypatch.setattr(Weighing, "weigh", checked)
    assert judge(faulty("widgets", "O0", "m7")).mark != "wrong"
    assert any(too_many)
