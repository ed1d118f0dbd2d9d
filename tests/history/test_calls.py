"""Worked by hand from the call standard: call histories."""

from __future__ import annotations

from gdb_etm.history.calls import Break, Segment, call_history
from gdb_etm.history.entries import Entered
from gdb_etm.history.exits import Exits
from gdb_etm.protocols.elements import DEBUG_STATE, ExceptionReturn, Gap, GapReason
from tests.history.paths import BL, BLX_R3, BX_LR, BX_R3, GAP, POP_PC, TBB, B, Path

FUNCTIONS = {
    "main": (0x100, 0x200),
    "f": (0x200, 0x300),
    "g": (0x300, 0x400),
    "handler": (0x400, 0x500),
    "second": (0x500, 0x600),
}


def path() -> Path:
    return Path(FUNCTIONS)


def test_call_and_return() -> None:
    p = path().run(0x100, 2, BL).run(0x200, 1, BX_LR).run(0x108, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (0, "main")]
    first, second, third = p.entries()
    assert isinstance(first, Segment) and (first.number, first.first, first.last) == (1, 1, 3)
    assert isinstance(second, Segment) and (second.first, second.last, second.entered) == (4, 5, Entered.CALL)
    assert isinstance(third, Segment) and (third.first, third.last, third.entered) == (6, 6, Entered.RETURN)


def test_branches_inside_a_function_make_no_segments() -> None:
    p = path().run(0x100, 2, B).run(0x110, 1, B, taken=False).run(0x114, 1, TBB).run(0x130, 1, BX_R3).run(0x140, 1)
    assert p.outline() == [(0, "main")]


def test_calls_through_registers_and_returns_by_pop() -> None:
    p = path().run(0x100, 0, BLX_R3).run(0x200, 0, BL).run(0x300, 1, POP_PC).run(0x204, 0, POP_PC).run(0x102, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), (1, "f"), (0, "main")]


def test_return_through_another_register() -> None:
    # Thumb-1 code pops the return address into a low register and branches to it.
    p = path().run(0x100, 0, BL).run(0x200, 1, BX_R3).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (0, "main")]


def test_recursion_returns_to_the_nearest_activation() -> None:
    p = path()
    for _ in range(2):
        p.run(0x200, 0, B, taken=False).run(0x202, 0, BL)
    p.run(0x200, 0, B).run(0x210, 0, BX_LR).run(0x206, 0, BX_LR).run(0x206, 0, BX_LR)
    assert p.outline() == [(0, "f"), (1, "f"), (2, "f"), (1, "f"), (0, "f")]


def test_tail_call_returns_to_the_caller() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 1, B).run(0x300, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), (0, "main")]


def test_return_to_a_label_behind_the_call() -> None:
    # Assembler code has names in the middle of a function: a call may be the last instruction before one.
    names = {"main": (0x100, 0x180), "outer": (0x180, 0x200), "inner": (0x200, 0x300), "label": (0x300, 0x400)}
    p = Path({**names, "g": (0x400, 0x500)}).run(0x100, 0, BL).run(0x2FC, 0, BL).run(0x400, 1, BX_LR)
    p.run(0x300, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "inner"), (2, "g"), (1, "label"), (0, "main")]
    # The callee went on in another function, which returns in its place.
    p = Path({**names, "g": (0x400, 0x500)}).run(0x100, 0, BL).run(0x2FC, 0, BL).run(0x400, 1, B)
    p.run(0x180, 1, BX_LR).run(0x300, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "inner"), (2, "g"), (3, "outer"), (1, "label"), (0, "main")]


def test_callers_before_the_history_are_found_by_returning() -> None:
    p = path().run(0x310, 1, BX_LR).run(0x220, 1, BX_LR).run(0x120, 0, BL).run(0x200, 1)
    assert p.outline() == [(2, "g"), (1, "f"), (0, "main"), (1, "f")]


def test_unwinding_several_frames_at_once() -> None:
    # longjmp: the target is the return address of a caller further up.
    p = path().run(0x100, 0, BL).run(0x200, 0, BL).run(0x300, 0, BX_R3).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), (0, "main")]


def test_jump_into_another_function_keeps_the_level() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 1, B).run(0x310, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (1, "g"), (0, "main")]


def test_running_over_the_end_of_a_function() -> None:
    p = path().run(0x1FC, 4, B).run(0x210, 1)
    assert p.outline() == [(0, "main"), (0, "f")]
    assert [(e.first, e.last) for e in p.entries() if isinstance(e, Segment)] == [(1, 2), (3, 6)]


def test_call_to_the_next_instruction_is_none() -> None:
    assert path().run(0x100, 0, BL).run(0x104, 1).outline() == [(0, "main")]


def test_code_without_symbols() -> None:
    p = path().run(0x100, 0, BL).run(0x900, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "?"), (0, "main")]


