"""The threads of a history by name."""

from __future__ import annotations

from itertools import chain
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.history.calls import CallHistory, ThreadSwitch
from gdb_etm.history.frames import Frame
from gdb_etm.history.threads import HistoryThread, Suspension
from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, SwitchedOut, Word
from gdb_etm.recovery.threads.plain_turns import SavedStacks
from gdb_etm.recovery.values import CoreState
from gdb_etm.session.kernels import Constant, ControlBlock, KernelBlocks, find_blocks

# Bytes between a saved SP and the frame that the exception has pushed.
_SAVED = 0x120


class NamedThread(NamedTuple):
    """A thread with its name."""

    thread: HistoryThread
    # The kernel's, or that of its outermost function.
    name: str
    # The kernel's block of it; None where that is not known.
    block: Optional[int]
    # Names of the kernel's other threads that may have run some of it.
    rivals: Tuple[str, ...] = ()


class NamedThreads:
    """The threads of a history.

    :param calls: Its calls.
    :param end: The state after its last instruction; None when that is not known.
    :param constant: Finds addresses and sizes, as the debugger knows them.
    """

    def __init__(self, calls: CallHistory, end: Optional[CoreState], constant: Constant) -> None:
        self._calls = calls
        found = calls.threads.threads
        kept = find_blocks(constant, end.read) if end is not None else None
        # The lowest addresses of the stacks that the kernel has given to its threads.
        self.stacks = tuple(sorted({block.stack for block in kept.blocks if block.stack})) if kept is not None else ()
        kept = kept if len(found) > 1 else None
        # Which kernel it is, where that is known.
        self.kernel = kept.kernel if kept is not None else ""
        blocks: Dict[int, ControlBlock] = {}
        rivals: Dict[int, Tuple[str, ...]] = {}
        if kept is not None and end is not None:
            blocks = _matched(calls, end, kept)
            rivals = _rivals(calls, end, kept, blocks)
        self.threads = [_named(one, blocks.get(one.number), rivals.get(one.number, ())) for one in found]

    @property
    def mixed(self) -> FrozenSet[int]:
        """Numbers of those of which other threads may have run some."""
        return frozenset(one.thread.number for one in self.threads if one.thread.alike or one.rivals)

    def label(self, number: int) -> str:
        """Name a thread; with its number where others have the same name.

        :param number: Its number.
        """
        one = self.threads[number - 1]
        others = [other for other in self.threads if other.name == one.name]
        return one.name if len(others) == 1 else "%s (thread %d)" % (one.name, number)

    def labels(self) -> List[str]:
        """Name all threads, in the order of their numbers."""
        return [self.label(one.thread.number) for one in self.threads]

    def switch(self, switch: ThreadSwitch) -> str:
        """Write a switch of threads."""
        return "switch %s -> %s" % (self.label(switch.before), self.label(switch.thread))

    def choose(self, text: str) -> NamedThread:
        """Find a thread by its number or its name.

        :raises CommandError: There is none, or more than one.
        """
        if text.isdigit() and 0 < int(text) <= len(self.threads):
            return self.threads[int(text) - 1]
        found = [one for one in self.threads if one.name == text]
        if len(found) == 1:
            return found[0]
        if found:
            numbers = ", ".join(str(one.thread.number) for one in found)
            raise CommandError("several threads are called %s: give the number of one, of %s" % (text, numbers))
        names = ", ".join("%d %s" % (one.thread.number, one.name) for one in self.threads)
        raise CommandError('"%s" is no thread of this history; there are: %s' % (text, names or "none"))

    def suspended(self, one: NamedThread, number: int) -> Optional[Suspension]:
        """Find where a thread waits before an instruction; None if it runs."""
        threads = self._calls.threads
        if threads.runs(one.thread.number, number):
            return None
        return threads.suspended(one.thread.number, number)

    def at(self, number: int) -> Optional[NamedThread]:
        """Give an instruction's thread, or the interrupted one."""
        found = self._calls.threads.at(number)
        return None if found is None else self.threads[found - 1]


def _named(thread: HistoryThread, block: Optional[ControlBlock], rivals: Tuple[str, ...]) -> NamedThread:
    # The kernel tells of the halt alone which thread is which.
    known = None if thread.alike or rivals else block
    if known is not None and known.name:
        return NamedThread(thread, known.name, known.address)
    name = thread.function.name if thread.function is not None else "stack %d" % thread.number
    return NamedThread(thread, name, None if known is None else known.address, rivals)


