"""Worked by hand, and on Unicorn: stores that turn out to miss."""

from __future__ import annotations

from typing import Sequence

import pytest

from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.solve import suppositions
from gdb_etm.recovery.values import Tier
from tests.recovery.small import CODE, DEVICE, RAM, Ran, run, wrong

# A word with a pointer, and what it points to.
POINTER, OBJECT, OTHER = RAM + 0x40, RAM + 0x80, RAM + 0xC0
# The store may have overwritten the pointer that says where it went.
THROUGH = (
    """
    ldr r3, =0x%x
    ldr r1, [r3]
    str r2, [r1]
    %%s
    movs r1, #0
    movs r2, #0
"""
    % POINTER
)
# A walk from node to node that writes each.
WALK = (
    """
    ldr r3, =0x%x
    ldr r1, [r3]
walk:
    str r2, [r1, #4]
    ldr r1, [r1]
    cmp r1, #0
    bne walk
    movs r2, #0
"""
    % POINTER
)
NODES = (OBJECT, OBJECT + 0x20, OBJECT + 0x10)
LIST = {POINTER: NODES[0], NODES[0]: NODES[1], NODES[1]: NODES[2], NODES[2]: 0}
# The node after the first few is taken out, counted, and put in front.
MOVE = """
    ldr r1, [r0]
    %s
    mov r4, r1
    ldr r1, [r1]
    ldr r5, [r1]
    str r5, [r4]
    ldr r6, [r0]
    str r6, [r1]
    str r1, [r0]
    ldr r7, [r1, #4]
    adds r7, #1
    str r7, [r1, #4]
"""
NEXT = "ldr r1, [r1]\n"


def assumed(done: Ran, limit: Tier = Tier.ASSUMED) -> Recovery:
    return done.recovery(Rules(limit=limit))


def test_a_pointer_is_known_that_its_own_store_hides() -> None:
    done = run(THROUGH % "nop", {"r2": 7}, {POINTER: OBJECT})
    recovery = assumed(done)
    assert recovery.register(3, "r1")[:2] == (OBJECT, Tier.ASSUMED)
    said = "loaded at #2, still in RAM at the halt, which no store turns out to hit if all are taken to miss"
    assert [step.text for step in recovery.why(3, "r1")] == [said]
    # What it wrote is known by that.
    assert recovery.register(1, "r2")[:2] == (7, Tier.ASSUMED)
    assert not wrong(done, recovery)


def test_many_that_hit_do_not_hide_the_one_that_misses() -> None:
    # The first pointers point to their own words; only what the last one's store wrote is known nowhere else.
    hits = 6
    loads = ["ldr r1, [r3, #%d]\n str %s, [r1]" % (4 * at, "r2" if at < hits else "r4") for at in range(hits + 1)]
    source = "ldr r3, =0x%x\n%s\n movs r1, #0\n movs r4, #0" % (POINTER, "\n".join(loads))
    memory = {POINTER + 4 * at: POINTER + 4 * at for at in range(hits)}
    done = run(source, {"r2": OTHER, "r4": 9}, {**memory, POINTER + 4 * hits: OBJECT, OTHER: 5})
    recovery = assumed(done)
    assert recovery.register(3 + 2 * hits, "r1")[:2] == (OBJECT, Tier.ASSUMED)
    assert recovery.register(3, "r1").value != OTHER
    assert not wrong(done, recovery)


@pytest.mark.pure
def test_the_newest_instructions_do_not_wait_for_older_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where the first stores went nobody knows, and that they missed what is loaded then contradicts the branch.
    older = """
    movs r0, #1
    str r0, [r6]
    movs r0, #2
again:
    ldr r1, [r5]
    str r0, [r1]
    subs r4, #1
    bne again
    ldr r1, [r6]
    cmp r1, #2
    bne end
    """
    registers = {"r2": 7, "r4": 400, "r5": DEVICE, "r6": OTHER}
    done = run(older + THROUGH % "nop", registers, {POINTER: OBJECT, DEVICE: OTHER})
    at = len(done.before) - 3
    for size, expected in ((300, OBJECT), (3000, None)):
        monkeypatch.setattr(suppositions, "_AT_A_TIME", size)
        recovery = assumed(done)
        assert recovery.register(at, "r1").value == expected
        assert not wrong(done, recovery)


def test_it_is_assumed_at_best() -> None:
    done = run(THROUGH % "nop", {"r2": 7}, {POINTER: OBJECT})
    assert assumed(done, Tier.EXACT).register(3, "r1").value is None


