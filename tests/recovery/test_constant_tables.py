"""Worked by hand, property test, on Unicorn: loads from constant tables."""

from __future__ import annotations

import random

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction, Domain
from gdb_etm.recovery.constraints.tables import ConstantTable
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.recovery.small import DEVICE, Ran, run, wrong
from tests.recovery.test_constraints import settle

# What a device gave is an index; only what was loaded with it is known at the end.
SOURCE = (
    """
    ldr r0, =0x%x
    ldrb r1, [r0]
    %%s
    adr r2, table
    ldr r3, [r2, r1, lsl #2]
    movs r0, #0
    movs r1, #0
    movs r2, #0
    b end
    .balign 4
table:
    .word %%s
    .ltorg
"""
    % DEVICE
)
MASKED = "and r1, r1, #3"


def _index(done: Ran) -> int:
    # The number of the instruction after the load.
    return next(number for number, one in enumerate(done.before, 1) if number > 4 and one["r0"] == 0)


def _recovered(extra: str, table: str, index: int, limit: Tier = Tier.ASSUMED) -> object:
    done = run(SOURCE % (extra, table), {}, {DEVICE: index})
    recovery = done.recovery(Rules(limit=limit))
    assert not wrong(done, recovery)
    return recovery.register(_index(done) - 1, "r1")[:2]


def test_what_was_loaded_tells_the_index() -> None:
    assert _recovered(MASKED, "0x100, 0x2000, 0x37, 9", 2, Tier.EXACT) == (2, Tier.EXACT)


def test_what_is_there_twice_does_not() -> None:
    assert _recovered(MASKED, "0x100, 0x37, 0x37, 9", 2) == (None, Tier.UNKNOWN)


def test_an_address_beyond_the_program_is_excluded_by_assumption() -> None:
    assert _recovered("nop", "0x100, 0x2000, 0x12345678, 9", 2) == (2, Tier.ASSUMED)
    assert _recovered("nop", "0x100, 0x2000, 0x12345678, 9", 2, Tier.EXACT) == (None, Tier.UNKNOWN)


def test_what_is_loaded_right_after_the_program_is_no_end_of_it() -> None:
    # As linkers put the initial values of variables there.
    done = run(SOURCE % ("nop", "0x100, 0x2000, 0x12345678, 9"), {}, {DEVICE: 2})
    start, data = done.history.program.pieces[0]
    images = [MemoryImage(start, data, "code"), MemoryImage(start + len(data), bytes(4), "values")]
    done.history.blocks.program = Program(images)
    recovery = done.recovery()
    assert recovery.register(_index(done) - 1, "r1")[:2] == (2, Tier.ASSUMED)
    assert not wrong(done, recovery)


def test_what_all_have_in_common_is_known_of_what_was_loaded() -> None:
    source = SOURCE % (MASKED, "0x12345600, 0x12345640, 0x123456c0, 0x12345680") + "\n"
    done = run(source.replace("movs r0, #0", "movs r0, #0\n movs r3, #0"), {}, {DEVICE: 1})
    recovery = done.recovery(Rules(limit=Tier.EXACT))
    value = recovery.register(_index(done), "r3")
    assert value.known == MASK & ~0xC0 and value.bits & value.known == 0x12345600
    assert not wrong(done, recovery)


@pytest.mark.parametrize("seed", range(200))
def test_the_truth_always_remains(seed: int) -> None:
    chance = random.Random(seed)
    step = chance.choice((1, 2, 4, 8))
    values = [chance.choice((chance.getrandbits(32), chance.getrandbits(4))) for _ in range(chance.randrange(2, 40))]
    table = ConstantTable(chance.randrange(0, 1 << 16) * step, step, values, False)
    place = chance.randrange(len(values))
    domain = Domain()
    domain.tables.append(table)
    masks = [chance.getrandbits(32) & chance.getrandbits(32) for _ in range(2)]
    true = (values[place], table.addresses[place])
    variables = [domain.new(mask, mask & value) for mask, value in zip(masks, true)]
    domain.narrow(variables[1], table.base, table.addresses[-1] - table.base)
    settle(domain, (ConstraintKind.TABLE, *variables, 0))
    for variable, value in zip(variables, true):
        low, span = domain.interval(variable)
        assert not (domain.bits[variable] ^ value) & domain.mask[variable] and (value - low) & MASK <= span
    fits = [
        (value, address)
        for value, address in zip(values, table.addresses)
        if not (value ^ true[0]) & masks[0] and not (address ^ true[1]) & masks[1]
    ]
    if len(set(fits)) == 1:
        assert [domain.bits[one] for one in variables] == list(true)


def test_what_is_not_there_is_a_contradiction() -> None:
    domain = Domain()
    domain.tables.append(ConstantTable(0x100, 4, (1, 2, 3), False))
    data, address = domain.new(MASK, 4), domain.new()
    with pytest.raises(Contradiction):
        settle(domain, (ConstraintKind.TABLE, data, address, 0))
