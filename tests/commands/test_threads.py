"""Vectors worked by hand: kernels' control blocks, and threads by name."""

from __future__ import annotations

import struct
from typing import Dict, Iterable, List, Optional, Tuple

import pytest

from gdb_etm.errors import CommandError
from gdb_etm.history.calls import CallHistory
from gdb_etm.protocols.elements import ExceptionReturn
from gdb_etm.recovery.values import CoreState, no_memory
from gdb_etm.session.kernels import find_blocks
from gdb_etm.session.threads import NamedThreads
from gdb_etm.views.threads import ThreadRow, thread_lines
from tests.history.paths import BL, BX_LR, HANDLER, MSR_PSP, SWITCH, Path

RAM = 0x20000000
# Where they are: the pointer, two blocks, a list that is empty and one with an item for each block.
CURRENT, ONE, TWO, NOTHING, LIST = RAM, RAM + 0x100, RAM + 0x200, RAM + 0x300, RAM + 0x320
TCB = "(unsigned long)&((__typeof__(pxCurrentTCB)) 0)->"
RING = "((__typeof__(&xPendingReadyList)) 0)->xListEnd"
ITEM = "(unsigned long)&((__typeof__(%s.pxNext)) 0)->" % RING
FREERTOS = {
    "(unsigned long)&pxCurrentTCB": CURRENT,
    TCB + "pxTopOfStack": 0,
    TCB + "pxStack": 48,
    TCB + "pcTaskName": 52,
    "(unsigned long)&" + RING: 8,
    "(unsigned long)&" + RING + ".pxNext": 12,
    ITEM + "pxNext": 4,
    ITEM + "pvOwner": 12,
    "sizeof(xPendingReadyList)": 20,
    "(unsigned long)&pxReadyTasksLists": LIST - 20,
    "sizeof(pxReadyTasksLists)": 40,
}
FUNCTIONS = {"main": (0x100, 0x200), "task": (0x200, 0x300), "wait": (0x400, 0x500), "handler": (0x700, 0x800)}
# The stacks of both, and where the second one's frame is.
STACKS, FRAME = (RAM + 0x1000, RAM + 0x2000), RAM + 0x2100


class Memory:
    """Words by address, and texts."""

    def __init__(self, words: Dict[int, int], texts: Iterable[Tuple[int, bytes]]) -> None:
        self.bytes: Dict[int, int] = {}
        for address, word in words.items():
            self.bytes.update(enumerate(struct.pack("<I", word), address))
        for address, text in texts:
            self.bytes.update(enumerate(text.ljust(12, b"\0"), address))

    def read(self, address: int, size: int) -> Optional[bytes]:
        found = [self.bytes.get(address + at, 0) for at in range(size)]
        return bytes(found) if address >= RAM else None


def freertos(names: Tuple[bytes, bytes] = (b"control", b"sensor 1"), **more: int) -> Memory:
    words = {CURRENT: ONE, ONE: 0, ONE + 48: STACKS[0], TWO: FRAME - 36, TWO + 48: STACKS[1]}
    # The empty list before the one with two items.
    words.update({LIST - 20 + 12: LIST - 20 + 8, LIST + 12: ONE + 4, ONE + 8: TWO + 4, TWO + 8: LIST + 8})
    words.update({ONE + 16: ONE, TWO + 16: TWO})
    # What PendSV has pushed for the second one: it waits in "wait", which "task" has called.
    words.update({FRAME + 20: 0x207, FRAME + 24: 0x402, FRAME + 28: 1 << 24})
    words.update({int(address, 16): word for address, word in more.items()})
    return Memory(words, [(ONE + 52, names[0]), (TWO + 52, names[1])])


def calls() -> CallHistory:
    # The second thread is left in "wait", then the first one goes on.
    p = Path(FUNCTIONS).run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1)
    return p.switch(0x402, 0x102).calls()


def named(memory: Memory, end: CallHistory, sp: int = STACKS[0] + 0x80) -> List[str]:
    threads = NamedThreads(end, CoreState({"sp": sp, "psp": sp}, memory.read), FREERTOS.get)
    return [one.name for one in threads.threads]


