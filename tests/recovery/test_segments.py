"""Worked by hand: where a history is cut."""

from __future__ import annotations

from typing import List, Sequence

import pytest

from gdb_etm.protocols.elements import DEBUG_STATE, Exception_, Gap, GapReason
from gdb_etm.recovery.ssa.segments import SsaSegment, cut_segments, within
from tests.history.executed import Item, Taken, history_of
from tests.recovery.small import CODE, built

NOPS = " nop\n" * 4
NEXT = CODE + 4
OFF = Gap(0, GapReason.TRACE_ON, "")
DEBUG = Gap(0, GapReason.TRACE_ON, DEBUG_STATE)
HALT = Exception_(0, 0x18, "Debug halt", None, NEXT)


def parts(between: Sequence[Item], source: str = NOPS, untouched: bool = True) -> List[SsaSegment]:
    """Cut a history of four instructions with events behind the second."""
    items: List[Item] = [CODE, CODE + 2, *between, NEXT, CODE + 6]
    history = history_of(built(source), items)
    found = cut_segments(history, untouched)
    for one in found:
        # Nothing that breaks a segment is given to those who follow it.
        assert not [item for item in within(history, one.first, one.last) if item in between and item != TAKEN]
    return found


TAKEN = Exception_(0, 15, "SysTick", 15, NEXT)
WHOLE, CUT = [SsaSegment(1, 4)], [SsaSegment(1, 2), SsaSegment(3, 4)]


@pytest.mark.parametrize("between", [[HALT], [HALT, OFF], [DEBUG], [DEBUG, DEBUG]])
def test_pauses(between: Sequence[Item]) -> None:
    assert parts(between) == WHOLE
    assert parts(between, untouched=False) == CUT


@pytest.mark.parametrize(
    "between",
    [
        [OFF],  # whatever ran while tracing was off
        [HALT._replace(return_address=NEXT + 2), OFF],  # execution was moved
        [HALT._replace(return_address=None), OFF],
        [HALT, OFF, HALT, OFF],  # something ran between the two, or was to
        [HALT, Gap(0, GapReason.OVERFLOW, "")],
        [HALT, Exception_(0, 1, "Reset", 1, NEXT), OFF],
        [Gap(0, GapReason.OVERFLOW, "")],
        [DEBUG, OFF],
    ],
)
def test_cuts(between: Sequence[Item]) -> None:
    assert parts(between) == CUT


def test_an_exception_taken_at_the_resume() -> None:
    assert parts([HALT, OFF, TAKEN]) == WHOLE
    assert parts([HALT, OFF, TAKEN._replace(return_address=NEXT + 2)]) == CUT


def test_behind_a_breakpoint_instruction_a_debugger_may_have_acted() -> None:
    assert parts([DEBUG], " nop\n bkpt 0xab\n nop\n nop\n") == CUT
    assert parts([DEBUG], " nop\n bx lr\n nop\n nop\n") == CUT


def test_no_halt_is_left_where_a_history_ends() -> None:
    history = history_of(built(NOPS), [CODE, CODE + 2, Taken(15, NEXT)], NEXT)
    assert cut_segments(history, True) == [SsaSegment(1, 2)]
