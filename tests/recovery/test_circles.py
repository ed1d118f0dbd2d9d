"""Worked by hand, and on Unicorn: circles of supposed links."""

from __future__ import annotations

import pytest

from gdb_etm.recovery.memory.circles import Circles
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from tests.recovery.small import DEVICE, RAM, Ran, run, wrong

# One word is stored and never read, the other is read twice; each store in between writes one of them.
STORED, READ = RAM + 0x40, RAM + 0x60
OBJECT, OTHER = RAM + 0x80, RAM + 0xC0
# If the stores miss, the first word's end says where the first store went, so what was read is still there, which says
# where the second store went.
SOURCE = """
    ldr r0, =0x%x
    ldr r1, =0x%x
    ldr r2, =0x%x
    ldr r5, [r2]
    str r5, [r0]
    ldr r7, [r1]
    str r6, [r5, #8]
    ldr r8, [r1]
    str r9, [r8]
    movs r5, #0
    mov r6, r5
    mov r8, r5
    str r5, [r1]
""" % (
    STORED,
    READ,
    DEVICE,
)
SECOND, LAST = 5, 9


def ran() -> Ran:
    memory = {DEVICE: READ - 8, READ: OBJECT, OBJECT: OTHER, OTHER + 8: 77}
    return run(SOURCE, {"r6": STORED, "r9": OTHER}, memory)


def recovered(done: Ran) -> Recovery:
    return done.recovery(Rules())


def test_two_links_that_speak_for_each_other_are_not_told() -> None:
    done = ran()
    recovery = recovered(done)
    assert recovery.register(SECOND, "r5").value is None
    assert recovery.register(LAST, "r8").value is None
    assert not wrong(done, recovery)


@pytest.mark.pure
def test_nothing_else_speaks_against_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Circles, "find", lambda self, memory, links: [])
    recovery = recovered(ran())
    assert recovery.register(SECOND, "r5").value == OTHER
    assert recovery.register(LAST, "r8").value == OBJECT