def test_blocks_that_are_linked_through_a_member() -> None:
    # ChibiOS: a ring through "rqueue", whose head is in the instance; a thread waits where a plain function left it.
    block = "(unsigned long)&((__typeof__(ch0.rlist.current)) 0)->"
    members = {"ctx.sp": 12, "wabase": 20, "name": 32, "rqueue": 36}
    constants = {block + name: at for name, at in members.items()}
    constants.update({"(unsigned long)&ch0.rlist.current": CURRENT, "(unsigned long)&ch0.reglist.queue": LIST})
    words = {CURRENT: ONE, LIST: ONE + 36, ONE + 36: TWO + 36, TWO + 36: LIST, ONE + 20: STACKS[0], TWO + 20: STACKS[1]}
    words.update({ONE + 32: RAM + 0x500, TWO + 32: RAM + 0x520, TWO + 12: STACKS[1] + 0x80, STACKS[1] + 0x90: 0x307})
    memory = Memory(words, [(RAM + 0x500, b"control"), (RAM + 0x520, b"sensor 1")])
    found = find_blocks(constants.get, memory.read)
    assert found is not None and found.kernel == "ChibiOS" and found.current == ONE
    assert [(one.address, one.name) for one in found.blocks] == [(ONE, "control"), (TWO, "sensor 1")]
    p = Path({**FUNCTIONS, "other": (0x300, 0x400), "swap": (0x600, 0x60C)})
    p.run(0x302, 0, BL).code(0x600, 4, SWITCH, True).run(0x202, 0, BL).run(0x400, 1)
    threads = NamedThreads(p.calls(), CoreState({"sp": STACKS[0] + 0x80}, memory.read), constants.get).threads
    assert [one.name for one in threads] == ["sensor 1", "control"]


def test_blocks_of_a_ring() -> None:
    found = find_blocks(FREERTOS.get, freertos().read)
    assert found is not None and (found.kernel, found.current) == ("FreeRTOS", ONE)
    assert [one[:3] for one in found.blocks] == [(ONE, "control", 0), (TWO, "sensor 1", FRAME - 36)]


def test_blocks_of_a_chain_with_names_elsewhere() -> None:
    block = "(unsigned long)&((__typeof__(_tx_thread_current_ptr)) 0)->tx_thread_"
    constants = {
        **{"(unsigned long)&_tx_thread_current_ptr": CURRENT, "(unsigned long)&_tx_thread_created_ptr": CURRENT + 4},
        **{block + "stack_ptr": 8, block + "stack_start": 12, block + "name": 40, block + "created_next": 136},
    }
    words = {CURRENT: TWO, CURRENT + 4: ONE, ONE + 136: TWO, TWO + 136: ONE, ONE + 40: LIST, TWO + 40: LIST + 12}
    found = find_blocks(constants.get, Memory(words, [(LIST, b"one"), (LIST + 12, b"two")]).read)
    assert found is not None and found.kernel == "ThreadX"
    assert [(one.address, one.name) for one in found.blocks] == [(TWO, "two"), (ONE, "one")]


def test_blocks_of_a_kernel_that_lists_them_for_debuggers_alone() -> None:
    block = "(unsigned long)&((__typeof__(OSTCBCurPtr)) 0)->"
    constants = {"(unsigned long)&OSTCBCurPtr": CURRENT, "(unsigned long)&OSTickList.TCB_Ptr": CURRENT + 4}
    constants.update({block + "StkPtr": 0, block + "StkBasePtr": 24, block + "TickNextPtr": 16})
    words = {CURRENT: ONE, CURRENT + 4: TWO, CURRENT + 8: ONE, ONE + 36: TWO, ONE + 24: STACKS[0], TWO + 24: STACKS[1]}
    words.update({ONE + 12: LIST, TWO + 12: LIST + 12})
    memory = Memory(words, [(LIST, b"one"), (LIST + 12, b"two")])
    found = find_blocks(constants.get, memory.read)
    assert found is not None and found.kernel == "uC/OS-III"
    assert [(one.address, one.name, one.stack) for one in found.blocks] == [(ONE, "", STACKS[0]), (TWO, "", STACKS[1])]
    constants.update({"(unsigned long)&OSTaskDbgListPtr": CURRENT + 8, block + "DbgNextPtr": 36, block + "NamePtr": 12})
    found = find_blocks(constants.get, memory.read)
    assert found is not None and [(one.address, one.name) for one in found.blocks] == [(ONE, "one"), (TWO, "two")]


def test_without_a_kernel_or_its_memory_there_are_none() -> None:
    assert find_blocks({}.get, freertos().read) is None
    assert find_blocks(FREERTOS.get, no_memory) is None


def test_a_list_that_leads_nowhere_ends() -> None:
    # It was overwritten: an item follows itself.
    found = find_blocks(FREERTOS.get, freertos(**{hex(ONE + 8): ONE + 4}).read)
    assert found is not None and [one.address for one in found.blocks] == [ONE]


def test_threads_have_their_kernels_names() -> None:
    assert named(freertos(), calls()) == ["control", "sensor 1"]
    # Letters that cannot be shown are no name.
    assert named(freertos((b"\x80", b"sensor 1")), calls()) == ["main", "sensor 1"]


def test_what_is_not_known_of_the_halt_is_not_taken_for_a_name() -> None:
    # Another stack is in use than that of the block; another frame waits than what was left.
    assert named(freertos(), calls(), STACKS[1] + 0x80) == ["main", "sensor 1"]
    assert named(freertos(**{hex(FRAME + 24): 0x404}), calls()) == ["control", "task"]
    assert named(freertos(**{hex(FRAME + 20): 0x209}), calls()) == ["control", "task"]
    assert [one.name for one in NamedThreads(calls(), None, FREERTOS.get).threads] == ["main", "task"]