def test_a_list_is_walked() -> None:
    done = run(WALK, {"r2": 7}, LIST)
    recovery = assumed(done)
    stores = [number for number in range(1, len(done.history)) if done.before[number - 1]["pc"] == done.before[2]["pc"]]
    assert [recovery.register(number, "r1").value for number in stores] == list(NODES)
    assert not wrong(done, recovery)


def test_a_store_that_hits_is_not_supposed_to_miss() -> None:
    # The register says what was stored, and memory that it is there.
    done = run(THROUGH % "mov r5, r2", {"r2": OTHER}, {POINTER: POINTER})
    recovery = assumed(done)
    assert recovery.register(3, "r1").value != OTHER
    assert not wrong(done, recovery)


def test_no_store_turns_out_to_be_to_constants() -> None:
    done = run(THROUGH % "nop", {"r2": CODE}, {POINTER: POINTER})
    recovery = assumed(done)
    # So it hit what it was supposed to miss.
    assert recovery.register(3, "r1")[:2] == (POINTER, Tier.ASSUMED)
    assert not wrong(done, recovery)


@pytest.mark.parametrize("target", [POINTER, OBJECT])
def test_a_store_whose_address_does_not_come_out_hides_the_pointer(target: int) -> None:
    source = THROUGH % ("ldr r4, =0x%x\n ldr r4, [r4]\n str r2, [r4]\n movs r4, #0" % DEVICE)
    done = run(source, {"r2": OTHER}, {POINTER: OBJECT, DEVICE: target})
    recovery = assumed(done)
    assert recovery.register(3, "r1").value is None
    assert not wrong(done, recovery)


def test_what_comes_out_in_the_way_of_a_link_ends_it() -> None:
    # The second store went through the first pointer's word, by what the third pointer's says.
    source = THROUGH % ("ldr r4, =0x%x\n ldr r4, [r4]\n str r2, [r4]\n movs r4, #0" % (POINTER + 4))
    done = run(source, {"r2": OTHER}, {POINTER: OBJECT, POINTER + 4: POINTER, OTHER: 5})
    recovery = assumed(done)
    assert recovery.register(3, "r1").value is None
    assert recovery.register(6, "r4").value == POINTER
    assert not wrong(done, recovery)


def test_a_link_that_a_store_is_known_to_hit_falls_alone() -> None:
    # Read twice, the pointer is the same, or it would not have led to what r0 was compared with.  Then it is
    # overwritten through a pointer.  So its last value and the first contradict each other, over two links.
    source = """
        ldr r3, =0x%x
        ldr r1, [r3]
        cmp r1, r8
        bne done
        str r2, [r0]
        ldr r4, [r3]
        ldr r7, [r4]
        cmp r7, r0
        bne done
        ldr r6, [r3, #4]
        str r5, [r6]
    done:
        movs r0, #0
        movs r1, #0
        movs r4, #0
        movs r7, #0
        movs r6, #0
        movs r5, #0
        movs r2, #0
    """
    registers = {"r0": OTHER, "r2": 7, "r5": DEVICE, "r8": OBJECT}
    done = run(source % POINTER, registers, {POINTER: OBJECT, POINTER + 4: POINTER, OBJECT: OTHER})
    recovery = assumed(done)
    assert recovery.register(7, "r4")[:2] == (OBJECT, Tier.ASSUMED)
    assert recovery.register(5, "r0")[:2] == (OTHER, Tier.ASSUMED)
    assert not wrong(done, recovery)


@pytest.mark.parametrize("moves", [(0, 2, 1), (2, 0, 2), (1, 1, 1), (2, 1, 0, 2)])
def test_a_list_whose_nodes_come_to_the_front_is_walked(moves: Sequence[int]) -> None:
    # Supposed all at once, each store misses what earlier moves have read, and the contradictions blame them all.  That
    # those of the last move miss says where they went; they are in the way of older ones then.
    nodes = [OBJECT + 0x10 * at for at in range(4)]
    memory = {POINTER: nodes[0], **dict(zip(nodes, (*nodes[1:], 0))), **{node + 4: node & 0xFF for node in nodes}}
    clear = "\n".join("movs r%d, #0" % number for number in (1, 4, 5, 6, 7))
    done = run("ldr r0, =0x%x\n" % POINTER + "".join(MOVE % (NEXT * skipped) for skipped in moves) + clear, {}, memory)
    recovery = assumed(done)
    numbers = range(3, len(done.history) + 1)
    assert [recovery.register(number, "r1").value for number in numbers] == [
        done.before[number - 1]["r1"] for number in numbers
    ]
    assert not wrong(done, recovery)
