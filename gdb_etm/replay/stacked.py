"""Status words in exception frames, by which GDB unwinds past a handler.

An exception pushes r0 to r3, r12, LR, the return address and xPSR; bit 9 of that is set if there are four bytes
more to where SP was (Armv8-M ARM, B3.19).  Flags that are unknown read as 0, as they do in the status register itself.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple

from gdb_etm.history.path import Path
from gdb_etm.recovery.values import Value
from gdb_etm.replay.interruptions import Handler, Interruptions

# Where xPSR is in the frame.
_STATUS = 0x1C
_THUMB, _ALIGNED = 1 << 24, 1 << 9
# Fields of xPSR (Armv8-M ARM, D1.2.275).
_EXCEPTION = 0x1FF
# EXC_RETURN.SPSEL and Mode (D1.2.95).
_PROCESS, _THREAD = 1 << 2, 1 << 3

# Gives a register before an instruction.
Registers = Callable[[int, str], Optional[int]]
# Gives bytes before an instruction: its number, address and size.
Memory = Callable[[int, int, int], Tuple[Value, ...]]


class Stacked:
    """Finder of the status words of active handlers.

    :param path: The way that execution took.
    :param registers: Gives registers.
    :param memory: Gives what is known of memory, in part, too.
    """

    def __init__(self, path: Path, registers: Registers, memory: Memory) -> None:
        self._path = path
        self._registers = registers
        self._memory = memory
        self._interruptions: Optional[Interruptions] = None
        # Before which instruction, addresses of status words and the exception numbers in them.
        self._found: Tuple[int, List[Tuple[int, int]]] = (0, [])

    def word(self, number: int, address: int) -> Optional[int]:
        """Give the status word at an address; None where it is unknown."""
        if address & 3:
            return None
        for at, exception in self._status_words(number):
            if at != address:
                continue
            values = self._memory(number, address, 4)
            known = sum(value.known << 8 * index for index, value in enumerate(values))
            bits = sum(value.bits << 8 * index for index, value in enumerate(values))
            if not known & _ALIGNED:
                return None
            return bits | _THUMB | exception & ~known
        return None

    def is_status(self, number: int, address: int) -> bool:
        """Tell whether there is a status word at an address."""
        return any(at == address for at, _ in self._status_words(number))

    def _status_words(self, number: int) -> List[Tuple[int, int]]:
        if self._found[0] != number:
            if self._interruptions is None:
                self._interruptions = Interruptions(self._path)
            handlers = self._interruptions.active(number)
            outer: List[Optional[Handler]] = [*handlers[1:], None]
            found = (self._status_word(*pair) for pair in zip(handlers, outer))
            self._found = number, [word for word in found if word is not None]
        return self._found[1]

    def _status_word(self, handler: Handler, outer: Optional[Handler]) -> Optional[Tuple[int, int]]:
        code = self._registers(handler.first, "lr")
        if code is None or code >> 24 != 0xFF:
            return None
        frame = self._registers(handler.first, "psp" if code & _PROCESS else "sp")
        if frame is None:
            return None
        exception = 0 if code & _THREAD or outer is None or outer.vector is None else outer.vector & _EXCEPTION
        return frame + _STATUS, exception
