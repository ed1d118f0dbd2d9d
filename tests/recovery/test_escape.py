"""Worked by hand, and on Unicorn: frames written by one function."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest

from gdb_etm.capture import Core
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.recovery.functions.calls import CallMatcher
from gdb_etm.recovery.functions.escape import Owner, PrivateAccesses
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import CoreState, Tier
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.small import CODE, DEVICE, RAM, STACK, Ran, built, run, wrong

FUNCTION = CODE + 6
END = FUNCTION + 0x20
SOURCE = """
    bl function
    b end
function:
    push {r4, lr}
    sub sp, #8
    str r0, [sp]
    %s
    str r2, [r1]
    ldr r1, [r3]
    ldr r2, [r3]
    ldr r0, [sp]
    add sp, #8
    pop {r4, pc}
"""
REGISTERS = {"r0": 0x1234, "r1": RAM + 0x40, "r3": DEVICE, "sp": STACK}


class Told:
    """Call frame information of one function."""

    def __init__(self, rows: Dict[int, Tuple[int, int]]) -> None:
        self._rows = rows

    def row(self, address: int) -> Optional[FrameRow]:
        at = [start for start in self._rows if start <= address]
        if self.function(address) is None:
            return None
        register, offset = self._rows[max(at)]
        return FrameRow(register, offset, {})

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (FUNCTION, END) if FUNCTION <= address < END else None


ROWS = {FUNCTION: (13, 0), FUNCTION + 2: (13, 8), FUNCTION + 4: (13, 16)}


def recovered(ran: Ran, limit: Tier = Tier.ASSUMED) -> Recovery:
    pop = max(one["pc"] for one in ran.before) - 2
    return ran.recovery(Rules(frames=Told({**ROWS, pop: (13, 8)}), limit=limit))


def test_a_store_to_an_unknown_address_misses_the_frame() -> None:
    ran = run(SOURCE % "nop", REGISTERS)
    recovery = recovered(ran)
    value = recovery.register(1, "r0")
    why = "stored at #4, loaded at #9, in a frame to which no pointer led in between"
    assert value[:2] == (0x1234, Tier.ASSUMED)
    assert why in [step.text for step in recovery.why(1, "r0")]
    assert not recovery.findings
    assert not wrong(ran, recovery)
    assert recovered(ran, Tier.EXACT).register(1, "r0").value is None


@pytest.mark.parametrize(
    "copied",
    ["mov r4, sp", "add r4, sp, #4", "mrs r4, msp", "add r4, sp", "sub.w r4, sp, #4"],
)
def test_a_function_that_makes_an_address_of_its_frame(copied: str) -> None:
    assert recovered(run(SOURCE % copied, REGISTERS)).register(1, "r0").value is None


@pytest.mark.parametrize("other", ["cmp r4, sp", "sub sp, #0", "it eq\nmoveq r4, r5", "cbz r4, 1f\nnop\n1:"])
def test_a_function_that_makes_none(other: str) -> None:
    assert recovered(run(SOURCE % other, REGISTERS)).register(1, "r0").value == 0x1234


def test_somebody_writes_the_frame_after_all() -> None:
    # The store that is not known hits what r0 was saved in; what r0 was then is known.
    hit = {**REGISTERS, "r0": 5, "r1": STACK - 16, "r2": 9}
    ran = run(SOURCE % "cmp r0, #5\nbne 1f\nnop\n1:", hit)
    recovery = recovered(ran)
    assert recovery.register(4, "r0")[:2] == (5, Tier.EXACT)
    told = "others write the frame of the function at %#x, which makes no address of it" % FUNCTION
    assert [one.text for one in recovery.findings] == [told]
    assert not wrong(ran, recovery)


def test_frames_of_a_thread_fall_with_it() -> None:
    line = TraceSsa(Rules(), Program([]))
    calls = CallMatcher(line)
    owned = PrivateAccesses(line, calls)
    frame = line.constant(STACK)
    owner = Owner(calls.activation, FUNCTION, frame)
    for number in (4, 9):
        line.number = number
        line.store(line.constant(STACK - 8), line.new(-1), 4, line.one)
        owned.note(len(line.accesses) - 1, owner)
        if number == 4:
            line.number = 7
            calls.tie(5, [calls.activation])
    assert owned.keeps(0, 1) and owned.frame_of(0) == owned.frame_of(1) == (calls.activation, FUNCTION)
    owned.others = {(5, 6)}
    assert owned.keeps(0, 1)
    owned.others = {(5, 7)}
    assert not owned.keeps(0, 1)
    # At the end it must not have returned.
    owned.others = set()
    assert not owned.keeps(1, 2)
    owned.active[calls.activation, FUNCTION] = line.constant(STACK - 8)
    assert owned.keeps(1, 2)
    # What is below SP may be overwritten.
    owned.active[calls.activation, FUNCTION] = line.constant(STACK - 4)
    assert not owned.keeps(1, 2)


def test_what_is_not_below_the_frame_address_is_the_callers() -> None:
    line = TraceSsa(Rules(), Program([]))
    owned = PrivateAccesses(line)
    for distance in (-4, -4, 0, 0):
        line.store(line.constant(STACK + distance), line.new(-1), 4, line.one)
    owned.note(0, Owner(1, FUNCTION, line.constant(STACK)))
    assert owned.keeps(0, 1)
    assert not owned.keeps(2, 3)


HANDLER = """
    nop
    b end
handler:
    %s
    ldr r0, [r3]
    push {r0, lr}
    str r2, [r1]
    pop {r2, lr}
    str r2, [r4]
    bx lr
"""


class Named:
    """Where a handler in assembly begins and ends, nothing else."""

    def row(self, address: int) -> Optional[FrameRow]:
        return None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (CODE + 4, CODE + 24) if CODE + 4 <= address < CODE + 24 else None


@pytest.mark.parametrize("reads, known", [("mrs r0, msp", 0x1234), ("mrs r0, psp", 0x1234), ("mov.w r0, sp", None)])
def test_a_handler_in_assembly_that_finds_its_frame(reads: str, known: Optional[int]) -> None:
    memory = {RAM: 0x1234, STACK - 40: 0x1234, STACK - 36: 0xFFFFFFF9, STACK - 8: CODE + 2, STACK - 4: 0x21000000}

    def read(address: int, size: int) -> Optional[bytes]:
        return memory.get(address, 0).to_bytes(4, "little")[:size]

    ran: List[Item] = [CODE + at for at in (4, 8, 10, 12, 14, 18, 20)]
    history = history_of(built(HANDLER % reads), [CODE, Taken(15, CODE + 2), *ran, Returned()], CODE + 2)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    registers = {"r4": RAM, "sp": STACK, "msp": STACK, "psp": 0, "control": 0, "xpsr": 0x21000000}
    recovery = Recovery(history, CoreState(registers, read), rules=Rules(frames=Named()))
    # What was pushed is popped, whatever the store in between wrote.
    assert recovery.register(5, "r0").value == known
    assert not recovery.findings