def test_threads_that_are_not_told_apart_have_no_name_of_the_kernels() -> None:
    p = Path(FUNCTIONS).run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x200)
    p.run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x102).switch(0x104, 0x402).switch(0x404, 0x104)
    threads = NamedThreads(p.calls(), CoreState({"sp": STACKS[0]}, freertos().read), FREERTOS.get)
    assert [threads.label(number) for number in (1, 2, 3)] == ["task (thread 1)", "control", "task (thread 3)"]
    with pytest.raises(CommandError, match="several threads are called task: give the number of one, of 1, 3"):
        threads.choose("task")
    assert threads.choose("3").thread.number == 3 and threads.choose("control").thread.number == 2
    with pytest.raises(CommandError, match='"tusk" is no thread of this history; there are: 1 task, 2 control, 3 task'):
        threads.choose("tusk")


def test_a_thread_has_no_name_of_the_kernels_if_one_waits_where_it_has_waited() -> None:
    # The kernel has a third thread, of which nothing is seen; the second one is left where that waits, and elsewhere.
    third, frame = RAM + 0x280, RAM + 0x3100
    p = Path(FUNCTIONS).run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 2).switch(0x404, 0x102)
    p.switch(0x104, 0x404).run(0x406, 0, BX_LR).run(0x206, 0, BL).run(0x400, 1).switch(0x402, 0x104)
    end = p.calls()
    more = {hex(TWO + 8): third + 4, hex(third): frame - 36, hex(third + 8): LIST + 8, hex(third + 16): third}
    more.update({hex(third + 48): RAM + 0x3000, hex(third + 52): int.from_bytes(b"twin", "little")})
    more.update({hex(FRAME + 20): 0x20B, hex(frame + 24): 0x404, hex(frame + 28): 1 << 24})

    def threads(called_at: int) -> NamedThreads:
        memory = freertos(**more, **{hex(frame + 20): called_at | 1})
        return NamedThreads(end, CoreState({"sp": STACKS[0] + 0x80}, memory.read), FREERTOS.get)

    assert [(one.name, one.rivals) for one in threads(0x206).threads] == [("control", ()), ("task", ("twin",))]
    assert threads(0x206).mixed == {2}
    row = threads(0x206).threads[1]
    line = thread_lines([ThreadRow(row.thread, row.name, row.block, "wait", False, row.rivals)], "FreeRTOS")[1]
    assert line.endswith("in wait   [some of it may be of twin]")
    # One that was called from elsewhere has run none of it.
    assert [(one.name, one.rivals) for one in threads(0x20E).threads] == [("control", ()), ("sensor 1", ())]


def test_a_thread_returns_to_where_it_was_called() -> None:
    p = Path(FUNCTIONS).run(0x200, 0, BL).run(0x400, 1).switch(0x402, 0x100).switch(0x102, 0x402)
    found = p.run(0x404, 0, BX_LR).run(0x204, 1).calls()
    assert [(one.number, one.last) for one in found.threads.threads] == [(1, 14), (2, 7)]


def test_a_switch_at_the_very_end_gives_no_thread_another_ones_name() -> None:
    # The second thread is left, and nothing has run yet of the first one, whose stack is in use.
    p = Path(FUNCTIONS).run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1)
    p.take("PendSV", 14, 0x402).run(HANDLER, 1, MSR_PSP).run(HANDLER + 6, 1, BX_LR).event(ExceptionReturn(0))

    def names(pc: int, memory: Memory) -> List[str]:
        registers = {"sp": STACKS[0] + 0x80, "psp": STACKS[0] + 0x80, "pc": pc}
        return [one.name for one in NamedThreads(p.calls(), CoreState(registers, memory.read), FREERTOS.get).threads]

    assert names(0x102, freertos()) == ["main", "sensor 1"]
    # It may have gone on itself, or the other one, which waited at the same place.
    assert names(0x402, freertos()) == ["main", "task"]
    assert names(0x402, freertos(**{hex(FRAME + 24): 0x404})) == ["main", "control"]


def test_a_halt_in_the_midst_of_a_switch_gives_no_thread_another_ones_name() -> None:
    # The handler has chosen the first thread, which waits at the same place, called from elsewhere.
    p = Path(FUNCTIONS).run(0x100, 1).switch(0x102, 0x200).run(0x202, 0, BL).run(0x400, 1)
    p.take("PendSV", 14, 0x402).run(HANDLER, 1, MSR_PSP)
    chosen = STACKS[0] + 0x80

    def names(caller: int) -> List[str]:
        memory = freertos(**{hex(chosen + 20): caller, hex(chosen + 24): 0x402, hex(chosen + 28): 1 << 24})
        end = CoreState({"sp": RAM + 0x4000, "psp": chosen}, memory.read)
        return [one.name for one in NamedThreads(p.calls(), end, FREERTOS.get).threads]

    assert names(0x107) == ["main", "sensor 1"]
    # From there, it may be either of them.
    assert names(0x207) == ["main", "task"]