def test_exception_is_an_entry_and_its_return_resumes() -> None:
    p = path().run(0x200, 2).take("SysTick", 15, 0x204).run(0x400, 1, BX_LR).event(ExceptionReturn(0)).run(0x204, 1)
    assert p.outline() == [(0, "f"), (1, "<SysTick>"), (1, "handler"), (0, "f")]
    assert [entry.number for entry in p.entries() if not isinstance(entry, Break)] == [1, 2, 3, 4]


def test_exception_between_call_and_callee() -> None:
    p = path().run(0x100, 0, BL).take("SysTick", 15, 0x200).run(0x400, 1, BX_LR).event(ExceptionReturn(0))
    p.run(0x200, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (2, "<SysTick>"), (2, "handler"), (1, "f"), (0, "main")]
    history, program = p.history()
    assert call_history(history, p.resolve, Exits(program)).calls == 1


def test_fault_at_the_target_of_a_wild_call() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 0, BLX_R3).take("HardFault", 3, 0x163332)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "<HardFault>")]


def test_nested_and_tail_chained_exceptions() -> None:
    p = path().run(0x200, 2).take("IRQ0", 16, 0x204).run(0x400, 1).take("IRQ1", 17, 0x402).run(0x500, 1, BX_LR)
    p.event(ExceptionReturn(0)).run(0x402, 1, BX_LR).event(ExceptionReturn(0))
    p.take("PendSV", 14, 0x204).run(0x500, 1, BX_LR).event(ExceptionReturn(0)).run(0x204, 1)
    assert p.outline() == [
        (0, "f"),
        (1, "<IRQ0>"),
        (1, "handler"),
        (2, "<IRQ1>"),
        (2, "second"),
        (1, "handler"),
        (1, "<PendSV>"),
        (1, "second"),
        (0, "f"),
    ]


def test_return_from_an_exception_taken_before_the_history() -> None:
    p = path().run(0x410, 0, BL).run(0x300, 1, BX_LR).run(0x414, 0, BX_LR).event(ExceptionReturn(0))
    p.run(0x210, 1, BX_LR).run(0x120, 1)
    assert p.outline() == [(2, "handler"), (3, "g"), (2, "handler"), (1, "f"), (0, "main")]


def test_context_switch_begins_another_stack() -> None:
    p = path().run(0x200, 2).take("PendSV", 14, 0x204).run(0x400, 1, BX_LR).event(ExceptionReturn(0)).run(0x310, 1)
    assert p.outline() == [(0, "f"), (1, "<PendSV>"), (1, "handler"), "1 to 2", (0, "g")]


def test_debug_halt_is_no_call() -> None:
    p = path().run(0x100, 0, BL).take("Debug halt", None, 0x200).event(Gap(0, GapReason.TRACE_ON, ""))
    p.run(0x200, 1, BX_LR).run(0x104, 1)
    assert (0, "main") in p.outline() and "<Debug halt>" not in str(p.outline())


def test_execution_that_goes_on_after_a_halt_keeps_its_level() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 2).take("Debug halt", None, 0x204).event(Gap(0, GapReason.TRACE_ON, ""))
    p.run(0x204, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), "gap", (1, "f"), (0, "main")]


def test_gap_is_stitched_where_callers_match() -> None:
    # Before: main > f > g.  After: g, which returns to f and to main: the same three.
    p = path().run(0x100, 0, BL).run(0x200, 0, BL).run(0x300, 1).event(GAP)
    p.run(0x320, 1, BX_LR).run(0x204, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), "gap", (2, "g"), (1, "f"), (0, "main")]


def test_gap_is_stitched_to_an_outer_caller() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 0, BL).run(0x300, 1).event(GAP).run(0x110, 0, BL).run(0x500, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), "gap", (0, "main"), (1, "second")]


def test_levels_begin_anew_after_a_gap_that_hides_them() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 1).event(GAP).run(0x400, 0, BL).run(0x500, 1)
    assert p.outline() == [(0, "main"), (1, "f"), "gap", (0, "handler"), (1, "second")]


def test_stitched_callers_serve_the_next_gap() -> None:
    p = path().run(0x100, 0, BL).run(0x200, 0, BL).run(0x300, 1).event(GAP).run(0x320, 1).event(GAP)
    p.run(0x330, 1, BX_LR).run(0x204, 1, BX_LR).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "f"), (2, "g"), "gap", (2, "g"), "gap", (2, "g"), (1, "f"), (0, "main")]


def test_windows_of_entries_take_the_gaps_around_them() -> None:
    p = path().event(GAP).run(0x100, 0, BL).run(0x200, 1).event(GAP).run(0x400, 0, BL).run(0x500, 1).event(GAP)
    history, program = p.history()
    calls = call_history(history, p.resolve, Exits(program))
    assert len(calls) == 4
    whole = list(calls.entries(1, 4))
    assert len(whole) == 7
    assert list(calls.entries(1, 2)) == whole[:4]
    assert list(calls.entries(3, 4)) == whole[3:]
    assert list(calls.entries(2, 2)) == whole[2:4]


