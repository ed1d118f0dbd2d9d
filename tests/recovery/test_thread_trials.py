"""Worked by hand: threads at one place, told apart by what ran."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest

from gdb_etm.capture import Core
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.small import CODE, RAM, built
from tests.recovery.test_threads import frame

SOURCE = """
    cbz r4, end
    nop
    b end
two:
    movs r1, #2
    nop
switch:
    mrs r0, psp
    stmdb r0!, {r4, r5}
    ldmia r1!, {r4, r5}
    msr psp, r1
    bx lr
"""
TWO, SWITCH, LEFT_AT = CODE + 6, CODE + 10, CODE + 2
HANDLER: List[Item] = [SWITCH + at for at in (0, 4, 8, 10, 14)]
FIRST, SECOND, LAST = RAM + 0x200, RAM + 0x3C0, RAM + 0x600


def recovered(one: int, other: int, passes: bool = False) -> Recovery:
    """Recover a thread's turn; two wait where it was left.

    :param one: R4 of the first of them.
    :param other: That of the second.
    :param passes: Whether the branch is taken, so that it is left there.
    """
    end = SWITCH + 16
    left: Tuple[Item, ...] = (CODE, Taken(15, end if passes else LEFT_AT))
    at = end if passes else LEFT_AT
    memory: Dict[int, int] = {**frame(FIRST, at), **frame(SECOND, at), FIRST - 8: one, SECOND - 8: other}
    # What the thread went on with that runs at the end.
    memory.update({**frame(LAST - 32, TWO), LAST - 40: 7, LAST - 36: 7})

    def read(address: int, size: int) -> Optional[bytes]:
        return memory.get(address, 0).to_bytes(4, "little")[:size]

    history = history_of(built(SOURCE), [*left, *HANDLER, Returned(), TWO], TWO + 2)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    pointers = {"sp": LAST, "psp": LAST, "msp": RAM + 0x800, "control": 2, "xpsr": 0x21000000}
    state = CoreState({"r4": 7, "r5": 7, **pointers}, read)
    return Recovery(history, state, rules=Rules(stacks=((RAM, RAM + 0x800),)))


@pytest.mark.parametrize("registers, known", [((5, 0), (5, FIRST)), ((0, 5), (5, SECOND))])
def test_one_that_would_have_branched_is_not_the_one(registers: Tuple[int, int], known: Tuple[int, int]) -> None:
    recovery = recovered(*registers)
    value = recovery.register(1, "r4")
    assert value[:2] == (known[0], Tier.ASSUMED)
    assert recovery.register(1, "sp")[:2] == (known[1] + 32, Tier.ASSUMED)
    text = "the thread left at #1 waits at the end, its frame is in RAM; no other one fits what ran"
    assert text in [step.text for step in recovery.why(1, "sp")]
    assert not recovery.findings


def test_a_branch_that_was_taken() -> None:
    assert recovered(5, 0, passes=True).register(1, "sp").value == SECOND + 32


@pytest.mark.parametrize("registers", [(5, 6), (0, 0)])
def test_both_fit_or_neither(registers: Tuple[int, int]) -> None:
    recovery = recovered(*registers)
    assert recovery.register(1, "r4").value is None
    assert recovery.register(1, "sp").value is None
    assert not recovery.findings
