"""Worked by hand, and the board's truth: threads of a history."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import combinations
from typing import Dict, List, Sequence, Set, Tuple

import pytest

from gdb_etm.board.accesses import BusAccess
from gdb_etm.capture import Core
from gdb_etm.history.calls import CallHistory, Segment, call_history
from gdb_etm.history.exits import Exits
from gdb_etm.protocols.elements import ExceptionReturn
from tests.board import witness
from tests.firmware.programs import board_of, elf
from tests.history.dwarf import DwarfPlaces
from tests.history.executed import Item, Returned, Taken, history_of
from tests.history.paths import BL, BLX_R3, BX_LR, BX_R3, GAP, MSR_PSP, SWITCH, B, Path
from tests.recovery.inputs import Inputs

# One task calls "wait" from two places, another from one; both are left in it.
FUNCTIONS = {
    "main": (0x100, 0x200),
    "task": (0x200, 0x300),
    "other": (0x300, 0x400),
    "wait": (0x400, 0x500),
    "inner": (0x500, 0x600),
    "handler": (0x700, 0x800),
}


def path() -> Path:
    return Path(FUNCTIONS)


def both_wait() -> Path:
    # The first task waits at 0x402, called from 0x200; main starts the second one, which waits there, too.
    p = path().run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1)
    return p.switch(0x402, 0x300).run(0x302, 0, BL).run(0x400, 1)


def outline(p: Path) -> List[object]:
    return [one for one in p.outline() if isinstance(one, str) or one[1] not in ("handler", "<PendSV>")]


def test_levels_begin_anew_in_each_thread() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x300).run(0x302, 0, BL).run(0x500, 1)
    assert outline(p) == [(0, "main"), (1, "task"), (2, "wait"), "1 to 2", (0, "other"), (1, "inner")]
    # A handler stands on the stack of the thread that it interrupts.
    assert (3, "<PendSV>") in p.outline()


def begun(leaves: bytes) -> Path:
    # A kernel's function sets PSP, and goes on in a task.
    p = Path({**FUNCTIONS, "begin": (0x600, 0x60A)}).run(0x100, 0, BL)
    return p.run(0x600, 1, MSR_PSP, False).run(0x606, 1, leaves).run(0x200, 0, BL).run(0x400, 1)


def test_a_jump_out_of_what_has_set_the_stack_pointer_starts_a_thread() -> None:
    p = begun(BX_R3)
    assert outline(p) == [(0, "main"), (1, "begin"), "1 to 2", (0, "task"), (1, "wait")]
    assert outline(begun(BX_LR)) == outline(p)
    # It is left for another one, and goes on.
    p.switch(0x402, 0x300).switch(0x302, 0x402).run(0x404, 0, BX_LR).run(0x204, 1)
    assert outline(p)[-5:] == ["2 to 3", (0, "other"), "3 to 2", (1, "wait"), (0, "task")]


def test_a_call_or_a_jump_from_elsewhere_starts_no_thread() -> None:
    assert outline(begun(BLX_R3)) == [(0, "main"), (1, "begin"), (2, "task"), (3, "wait")]
    p = path().run(0x100, 1, MSR_PSP, False).run(0x106, 0, BL).run(0x300, 1, BX_R3).run(0x200, 1)
    assert outline(p) == [(0, "main"), (1, "other"), (2, "task")]


def test_a_thread_that_waits_goes_on_in_its_own_frame() -> None:
    p = both_wait().switch(0x402, 0x102)
    assert outline(p)[-2:] == ["3 to 1", (0, "main")]
    threads = p.calls().threads.threads
    assert [(one.number, one.instructions, one.first, one.is_last) for one in threads] == [
        (1, 2, 1, True),
        (2, 3, 6, False),
        (3, 3, 13, False),
    ]


def test_of_two_at_one_place_the_return_tells_which_goes_on() -> None:
    # The first one has waited longer; it is the second one that returns.
    p = both_wait().switch(0x402, 0x102).switch(0x104, 0x402).run(0x404, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-4:] == [(0, "main"), "1 to 3", (1, "wait"), (0, "other")]
    # The first one waits still.
    p.switch(0x308, 0x402).run(0x404, 0, BX_LR).run(0x206, 1)
    assert outline(p)[-4:] == [(0, "other"), "3 to 2", (1, "wait"), (0, "task")]
    assert not any(one.alike for one in p.calls().threads.threads)


def test_a_return_to_a_label_tells_which_goes_on() -> None:
    # The second one has called where a label of assembler code follows.
    p = Path({**FUNCTIONS, "other": (0x300, 0x304), "label": (0x304, 0x400)})
    p.run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x300)
    p.run(0x300, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x402).run(0x404, 0, BX_LR).run(0x304, 1)
    assert outline(p)[-3:] == ["3 to 2", (1, "wait"), (0, "label")]
    assert not any(one.alike for one in p.calls().threads.threads)


def test_callees_of_a_mistaken_stack_are_on_the_other_one() -> None:
    p = both_wait().switch(0x402, 0x102).switch(0x104, 0x402).run(0x404, 0, BL).run(0x500, 1, BX_LR)
    p.run(0x408, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-5:] == ["1 to 3", (1, "wait"), (2, "inner"), (1, "wait"), (0, "other")]


def test_two_that_were_taken_for_each_other_are_exchanged() -> None:
    # The second one goes on, and is left again before it returns; then the first one goes on, and returns.
    p = both_wait().switch(0x402, 0x102).switch(0x104, 0x402).switch(0x408, 0x106)
    assert outline(p)[-4:] == ["1 to 2", (1, "wait"), "2 to 1", (0, "main")]
    p.switch(0x108, 0x402).run(0x404, 0, BX_LR).run(0x206, 1)
    assert outline(p)[-8:] == [
        *((0, "main"), "1 to 3", (1, "wait"), "3 to 1", (0, "main")),
        *("1 to 2", (1, "wait"), (0, "task")),
    ]
    # The second one waits where it was left last.
    p.switch(0x208, 0x408).run(0x40A, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-3:] == ["2 to 3", (1, "wait"), (0, "other")]
    assert not any(one.alike for one in p.calls().threads.threads)


def test_of_three_at_one_place_each_return_tells_more() -> None:
    # Two of them were called by the same function, from different places.
    p = both_wait().switch(0x402, 0x240).run(0x242, 0, BL).run(0x400, 1).switch(0x402, 0x102)
    p.switch(0x104, 0x402).run(0x404, 0, BX_LR).run(0x246, 1)
    assert outline(p)[-3:] == ["1 to 4", (1, "wait"), (0, "task")]


def three_wait(at: int) -> Path:
    # The third one waits at a place of its own in the same function.
    p = both_wait().switch(0x402, 0x240).run(0x242, 0, BL).run(0x400, (at - 0x400) // 2)
    return p.switch(at, 0x102)


def test_a_turn_that_was_exchanged_may_be_a_third_ones() -> None:
    # The third one goes on, and is left again; then the first one and the second one return.
    p = three_wait(0x402).switch(0x104, 0x402).switch(0x404, 0x106)
    p.switch(0x108, 0x402).run(0x410, 0, BX_LR).run(0x206, 1)
    p.switch(0x208, 0x402).run(0x410, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-10:-4] == ["1 to 4", (1, "wait"), "4 to 1", (0, "main"), "1 to 2", (1, "wait")]
    p.switch(0x308, 0x404).run(0x410, 0, BX_LR).run(0x246, 1)
    assert outline(p)[-6:] == ["2 to 3", (1, "wait"), (0, "other"), "3 to 4", (1, "wait"), (0, "task")]
    assert not any(one.alike for one in p.calls().threads.threads)


def test_a_turn_goes_on_from_one_that_was_another_stacks() -> None:
    # The second one goes on, and at once again, where the third one waits.
    p = three_wait(0x404).switch(0x104, 0x402).switch(0x404, 0x404).run(0x410, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-4:] == ["1 to 3", (1, "wait"), (1, "wait"), (0, "other")]
    p.switch(0x308, 0x402).run(0x410, 0, BX_LR).run(0x206, 1)
    p.switch(0x208, 0x404).run(0x410, 0, BX_LR).run(0x246, 1)
    assert outline(p)[-6:] == ["3 to 2", (1, "wait"), (0, "task"), "2 to 4", (1, "wait"), (0, "task")]
    assert not any(one.alike for one in p.calls().threads.threads)


def test_a_tail_call_returns_from_the_function_that_made_it() -> None:
    # It is the second one, as the return out of what it goes on to shows, a turn later.
    p = both_wait().switch(0x402, 0x102).switch(0x104, 0x402).run(0x404, 0, B).run(0x500, 1)
    p.switch(0x502, 0x106).switch(0x108, 0x502).run(0x504, 0, BX_LR).run(0x306, 1)
    assert outline(p)[-8:] == [
        *("1 to 3", (1, "wait"), (2, "inner"), "3 to 1", (0, "main"), "1 to 3", (2, "inner"), (0, "other"))
    ]


def test_a_thread_whose_first_function_returns_goes_on_in_another_one() -> None:
    # A kernel has set LR to the beginning of a function that ends the thread, and waits for ever.
    p = Path({**FUNCTIONS, "exit": (0x600, 0x700)}).run(0x100, 1).switch(0x102, 0x200).switch(0x202, 0x102)
    p.switch(0x104, 0x202).run(0x204, 0, BX_LR).run(0x600, 0, BL).run(0x400, 1)
    p.switch(0x402, 0x300).run(0x302, 0, BL).run(0x400, 1).switch(0x402, 0x106)
    p.switch(0x108, 0x402).run(0x404, 0, BX_LR).run(0x306, 1)
    threads = p.calls().threads.threads
    assert [one.function and one.function.name for one in threads] == ["main", "exit", "other"]
    assert outline(p)[-3:] == ["1 to 3", (1, "wait"), (0, "other")]


def test_one_that_was_left_before_the_history_returns_elsewhere() -> None:
    # At the same place as one that was seen, but called from a place where nobody was.
    p = path().run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x402)
    p.run(0x404, 0, BX_LR).run(0x340, 1).switch(0x342, 0x402).run(0x404, 0, BX_LR).run(0x204, 1)
    assert outline(p) == [
        *((0, "task"), (1, "wait"), "1 to 2", (0, "main"), "2 to 3", (1, "wait"), (0, "other")),
        *("3 to 1", (1, "wait"), (0, "task")),
    ]


def test_one_that_was_left_before_the_history_is_not_the_one_that_waits_at_its_place() -> None:
    # It goes on where the first one was just left, and is left again before it returns.
    p = path().run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1).switch(0x402, 0x402)
    p.run(0x404, 0, BL).run(0x500, 1).switch(0x502, 0x102).switch(0x104, 0x502)
    p.run(0x504, 0, BX_LR).run(0x408, 0, BX_LR).run(0x306, 1)
    assert outline(p)[2:] == [
        *((0, "task"), (1, "wait"), "2 to 3", (1, "wait"), (2, "inner"), "3 to 1", (0, "main")),
        *("1 to 3", (2, "inner"), (1, "wait"), (0, "other")),
    ]


def test_threads_that_nothing_tells_apart_are_named_so() -> None:
    # Both were called from the same place; which of them goes on is not seen.
    p = path().run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x200)
    p.run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x102).switch(0x104, 0x402).switch(0x404, 0x104)
    assert [one.alike for one in p.calls().threads.threads] == [(3,), (), (1,)]


def test_threads_of_which_one_is_seen_late_are_named_so() -> None:
    # The one of the first turn waits where nobody did; before that, the second turn may have been its own.
    p = path().run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x402).run(0x404, 0, BX_LR)
    p.run(0x204, 1).switch(0x206, 0x102).switch(0x104, 0x402).run(0x404, 0, BX_LR).run(0x204, 1)
    assert [one.alike for one in p.calls().threads.threads] == [(3,), (), (1,)]


def test_one_seen_late_that_asks_a_handler_is_alike_behind_what_that_skips() -> None:
    # SVC returns to behind the instruction, or lets it run again.
    p = path().run(0x200, 1).take("SVCall", 11, 0x202).run(0x700, 1, MSR_PSP).run(0x706, 1, BX_LR)
    p.event(ExceptionReturn(0)).run(0x100, 1).switch(0x102, 0x202).run(0x204, 1).switch(0x206, 0x102)
    p.switch(0x104, 0x204).switch(0x206, 0x104)
    assert [one.alike for one in p.calls().threads.threads] == [(3,), (), (1,)]


def test_what_ran_while_callers_were_not_known_is_nobodys_if_it_may_be_several_ones() -> None:
    # "wait" is left, and goes on to "task", which does not wait; then once more, to "other".
    p = path().run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x402).run(0x404, 0, BX_LR).run(0x204, 1)
    p.switch(0x206, 0x102)
    assert outline(p)[0] == (1, "wait") and len(p.calls().threads.threads) == 2
    p.switch(0x104, 0x402).run(0x404, 0, BX_LR).run(0x306, 1)
    assert outline(p) == [
        *((0, "wait"), "1 to 2", (0, "main"), "2 to 3", (1, "wait"), (0, "task"), "3 to 2", (0, "main")),
        *("2 to 4", (1, "wait"), (0, "other")),
    ]
    assert [one.alike for one in p.calls().threads.threads] == [(3, 4), (), (), ()]


def test_a_thread_goes_on_behind_a_gap() -> None:
    p = both_wait().event(GAP).run(0x440, 1, BX_LR).run(0x306, 1).switch(0x308, 0x402).run(0x404, 0, BX_LR)
    p.run(0x206, 1)
    assert outline(p)[-6:] == ["gap", (1, "wait"), (0, "other"), "3 to 2", (1, "wait"), (0, "task")]


def test_behind_a_gap_another_thread_is_known_by_its_outermost_function() -> None:
    p = both_wait().event(GAP).run(0x540, 1, BX_LR).run(0x240, 1)
    assert outline(p)[-3:] == ["gap", (1, "inner"), (0, "task")]
    assert len(p.calls().threads.threads) == 3
    p = both_wait().event(GAP).run(0x540, 1)
    assert len(p.calls().threads.threads) == 4


def test_where_a_thread_waits() -> None:
    threads = both_wait().switch(0x402, 0x102).calls().threads
    last = threads.threads[0].last
    where = threads.suspended(2, last)
    assert where.address == 0x402
    assert [one.function.name for one in where.frame.chain() if one.function is not None] == ["wait", "task"]
    # Before it has run it is where it will begin; while a handler has interrupted it, where that returns to.
    assert threads.suspended(3, 1).address == 0x300
    assert threads.runs(1, 1) and not threads.runs(1, 2) and threads.suspended(1, 2).address == 0x102
    assert threads.at(1) == threads.at(2) == 1 and threads.runs(1, last + 1)


# Of what ran, as much as a small trace buffer holds.
_WINDOW = 9000

# Programs with threads; of the last ones three and four run the same code.
PROGRAMS = (
    *("kernel-O2", "kernel-O0", "mainstack-O2", "mainstack-O0", "station-O2", "station-Og", "gateway-O2", "gateway-Og"),
    *("twins-O2", "requests-Os"),
)


class ThreadRecorder(witness.Recorder):
    """Remembers where frames are."""

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess] = ()) -> None:
        self.stream.append(Taken(number, return_address, min([one.address for one in pushed], default=0)))

    def exception_return(self, popped: Sequence[BusAccess] = ()) -> None:
        self.stream.append(Returned(min([one.address for one in popped], default=0)))


def ran(program: str) -> Tuple[List[Item], int]:
    """Give what ran, and where it was halted."""
    recorder = ThreadRecorder()
    machine = witness.board(elf(program), recorder, name=board_of(program) or "m33")
    machine.add_device(Inputs())
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and len(recorder.addresses) < 200_000:
        machine.run(5000)
    items: List[Item] = [one for one in recorder.stream if isinstance(one, (int, Taken, Returned))]
    while not isinstance(items[0], int):
        del items[0]
    return items, machine.core.engine.pc


def calls_of(program: str, items: Sequence[Item], halted_at: int) -> CallHistory:
    history = history_of(elf(program), items, halted_at)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    return call_history(history, DwarfPlaces(elf(program)).function_at, Exits(history.program))


def turns(items: List[Item]) -> List[Tuple[int, int]]:
    """List the threads, each with the instruction where it goes on.

    A stack is known by where its frame was when it was left.
    """
    saved: Dict[int, int] = {}
    found = [(1, 0)]
    depth = number = threads = 0
    for item in items:
        if isinstance(item, int):
            number += 1
        elif isinstance(item, Taken):
            if not depth:
                saved[item.stack] = found[-1][1]
            depth += 1
        elif isinstance(item, Returned):
            depth = max(depth - 1, 0)
            if not depth:
                threads += item.stack not in saved
                found.append((number + 1, saved.pop(item.stack, threads)))
    return found


def switching() -> Path:
    # main and a task switch by a plain function; each goes on behind its own call.
    p = Path({**FUNCTIONS, "swap": (0x600, 0x60C)}).run(0x100, 0, BL).run(0x500, 0, BL).code(0x600, 4, SWITCH, True)
    return p.run(0x200, 0, BL).run(0x400, 0, BL).code(0x600, 4, SWITCH, True)


def test_a_plain_function_goes_over_to_another_thread() -> None:
    p = switching()
    begun = [(0, "main"), (1, "inner"), (2, "swap"), "1 to 2", (1, "swap"), (0, "task"), (1, "wait"), (2, "swap")]
    assert outline(p) == [*begun, "2 to 1", (2, "swap")]
    # Where a plain function has left one, it waits in that function.
    where = p.calls().threads.suspended(2, 13)
    assert (where.address, where.is_plain) == (0x60A, True)
    # It returns to where the first one has called.
    p.run(0x504, 0, BX_LR).run(0x104, 1)
    assert outline(p)[-4:] == ["2 to 1", (2, "swap"), (1, "inner"), (0, "main")]


def test_a_handler_that_moves_psp_makes_its_thread_call_a_function() -> None:
    # mrs r3, psp; subs r3, #32; msr psp, r3: and the other way round.
    down, up = bytes.fromhex("eff30983203b83f30988"), bytes.fromhex("eff30983203383f30988")
    p = Path({**FUNCTIONS, "made": (0x600, 0x700), "svc": (0x800, 0x900)}).of("Cortex-M4")
    p.run(0x100, 0, BL).run(0x200, 1).take("SysTick", 15, 0x202).code(0x700, 3, down).run(0x70A, 0, BX_LR)
    p.event(ExceptionReturn(0)).run(0x600, 1).take("SVCall", 11, 0x602).code(0x800, 3, up).run(0x80A, 0, BX_LR)
    p.event(ExceptionReturn(0)).run(0x202, 1, BX_LR).run(0x104, 1)
    levels = [(0, "main"), (1, "task"), (2, "<SysTick>"), (2, "handler"), (2, "made"), (3, "<SVCall>"), (3, "svc")]
    assert p.outline() == [*levels, (1, "task"), (0, "main")]


def test_a_handler_in_which_a_history_begins_is_no_thread() -> None:
    # Also where it goes on after a gap.
    p = Path(FUNCTIONS).run(0x702, 1, BL).run(0x500, 1, BX_LR).run(0x708, 1, BX_LR).event(ExceptionReturn(0))
    p.run(0x100, 2).event(GAP).run(0x704, 1, BX_LR).event(ExceptionReturn(0)).run(0x200, 3)
    (one, other) = p.calls().threads.threads
    assert (one.first, one.last, one.instructions) == (7, 8, 2)
    assert (other.first, other.last, other.instructions) == (11, 13, 3)
    assert [one.function and one.function.name, other.function and other.function.name] == ["main", "task"]


def test_a_handler_in_which_a_history_begins_is_none_if_another_one_is_chained_to_it() -> None:
    p = Path(FUNCTIONS).of("Cortex-M4").run(0x702, 1, BX_LR).take("PendSV", 14, 0xFFFFFFFD)
    p.run(0x708, 1, BX_LR).event(ExceptionReturn(0)).run(0x100, 2).take("SysTick", 15, 0x104).run(0x710, 1, BX_LR)
    p.take("PendSV", 14, 0xFFFFFFFD).run(0x708, 1, BX_LR).event(ExceptionReturn(0)).run(0x104, 2)
    (one,) = p.calls().threads.threads
    assert (one.first, one.instructions) == (5, 4)


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_thread_has_what_it_ran_and_its_outermost_function_at_level_0(program: str) -> None:
    items, halted_at = ran(program)
    calls, truth = calls_of(program, items, halted_at), turns(items)
    starts = [first for first, _ in truth]
    outermost: Dict[int, Set[str]] = {}
    levels: Dict[int, Set[int]] = {}
    shared: Dict[int, Set[int]] = {}
    own = {number for one in calls.threads.threads for number in calls.of_thread(one.number)}
    for entry in calls.entries(1, len(calls)):
        if isinstance(entry, Segment) and entry.number in own and entry.function is not None:
            thread = truth[bisect_right(starts, entry.first) - 1][1]
            levels.setdefault(thread, set()).add(entry.level)
            shared.setdefault(calls.threads.at(entry.first) or 0, set()).add(thread)
            if entry.level == 0:
                outermost.setdefault(thread, set()).add(entry.function.name)
    assert len(own) > 500 and len(levels) > 3
    # The stack that the core begins with is left in a handler, and none of the threads.
    assert len(calls.threads.threads) == len({thread for _, thread in truth}) - 1
    # Those that what ran is shared between are said to be alike.
    alike = {one.number: one.alike for one in calls.threads.threads}
    for one, other in combinations(shared, 2):
        assert not shared[one] & shared[other] or other in alike[one]
    assert all(len(found) == 1 for found in outermost.values()), outermost
    assert {thread: min(found) for thread, found in levels.items()} == dict.fromkeys(levels, 0)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "program, least", [("twins-O2", 70), ("kernel-O2", 129), ("station-O2", 190), ("requests-Os", 200)]
)
def test_wherever_a_history_begins_it_is_said_what_may_be_another_threads(program: str, least: int) -> None:
    items, _ = ran(program)
    truth = turns(items)
    starts = [first for first, _ in truth]
    alone = before = 0
    for at in range(0, len(items) - _WINDOW, _WINDOW // 3):
        window = items[at : at + _WINDOW]
        while not isinstance(window[-1], int):
            del window[-1]
        calls = calls_of(program, window[:-1], window[-1])
        shares: Dict[int, Counter[int]] = {own.number: Counter() for own in calls.threads.threads}
        for index, row in enumerate(calls.rows()):
            number = calls.threads.of(index)
            if number is not None:
                shares[number][truth[bisect_right(starts, before + row.first) - 1][1]] += 1
        threads = set().union(*shares.values())
        owners = {one: max((shares[number][one], number) for number in shares)[1] for one in threads}
        for own in calls.threads.threads:
            for one in shares[own.number]:
                assert owners[one] in (own.number, *own.alike), (at, own, shares, owners)
            alone += not own.alike
        before += sum(isinstance(item, int) for item in items[at : at + _WINDOW // 3])
    assert alone >= least
