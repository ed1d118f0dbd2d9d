"""Worked by hand, and the board's truth: plain functions that switch."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.template import Templates
from gdb_etm.recovery.threads.plain_turns import SavedStack, SavedStacks, match_turns, return_word
from gdb_etm.recovery.threads.residences import Residence
from gdb_etm.recovery.values import Tier
from tests.recovery.test_truth import recovered
from tests.recovery.truth import Run, prepare

RAM = ((0x20000000, 0x20000100),)
PLACE = 0x104
# Where threads call the function that switches, and where one of them is called.
ONE, OTHER, CALLER = 0x200, 0x300, 0x400


def turn(resumed: Optional[int], left: Optional[int], calls: Sequence[int], returns: Sequence[int]) -> Residence:
    made = Residence(resumed)
    made.address = None if resumed is None else PLACE
    made.left, made.left_at = left, None if left is None else PLACE
    made.calls, made.outs = list(calls), [(address, True) for address in returns]
    return made


def memory(words: Dict[int, int]) -> Dict[int, int]:
    return {address: words.get(address, 0) for address in range(RAM[0][0], RAM[0][1], 4)}


def test_a_thread_returns_to_where_it_has_called() -> None:
    turns = [
        turn(None, 10, [ONE], []),
        turn(10, 20, [OTHER], [OTHER]),
        turn(20, 30, [ONE], [ONE]),
        turn(30, None, [], [OTHER]),
    ]
    # What the third one has left waits: its stack pointer at 0x20000008, and what it has pushed above.
    words = memory({0x20000008: 0x20000020, 0x20000028: ONE | 1})
    found = match_turns(turns, True, 8, RAM, words.get)
    assert found.resumed == {20: 10, 30: 20}
    assert found.waiting == [SavedStack(30, 0x20000020, 12)]


def test_of_two_that_are_alike_nothing_is_said() -> None:
    turns = [turn(None, 10, [ONE], []), turn(10, 20, [ONE], []), turn(20, 30, [ONE], [ONE]), turn(30, None, [], [ONE])]
    words = memory({0x20000008: 0x20000020, 0x20000028: ONE | 1})
    assert not match_turns(turns, True, 8, RAM, words.get).resumed


def test_one_of_which_no_call_is_known_may_wait_anywhere() -> None:
    turns = [turn(None, 10, [], []), turn(10, None, [CALLER], [ONE, CALLER])]
    words = memory({0x20000008: 0x20000020, 0x20000028: CALLER | 1})
    assert not match_turns(turns, True, 8, RAM, words.get).resumed


def test_the_calls_above_tell_stacks_apart() -> None:
    # The word of a call that a handler has made has no T bit.
    words = memory({0x20000008: 0x20000020, 0x20000028: ONE | 1, 0x20000040: CALLER, 0x20000080: 0x20000060})
    words[0x20000068] = ONE | 1
    stacks = SavedStacks(RAM, words.get, 8)
    assert stacks.of([ONE]) == [0x20000020, 0x20000060]
    assert stacks.of([CALLER, ONE]) == [0x20000020]
    assert not stacks.of([OTHER]) and not stacks.of([])


def test_a_leaf_that_a_handler_made_call_a_function_has_where_it_returns_below() -> None:
    # LR is below PC in the frame.
    words = memory({0x20000010: 0x20000020, 0x20000028: ONE | 1, 0x20000040: CALLER | 1, 0x20000044: OTHER})
    assert SavedStacks(RAM, words.get, 8).of([CALLER, OTHER, ONE]) == [0x20000020]


@pytest.mark.parametrize(
    "code, distance",
    [
        # pop {r4-r11, pc}
        ("bde8f08f", 32),
        # pop {r4, lr}; add sp, #8; bx lr
        ("bde81040 02b0 7047", 4),
        # add sp, #8; ldr pc, [sp], #4
        ("02b0 5df804fb", 8),
        # bx r3
        ("1847", None),
    ],
)
def test_where_the_return_address_is(code: str, distance: Optional[int]) -> None:
    program = Program([MemoryImage(0x1000, bytes.fromhex(code), "code")])
    templates = Templates(program, True)
    found, at = [], 0x1000
    while at < 0x1000 + len(bytes.fromhex(code)):
        template = templates.at(at, Isa.T32)
        assert template is not None
        found.append(template)
        at += template.size
    assert return_word(found) == distance


WINDOWS: List[Tuple[str, float]] = [("fibers-O0", 80), ("fibers-Os", 12), ("fibers-O2", 25)]


@pytest.mark.parametrize("program, known", WINDOWS)
def test_stack_pointers_are_known_and_nothing_is_wrong(program: str, known: float, tmp_path: Path) -> None:
    found, _ = recovered(Run(prepare(program, tmp_path, 70001, "m33"), program, "m33"), 10000)
    assert not found.wrong
    assert found.sp.percent(Tier.ASSUMED) > known > found.sp.percent(Tier.EXACT)


def test_frames_are_others_once_control_was_written(tmp_path: Path) -> None:
    # From the reset on: the first thread begins in the middle of a function, on PSP.
    found, _ = recovered(Run(prepare("fibers-Os", tmp_path, 20001, "m33", deep=True), "fibers-Os", "m33"), 30000)
    assert not found.wrong
    assert found.sp.percent(Tier.ASSUMED) > 99
