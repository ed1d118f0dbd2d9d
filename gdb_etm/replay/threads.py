"""The other threads at a moment of the past, for GDB.

The thread that runs is the replayed core.  Another one goes on later with the registers that it was left with; where it
does not, they are those that the exception found which left it.
"""

from __future__ import annotations

from typing import AbstractSet, Callable, List, Optional, Sequence

from gdb_etm.history.calls import CallHistory
from gdb_etm.history.threads import Suspension
from gdb_etm.replay.past import Past

# What an exception does not push, so that it is the same in the handler (Armv8-M ARM, B3.19).
_KEPT = frozenset("r%d" % number for number in range(4, 12))
# What it pushes, in order, and where xPSR is; bit 9 of that is set if there are four bytes more to where SP was.
_PUSHED = ("r0", "r1", "r2", "r3", "r12", "lr")
_STATUS, _ALIGNED = 0x1C, 1 << 9
# EXC_RETURN of a thread; the bits of one on PSP, and of a frame without floating point; sizes of frames.
_OF_THREAD, _ON_PROCESS, _IS_BASIC = 0xFFFFFF88, 1 << 2, 1 << 4
_BASIC, _EXTENDED = 0x20, 0x68
# Of xPSR no more is known than that a core of the M profile executes T32.
_THUMB = 1 << 24


class PastThreads:
    """Threads of a history that is replayed.

    :param calls: Gives its calls; None while that would take long.
    :param names: Gives the threads' names, in the order of their numbers.
    :param mixed: Gives the numbers of those of which others may have run some.
    :param past: Their registers.
    """

    def __init__(
        self,
        calls: Callable[[], Optional[CallHistory]],
        names: Callable[[], Sequence[str]],
        mixed: Callable[[], AbstractSet[int]],
        past: Past,
    ) -> None:
        self._calls = calls
        self._names = names
        self._mixed = mixed
        self._past = past

    def name(self, thread: int) -> str:
        """Name a thread.

        :param thread: Its number, from 1.
        """
        return self._names()[thread - 1]

    def running(self, number: int) -> Optional[int]:
        """Give the number of the thread of an instruction."""
        calls = self._calls()
        return None if calls is None else calls.threads.at(number)

    def others(self, number: int) -> List[int]:
        """List the threads that wait before an instruction, by their numbers.

        One that begins later is not there yet.
        """
        calls, running = self._calls(), self.running(number)
        found = calls.threads.threads if calls is not None and running is not None else []
        return [one.number for one in found if one.number != running and self._exists(one.number, number)]

    def _exists(self, thread: int, number: int) -> bool:
        where = self._where(thread, number)
        function = where.frame.function
        return where.address is not None and (function is None or function.start != where.address)

    def _where(self, thread: int, number: int) -> Suspension:
        calls = self._calls()
        assert calls is not None
        return calls.threads.suspended(thread, number)

    def register(self, thread: int, number: int, name: str) -> Optional[int]:
        """Give a waiting thread's register by its lower-case name; None when unknown."""
        calls = self._calls()
        if calls is None:
            return None
        if name == "pc":
            return self._where(thread, number).address
        if name == "xpsr":
            return _THUMB
        # What runs next may be another one's.
        following = None if thread in self._mixed() else calls.threads.next(thread, number)
        if following is not None:
            return self._past.register(following, name)
        left = calls.threads.left(thread, number)
        if left is None:
            return None
        if name == "sp" and self._where(thread, number).is_plain:
            # What has set SP to the other stack was the thread's last instruction.
            return self._past.register(left - 1, name)
        return self._past.register(left, name) if name in _KEPT else self._pushed(left, name)

    def _pushed(self, left: int, name: str) -> Optional[int]:
        # From the frame of the exception: what the handler finds where it begins.
        code = self._past.register(left, "lr")
        if code is None or code & _OF_THREAD != _OF_THREAD:
            return None
        frame = self._past.register(left, "psp" if code & _ON_PROCESS else "sp")
        if frame is None:
            return None
        if name in _PUSHED:
            return self._word(left, frame + 4 * _PUSHED.index(name))
        status = self._word(left, frame + _STATUS)
        if name != "sp" or status is None:
            return None
        size = _BASIC if code & _IS_BASIC else _EXTENDED
        return frame + size + (4 if status & _ALIGNED else 0)

    def _word(self, number: int, address: int) -> Optional[int]:
        found = self._past.memory(number, address, 4)
        return None if found is None else int.from_bytes(found, "little")