def _matched(calls: CallHistory, end: CoreState, kept: KernelBlocks) -> Dict[int, ControlBlock]:
    # The control blocks of the threads that are known by where they wait at the end.
    fits: Dict[int, List[ControlBlock]] = {}
    for one in calls.threads.threads:
        where = calls.threads.suspended(one.number, one.last + 1)
        if one.is_last:
            fits[one.number] = _last(calls.end, where, end, kept)
        elif where.address is not None:
            fits[one.number] = [block for block in kept.blocks if _waits(block, where, end)]
    owners: Dict[int, List[int]] = {}
    for number, found in fits.items():
        for block in found:
            owners.setdefault(block.address, []).append(number)
    return {
        number: found[0] for number, found in fits.items() if len(found) == 1 and len(owners[found[0].address]) == 1
    }


def _rivals(
    calls: CallHistory, end: CoreState, kept: KernelBlocks, blocks: Dict[int, ControlBlock]
) -> Dict[int, Tuple[str, ...]]:
    # By thread, those of the kernel's that wait where it waited before, and are none of the history's.
    owned = {block.address for block in blocks.values()} | {kept.current}
    others = [(block, _saved(block, end)) for block in kept.blocks if block.address not in owned]
    found: Dict[int, Tuple[str, ...]] = {}
    for number in blocks if others else ():
        waits = {(one.address, _returns(one.frame)): one for one in calls.threads.waits(number)}.items()
        found[number] = tuple(
            block.name or "0x%08x" % block.address
            for block, saved in others
            if any(not saved.isdisjoint((at, *returns)) and _waits(block, one, end) for (at, returns), one in waits)
        )
    return found


def _saved(block: ControlBlock, end: CoreState) -> FrozenSet[int]:
    # The words above a saved SP, without the bit that says T32.
    words = [_words(end)(block.saved + at) for at in range(0, _SAVED, 4)]
    return frozenset(word & ~1 for word in words if word is not None)


def _waits(block: ControlBlock, where: Suspension, end: CoreState) -> bool:
    # Whether the frame of a thread that was left there is above the saved SP, or its return addresses are.
    if where.address is None or block.address == 0:
        return False
    if where.is_plain:
        calls = _returns(where.frame)
        return bool(calls and SavedStacks((), _words(end), 0).follow(block.saved, block.saved, calls))
    frames = ExceptionFrames([(block.saved, block.saved + _SAVED)], _words(end), {where.address})
    return bool(frames.of(SwitchedOut(where.address, _returns(where.frame))))


def _last(frame: Frame, where: Suspension, end: CoreState, kept: KernelBlocks) -> List[ControlBlock]:
    # The blocks that the thread may have that was traced last.
    running = _running(frame, where, end, kept)
    if where.address is None:
        return running
    # A handler may have chosen another thread; and where nothing ran after one, it may be that which goes on.
    waiting = [block for block in kept.blocks if block.address != kept.current and _waits(block, where, end)]
    return waiting + (running if frame.is_handling or where.address == end.registers.get("pc") else [])


def _running(frame: Frame, where: Suspension, end: CoreState, kept: KernelBlocks) -> List[ControlBlock]:
    # The block of the thread that runs, if its stack is the one in use.
    registers = end.registers
    pointer = registers.get("psp") if frame.is_handling else registers.get("sp")
    if pointer is None:
        return []
    if frame.is_handling and not _waits(ControlBlock(pointer, "", pointer, 0), where, end):
        return []
    below = [block for block in kept.blocks if block.stack <= pointer]
    nearest = max(below, key=lambda block: block.stack, default=None)
    return [nearest] if nearest is not None and nearest.address == kept.current else []


def _returns(frame: Frame) -> Tuple[int, ...]:
    found = [one.return_address for one in chain((frame,), frame.callers())]
    return tuple([address for address in reversed(found) if address is not None])


def _words(end: CoreState) -> Word:
    def word(address: int) -> Optional[int]:
        found = end.read(address, 4)
        return None if found is None else int.from_bytes(found, "little")

    return word
