"""Property test: recovered values of random programs on Unicorn."""

from __future__ import annotations

import random
from typing import List

import pytest

from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Fact, Tier
from tests.recovery.small import DEVICE, NAMES, RAM, Ran, run, wrong

PLAIN = (
    "add {d}, {a}, {b}", "adds {d}, {a}, #{i}", "sub {d}, {a}, {b}", "subs {d}, {a}, #{i}", "rsb {d}, {a}, #{i}",
    "and {d}, {a}, {b}", "orr {d}, {a}, {b}", "eor {d}, {a}, {b}", "bic {d}, {a}, #{i}", "orn {d}, {a}, #{i}",
    "mvn {d}, {a}", "lsl {d}, {a}, #{s}", "lsr {d}, {a}, #{s}", "asr {d}, {a}, #{s}", "ror {d}, {a}, #{s}",
    "lsl {d}, {a}, {b}", "lsrs {d}, {a}, {b}", "asrs {d}, {a}, {b}", "rors {d}, {a}, {b}",
    "uxtb {d}, {a}", "sxth {d}, {a}", "rev {d}, {a}", "rev16 {d}, {a}", "rbit {d}, {a}", "clz {d}, {a}",
    "mul {d}, {a}, {b}", "mla {d}, {a}, {b}, {c}", "mls {d}, {a}, {b}, {c}", "umull {d}, r5, {a}, {b}",
    "udiv {d}, {a}, {b}", "sdiv {d}, {a}, {b}", "ubfx {d}, {a}, #{n}, #{w}", "sbfx {d}, {a}, #{n}, #{w}",
    "bfi {d}, {a}, #{n}, #{w}", "bfc {d}, #{n}, #{w}", "movs {d}, #{i}", "movw {d}, #{i}", "movt {d}, #{i}",
    "adcs {d}, {a}, {b}", "sbcs {d}, {a}, {b}", "adds {d}, {a}, {b}", "subs {d}, {a}, {b}", "mov {d}, {a}",
    "cmp {a}, {b}", "cmp {a}, #{i}", "tst {a}, {b}", "cmn {a}, {b}", "ands {d}, {a}, {b}", "uadd8 {d}, {a}, {b}",
    "ssat {d}, #8, {a}", "ldr {d}, =0x{x:x}",
)  # fmt: skip
MEMORY = (
    "ldr {d}, [r6, #{o}]", "ldrb {d}, [r6, #{o}]", "ldrsh {d}, [r6, #{o}]", "str {a}, [r6, #{o}]",
    "strb {a}, [r6, #{o}]", "strh {a}, [r6, #{o}]", "ldrd {d}, r5, [r6, #{o}]", "ldr {d}, [r7]",
    "and r4, {a}, #0x3c\n str {b}, [r6, r4]", "and r4, {a}, #0x1f\n ldrb {d}, [r6, r4]",
    "push {{{a}, {b}}}\n pop {{r4, r5}}", "push {{r0-r3}}\n ldr {d}, [sp, #4]\n add sp, #16",
    "uxtb r4, {a}\n strb {b}, [r6, r4]", "str {a}, [r6, #{o}]!\n subs r6, #{o}", "bl f",
    "ldr r5, [r6, #64]\n and r5, #0x1c\n add r5, r6\n str {b}, [r5, #32]",
)  # fmt: skip
CONDITIONS = ("eq", "ne", "hi", "ls", "ge", "lt", "gt", "le", "mi", "pl", "cs", "cc", "vs", "vc")
OPPOSITE = dict(zip(CONDITIONS, ("ne", "eq", "ls", "hi", "lt", "ge", "le", "gt", "pl", "mi", "cc", "cs", "vc", "vs")))
FUNCTION = "\n b end\nf:\n push {r4, r5, lr}\n subs r4, r0, r1\n str r4, [r6, #20]\n movs r5, #3\n pop {r4, r5, pc}\n"


def filled(chance: random.Random, form: str) -> str:
    """Put random operands into an instruction."""
    a, b, c, d = [chance.choice(("r0", "r1", "r2", "r3")) for _ in range(4)]
    n = chance.randrange(31)
    values = {"i": chance.randrange(256), "s": chance.randrange(1, 31), "n": n, "w": chance.randrange(1, 32 - n)}
    return " " + form.format(a=a, b=b, c=c, d=d, o=4 * chance.randrange(16), x=chance.getrandbits(32), **values)


def program(chance: random.Random) -> str:
    """Write a program that ends."""
    lines: List[str] = [" ldr r6, =0x%x" % RAM, " ldr r7, =0x%x" % DEVICE]
    for index in range(chance.randrange(20, 60)):
        kind = chance.random()
        if kind < 0.5:
            lines.append(filled(chance, chance.choice(PLAIN)))
        elif kind < 0.8:
            lines.append(filled(chance, chance.choice(MEMORY)))
        elif kind < 0.9:
            condition = chance.choice(CONDITIONS)
            both = chance.random() < 0.5
            lines.append(filled(chance, "cmp {a}, {b}"))
            lines.append(" it%s %s" % ("e" if both else "", condition))
            lines.append(" mov%s r0, r1" % condition if both else " add%s r2, r2, #3" % condition)
            lines += [" add%s r0, r3, #1" % OPPOSITE[condition]] if both else []
        else:
            lines.append(filled(chance, "cmp {a}, #{i}"))
            lines.append(" b%s 1f" % chance.choice(CONDITIONS))
            lines += [filled(chance, chance.choice(PLAIN)) for _ in range(3)]
            lines.append("1:")
    return "\n".join(lines) + FUNCTION


def ran(seed: int) -> Ran:
    chance = random.Random(seed)
    small = {"r%d" % number: chance.choice((chance.randrange(64), chance.getrandbits(32))) for number in range(4)}
    return run(program(chance), small, seed=seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(40))
def test_no_value_is_wrong(seed: int) -> None:
    found = ran(seed)
    for recovery in (found.recovery(), found.recovery(begin=True), found.recovery(begin=True, end=False)):
        assert not wrong(found, recovery)
        assert not [one for one in recovery.findings if one.tier is Tier.EXACT]


@pytest.mark.parametrize("seed", range(100, 110))
def test_no_model_contradicts_the_truth(seed: int) -> None:
    found = ran(seed)
    facts = [Fact(number, name, one[name]) for number, one in enumerate(found.before, 1) for name in NAMES]
    recovery = Recovery(found.history, found.end, found.begin, Rules(limit=Tier.EXACT), facts)
    recovery.solve()
    assert not recovery.findings
    assert not wrong(found, recovery)