def test_the_entry_that_an_instruction_is_in() -> None:
    p = path().event(GAP).run(0x100, 0, BL).take("NMI", 2, 0x200).run(0x400, 1, BX_LR).run(0x200, 1)
    history, program = p.history()
    calls = call_history(history, p.resolve, Exits(program))
    assert [calls.at(number) for number in range(1, len(history) + 2)] == [1, 3, 3, 4, 5]


def test_empty_history() -> None:
    history, program = path().history()
    calls = call_history(history, path().resolve, Exits(program))
    assert (len(calls), calls.calls, calls.exceptions, list(calls.entries(1, 10))) == (0, 0, 0, [])


def test_history_of_events_alone() -> None:
    p = path().event(GAP).take("NMI", 2, 0x100).event(ExceptionReturn(0)).event(GAP)
    assert p.outline() == ["gap", (0, "<NMI>"), "gap"]


HALTED = Gap(0, GapReason.TRACE_ON, DEBUG_STATE)


def test_a_breakpoint_where_a_function_begins_hides_no_call() -> None:
    p = path().run(0x100, 2, BL).take("Debug halt", None, 0x200).event(HALTED)
    p.run(0x200, 1).take("Debug halt", None, 0x202).event(HALTED).run(0x202, 1, BX_LR).run(0x108, 1)
    assert p.outline() == [(0, "main"), "gap", (1, "f"), "gap", (1, "f"), (0, "main")]
    entered = [one.entered for one in p.entries() if isinstance(one, Segment)]
    assert entered == [Entered.START, Entered.CALL, Entered.START, Entered.RETURN]


def test_a_halt_on_the_way_to_a_handler_and_back() -> None:
    p = path().run(0x100, 2).take("IRQ0", 16, 0x104).take("Debug halt", None, 0x400).event(HALTED).run(0x400, 1, BX_LR)
    p.event(ExceptionReturn(0)).take("Debug halt", None, 0x104).event(HALTED).run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "<IRQ0>"), "gap", (1, "handler"), "gap", (0, "main")]


def test_an_exception_behind_a_halt_interrupts_what_was_halted() -> None:
    p = path().run(0x100, 2, BL).take("Debug halt", None, 0x200).event(HALTED).take("IRQ0", 16, 0x200)
    p.run(0x400, 1, BX_LR).event(ExceptionReturn(0)).run(0x200, 1, BX_LR).run(0x108, 1)
    assert p.outline() == [(0, "main"), "gap", (2, "<IRQ0>"), (2, "handler"), (1, "f"), (0, "main")]


def test_where_a_debugger_went_elsewhere_there_was_no_call() -> None:
    for halt, start in ((0x200, 0x300), (0x202, 0x200)):
        p = path().run(0x100, 2, BL).take("Debug halt", None, halt).event(HALTED).run(start, 1, BX_LR)
        assert [one.entered for one in p.entries() if isinstance(one, Segment)] == [Entered.START, Entered.START]
    p = path().run(0x100, 2, BL).take("Debug halt", None, 0x200).event(HALTED).event(GAP).run(0x200, 1, BX_LR)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)] == [Entered.START, Entered.START]


def test_a_halt_whose_place_the_trace_does_not_tell() -> None:
    # An ETMv3's: only where the instruction before says where it leads.
    p = path().run(0x100, 2, BL).event(HALTED).run(0x108, 1, BX_LR)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)] == [Entered.START, Entered.START]
    p = path().run(0x1FC, 0, B).event(HALTED).run(0x200, 1, BX_LR)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)] == [Entered.START, Entered.TAIL_CALL]
    p = path().run(0x1FE, 0, BLX_R3).event(HALTED).run(0x300, 1, BX_LR)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)] == [Entered.START, Entered.START]


def test_a_halt_after_a_return_is_where_somebody_waits() -> None:
    # An ETMv3's, after a return from an exception, and from a function.
    p = path().run(0x100, 2).take("IRQ0", 16, 0x104).run(0x400, 1, BX_LR).event(ExceptionReturn(0)).event(HALTED)
    p.run(0x104, 1)
    assert p.outline() == [(0, "main"), (1, "<IRQ0>"), (1, "handler"), "gap", (0, "main")]
    entered = [one.entered for one in p.entries() if isinstance(one, Segment)]
    assert entered == [Entered.START, Entered.EXCEPTION, Entered.EXCEPTION_RETURN]
    p = path().run(0x100, 2, BL).run(0x200, 1, BX_LR).event(HALTED).run(0x108, 1)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)][-1] is Entered.RETURN
    p = path().run(0x100, 2, BL).run(0x200, 1, BX_LR).event(HALTED).run(0x10A, 1)
    assert [one.entered for one in p.entries() if isinstance(one, Segment)][-1] is Entered.START
