"""Worked by hand from the Armv8-M manual: stack limits."""

from __future__ import annotations

from typing import Dict, List

import pytest

from gdb_etm.capture import Core
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.template import CHECKED, MAIN_LIMIT, PROCESS_LIMIT, Templates
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.stack_limits import limits_of
from gdb_etm.recovery.values import CoreState, Tier, no_memory
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.small import CODE, RAM, built

LIMIT = RAM + 0x800
# A store to one of the first 256 bytes of RAM, or in reach of the stack; SP is known at no time.
SAVES = """
    push {{r4, lr}}
    mov r4, r5
    uxtb r2, r2
    movw r3, #{offset}
    movt r3, #0x2000
    strb r5, [r2, r3]
    pop {{r4, r6}}
    mov r2, r4
    mov r3, r6
"""
ADDRESSES = [CODE + at for at in (0, 2, 4, 6, 10, 14, 16, 18, 20)]
END: Dict[str, int] = {"r4": 7, "r6": 9, "xpsr": 1 << 24, "control": 0}


def recovered(source: str, items: List[Item], halted: int, **registers: int) -> Recovery:
    """Recover a run from its end."""
    history = history_of(built(source), items, halted)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M33", {}))
    recovery = Recovery(history, CoreState({**END, **registers}, no_memory), rules=Rules(limit=Tier.EXACT))
    recovery.solve()
    assert recovery.findings == ()
    return recovery


def saved(offset: int = 0, **registers: int) -> Recovery:
    """Recover the run of SAVES."""
    return recovered(SAVES.format(offset=offset), list(ADDRESSES), CODE + 22, **registers)


def test_a_store_below_the_limit_misses_the_stack() -> None:
    assert saved(msplim=LIMIT).register(1, "r4")[:2] == (7, Tier.EXACT)
    assert saved(msplim=LIMIT).register(1, "lr").value == 9


def test_nothing_is_known_without_a_limit() -> None:
    assert saved().register(1, "r4").value is None


@pytest.mark.parametrize("offset, known", [(0x700, True), (0x701, False), (0x900, False)])
def test_one_that_reaches_above_does_not(offset: int, known: bool) -> None:
    assert (saved(offset, msplim=LIMIT).register(1, "r4").value == 7) is known


def test_sp_is_at_least_the_limit() -> None:
    recovery = saved(msplim=LIMIT)
    value = recovery.register(2, "sp")
    assert value.value is None and value.low == LIMIT
    assert recovery.register(1, "sp").value is None


COMPARES = """
    push {r4, lr}
    mov r1, sp
    movw r3, #0
    movt r3, #0x2000
    cmp r1, r3
    mov r0, #0
    adc r0, r0, #0
    mov r1, r4
    mov r0, r4
    cmp r0, r0
"""


def test_the_limit_is_told_as_a_reason() -> None:
    items: List[Item] = [CODE + at for at in (0, 2, 4, 8, 12, 14, 18, 22, 24, 26)]
    recovery = recovered(COMPARES, items, CODE + 28, msplim=LIMIT, xpsr=0x61000000)
    assert recovery.register(8, "r0")[:2] == (1, Tier.EXACT)
    assert "SP is at least MSPLIM 0x20000800 (#1)" in [step.text for step in recovery.why(8, "r0")]


def test_of_two_banks_the_lower_one_counts() -> None:
    assert limits_of({"msplim_s": LIMIT, "msplim_ns": RAM}) == {"msplim": RAM}
    assert limits_of({"msplim_ns": LIMIT}) == {}
    assert saved(msplim_s=LIMIT, msplim_ns=RAM + 0x400).register(2, "sp").low == RAM + 0x400


def test_at_the_priority_of_hardfault_it_may_not_be_checked() -> None:
    assert saved(msplim=LIMIT, xpsr=1 << 24 | 3).register(1, "r4").value is None
    assert saved(msplim=LIMIT, xpsr=1 << 24 | 11).register(1, "r4").value == 7
    masks = SAVES + "    cpsid f\n"
    source = masks.format(offset=0)
    assert recovered(source, list(ADDRESSES), CODE + 22, msplim=LIMIT).register(1, "r4").value is None


MOVES = """
    push {r4, lr}
    nop
    msr msplim, r1
    push {r5, r6}
    nop
"""


def test_before_a_limit_is_set_it_was_another_one() -> None:
    places = [CODE, CODE + 2, CODE + 4, CODE + 8, CODE + 10]
    recovery = recovered(MOVES, list(places), CODE + 12, msplim=LIMIT)
    assert recovery.register(5, "sp").low == LIMIT
    why = [step.text for step in recovery.why(2, "sp")]
    assert not [text for text in why if "(#1)" in text]
    # What it was set to is told by what it is: but for its lowest bits, if the code was privileged.
    assert recovery.register(1, "r1").bits == LIMIT


HANDLES = """
    nop
    nop
handler:
    push {r4, lr}
    pop {r4, pc}
"""


@pytest.mark.parametrize("number, low", [(3, 0), (2, 0), (15, LIMIT)])
def test_a_handler_of_hardfault_may_go_below(number: int, low: int) -> None:
    items: List[Item] = [CODE, Taken(number, CODE + 2), CODE + 4, CODE + 6, Returned(), CODE + 2]
    assert recovered(HANDLES, items, CODE + 4, msplim=LIMIT).register(3, "sp").low == low


def test_before_a_return_without_its_beginning_it_may_be_such_a_handler() -> None:
    items: List[Item] = [CODE + 4, CODE + 6, Returned(), CODE + 2]
    assert recovered(HANDLES, items, CODE + 4, msplim=LIMIT).register(2, "sp").low == 0


@pytest.mark.parametrize(
    "text, what",
    [
        ("push {r0}", (CHECKED, 0)),
        ("push {r0, lr}", (CHECKED, 0)),
        ("sub sp, #8", (CHECKED, 0)),
        ("mov sp, r7", (CHECKED, 0)),
        ("push.w {r4, r8}", (CHECKED, 0)),
        ("sub.w sp, sp, #1024", (CHECKED, 0)),
        ("subw sp, sp, #1023", (CHECKED, 0)),
        ("sub.w sp, sp, r3", (CHECKED, 0)),
        ("str r0, [sp, #-8]!", (CHECKED, 0)),
        ("vpush {d8}", (CHECKED, 0)),
        ("msr msplim, r3", (MAIN_LIMIT, 3)),
        ("msr psplim, r12", (PROCESS_LIMIT, 12)),
        ("pop {r0}", None),
        ("add sp, #8", None),
        ("str r0, [sp, #8]", None),
        ("msr msp, r0", None),
        ("sub.w r0, sp, #1024", None),
        ("mov r7, sp", None),
        ("strd r0, r1, [sp, #8]", None),
        ("ldr r0, [sp, #-8]!", None),
        ("msr psp, r0", None),
        ("cmp r5, r0", None),
        ("mrs r0, msplim", None),
    ],
)
def test_what_is_checked(text: str, what: object) -> None:
    program = history_of(built("    .fpu fpv5-sp-d16\n    " + text), [CODE], CODE + 2).program
    assert isinstance(program, Program)
    assert Templates(program, True).of_range(CODE, CODE + 2, Isa.T32, 0)[0][0].stack == what
