"""Worked by hand: frames of waiting threads in memory."""

from __future__ import annotations

from typing import Dict, Optional

import pytest

from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, SwitchedOut, reached
from tests.recovery.small import RAM

PLACE, CALL, OTHER = 0x200, 0x300, 0x400
# EXC_RETURN of a thread on MSP, and on PSP.
ON_MAIN, ON_PROCESS = 0xFFFFFFF9, 0xFFFFFFFD


def test_memory_beside_sections_is_reached_by_pointers() -> None:
    # A variable leads to a thread's record in a heap, that to the thread's stack, over the end of a page.
    section, heap = (RAM, RAM + 0x100), RAM + 0x4000
    words = {RAM: heap + 0x10, heap + 0x14: heap + 0x27F0, RAM + 4: RAM + (1 << 21)}

    def word(address: int) -> Optional[int]:
        return words.get(address, 0) if RAM <= address < RAM + 0x10000 else None

    pages = [(heap, heap + 0x400), (heap + 0x2400, heap + 0x2C00)]
    ram = [(RAM, RAM + (1 << 20))]
    assert reached([section], ram, word, None) == [section, *pages]
    assert reached([section], [(RAM, heap + 0x2800)], word, None) == [section, pages[0], (pages[1][0], heap + 0x2800)]
    # A stack pointer leads there as well; nothing is added where there is no memory.
    stack = RAM + 0x9020
    assert reached([section], ram, word, stack) == [section, *pages, (RAM + 0x9000, RAM + 0x9400)]
    assert reached([section], ram, lambda address: None, stack) == [section]


def frame(address: int, goes_on: int, lr: int, status: int = 1 << 24) -> Dict[int, int]:
    return {address + 20: lr, address + 24: goes_on, address + 28: status}


def frames(words: Dict[int, int], is_process: bool = True) -> ExceptionFrames:
    return ExceptionFrames([(RAM, RAM + 0x400)], lambda at: words.get(at, 0), {PLACE, OTHER}, (), is_process)


@pytest.mark.parametrize("is_process, code", [(True, ON_PROCESS), (False, ON_MAIN)])
def test_exc_return_below_a_frame_is_of_the_stack_that_threads_use(is_process: bool, code: int) -> None:
    words = {**frame(RAM + 0x100, PLACE, CALL | 1), RAM + 0xFC: code}
    assert frames(words, is_process).read(RAM + 0x100).returns == code
    assert frames(words, not is_process).read(RAM + 0x100).returns is None


def test_what_a_running_thread_has_left_waits_not() -> None:
    # What it has popped, the frame of the handler that runs, and that of another thread.
    left, running, other = RAM + 0x80, RAM + 0x140, RAM + 0x200
    words = {
        **frame(left, PLACE, 0),
        **frame(running, OTHER, 0),
        **frame(other, PLACE, 0),
        **frame(RAM + 0x280, OTHER, 0),
    }
    found = frames(words, False)
    assert [one.address for one in found.of(SwitchedOut(PLACE, ()))] == [left, other]
    found.exclude(RAM + 0x40, RAM + 0x100, OTHER)
    assert [one.address for one in found.of(SwitchedOut(PLACE, ()))] == [other]
    assert [one.address for one in found.of(SwitchedOut(OTHER, ()))] == [RAM + 0x280]
    assert found.own([PLACE, None, OTHER]) == [left, running]
