"""Worked by hand, and on Unicorn: a few stores at a time."""

from __future__ import annotations

from typing import Dict, List, Sequence

import pytest

from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.recovery.small import CODE, RAM, Ran, run, wrong

HEAD = RAM + 0x40
FOUND = RAM + 0x200
NODES = [RAM + 0x80 + 0x20 * at for at in range(6)]
# The number of nodes to pass is in the code; the node found is taken out, put in front, counted and noted.
MOVE = """
    ldr r4, [r0]
    %s
    ldr r1, [r4]
    ldr r2, [r4, #4]
    str r2, [r1, #4]
    str r1, [r2]
    str r4, [r4]
    str r4, [r4, #4]
    ldr r3, [r0]
    ldr r2, [r3, #4]
    str r3, [r4]
    str r2, [r4, #4]
    str r4, [r2]
    str r4, [r3, #4]
    ldr r5, [r4, #8]
    adds r5, #1
    str r5, [r4, #8]
    str r4, [r6], #4
"""
NEXT = "ldr r4, [r4]\n"
CLEAR = "\n".join("movs r%d, #0" % number for number in (1, 2, 3, 4, 5))


def ring(nodes: Sequence[int]) -> Dict[int, int]:
    """Lay out a doubly linked list and its head."""
    memory = {node + 8: 0x100 + index for index, node in enumerate(nodes)}
    whole: List[int] = [HEAD, *nodes]
    for one, other in zip(whole, whole[1:] + whole[:1]):
        memory[one], memory[other + 4] = other, one
    return memory


def moved(moves: Sequence[int]) -> Ran:
    """Move the nodes at some places to the front."""
    code = ("nop\n" * 20).join(MOVE % (NEXT * passed) for passed in moves)
    return run("ldr r0, =0x%x\nldr r6, =0x%x\n" % (HEAD, FOUND) + code + CLEAR, {}, ring(NODES))


@pytest.mark.parametrize("moves", [(2, 1, 3), (1, 4, 2, 3), (3, 3, 3, 3, 3), (5, 4, 1, 2, 2, 4), (5, 5, 5, 5, 5, 5)])
def test_no_move_tells_a_wrong_list(moves: Sequence[int]) -> None:
    # Which node was the one before is not the only course that fits.
    done = moved(moves)
    assert not wrong(done, done.recovery(Rules(limit=Tier.ASSUMED)))


def test_a_link_falls_where_all_others_lead_to_a_conflict() -> None:
    # The store through the pointer has replaced it: by a word that no store can go to.
    source = "ldr r3, =0x%x\n ldr r1, [r3]\n str r2, [r1]\n nop\n movs r1, #0\n movs r2, #0" % HEAD
    done = run(source, {"r2": CODE}, {HEAD: HEAD})
    recovery = done.recovery(Rules(limit=Tier.ASSUMED))
    assert recovery.register(3, "r1")[:2] == (HEAD, Tier.ASSUMED)
    assert not wrong(done, recovery)
