"""Worked by hand: threads that wait at a moment of the past."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from gdb_etm.recovery.values import Touched
from gdb_etm.replay.past import Patience
from gdb_etm.replay.reliance import Reliance
from gdb_etm.replay.threads import PastThreads
from tests.history.paths import BL, Path

FUNCTIONS = {"main": (0x100, 0x200), "task": (0x200, 0x300), "wait": (0x400, 0x500), "handler": (0x700, 0x800)}
STACK = 0x20000100


class Values:
    """Registers by number and name, and words of memory."""

    patience: Optional[Patience] = None
    reliance: Optional[Reliance] = None

    def __init__(self, registers: Dict[Tuple[int, str], int], words: Optional[Dict[int, int]] = None) -> None:
        self.registers = registers
        self.words = words if words is not None else {}

    def prepare(self, number: int) -> str:
        return ""

    def register(self, number: int, name: str) -> Optional[int]:
        return self.registers.get((number, name))

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        word = self.words.get(address)
        return None if word is None else word.to_bytes(4, "little")

    def rely(self, reliance: Reliance) -> None:
        pass

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        return Touched(1, 1, (), ())


def threads(past: Values) -> PastThreads:
    # main, then the task from its beginning (from #6 on), then main again (from #13 on).
    calls = (
        Path(FUNCTIONS).run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1).switch(0x402, 0x102).calls()
    )
    assert [(one.first, one.last) for one in calls.threads.threads] == [(1, 13), (6, 8)]
    return PastThreads(lambda: calls, lambda: ["main", "task"], frozenset, past)


def test_a_thread_that_has_not_begun_is_not_there() -> None:
    found = threads(Values({}))
    assert (found.running(1), found.others(1)) == (1, [])
    # The handler that starts it runs on the stack of the one before.
    assert (found.running(4), found.others(4)) == (1, [])
    assert (found.running(7), found.others(7)) == (2, [1])
    assert (found.running(13), found.others(13), found.name(2)) == (1, [2], "task")


def test_one_that_goes_on_has_the_registers_that_it_goes_on_with() -> None:
    found = threads(Values({(13, "r4"): 4, (13, "sp"): STACK, (2, "r4"): 5}))
    assert [found.register(1, 7, name) for name in ("pc", "r4", "sp", "r0")] == [0x102, 4, STACK, None]
    assert found.register(1, 7, "xpsr") == 1 << 24


def test_one_that_does_not_has_those_that_the_handler_found() -> None:
    registers = {(9, "r4"): 4, (9, "r0"): 99, (9, "psp"): STACK, (9, "lr"): 0xFFFFFFFD}
    frame = {STACK: 1, STACK + 20: 0x203, STACK + 28: 1 << 24}
    found = threads(Values(registers, frame))
    assert [found.register(2, 13, name) for name in ("pc", "r4", "r0", "lr", "r12")] == [0x402, 4, 1, 0x203, None]
    assert found.register(2, 13, "sp") == STACK + 0x20
    # With four bytes more, and with registers for floating point.
    aligned = threads(Values(registers, {**frame, STACK + 28: 1 << 24 | 1 << 9}))
    assert aligned.register(2, 13, "sp") == STACK + 0x24
    extended = threads(Values({**registers, (9, "lr"): 0xFFFFFFED}, frame))
    assert extended.register(2, 13, "sp") == STACK + 0x68
    # On the main stack the handler has SP there.
    on_main = {**registers, (9, "lr"): 0xFFFFFFF9}
    assert threads(Values(on_main, frame)).register(2, 13, "sp") is None
    assert threads(Values({**on_main, (9, "sp"): STACK}, frame)).register(2, 13, "sp") == STACK + 0x20
    # A handler that another one has interrupted is no thread.
    assert threads(Values({**registers, (9, "lr"): 0xFFFFFFF1}, frame)).register(2, 13, "sp") is None


def test_where_calls_would_take_long_there_is_one_thread() -> None:
    found = PastThreads(lambda: None, lambda: [], frozenset, Values({}))
    assert found.others(7) == [] and found.running(7) is None and found.register(2, 7, "pc") is None


def test_one_that_is_not_told_apart_has_those_that_the_handler_found_as_well() -> None:
    # Two were called from the same place; which of them goes on is not seen.
    p = Path(FUNCTIONS).run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x200)
    p.run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x102).switch(0x104, 0x402).switch(0x404, 0x104)
    calls = p.calls()
    one = calls.threads.threads[0]
    left, following = calls.threads.left(1, 7), calls.threads.next(1, 7)
    assert one.alike and left is not None and following is not None
    past = Values({(following, "r4"): 4, (left, "r4"): 5})
    assert PastThreads(lambda: calls, lambda: ["a", "b", "c"], lambda: {1, 3}, past).register(1, 7, "r4") == 5
