"""Exceptions by their handlers: the trace holds no numbers.

Ref: Armv6-M ARM (DDI 0419), B1.5.2 and B1.5.3; Armv8-M ARM (DDI 0553), B3.9 and B3.30.
"""

from __future__ import annotations

from struct import iter_unpack
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.program.image import Program

# Exceptions before the first interrupt, the initial stack pointer among them.
FIRST_INTERRUPT = 16
# Interrupts for each step of ICTR.INTLINESNUM (DDI 0553, D1.2.108); an Armv6-M has 32 at most.
INTERRUPTS = 32
_MOST_NAMES = 3
RESET = 1
# NMI.
_FIRST = 2
_NAMES = {
    RESET: "Reset",
    2: "NMI",
    3: "HardFault",
    4: "MemManage",
    5: "BusFault",
    6: "UsageFault",
    7: "SecureFault",
    11: "SVCall",
    12: "DebugMonitor",
    14: "PendSV",
    15: "SysTick",
}


class NamedVector(NamedTuple):
    """An exception as far as its handler tells."""

    name: str
    # Its number; None: several exceptions have that handler, or the table is not known.
    number: Optional[int]


class VectorTable:
    """Handlers of a vector table.

    :param words: Its words from that of exception 0 on; none where the table is not known.
    """

    def __init__(self, words: Tuple[int, ...]) -> None:
        self._numbers: Dict[int, List[int]] = {}
        # The initial stack pointer is no handler, a reset no exception that is entered, and a vector without bit 0
        # none for Thumb code.
        for number, word in enumerate(words):
            if number >= _FIRST and word & 1:
                self._numbers.setdefault(word & ~1, []).append(number)
        self.is_known = bool(self._numbers)

    def numbers(self, address: int) -> List[int]:
        """List the exceptions whose handler begins at an address."""
        return self._numbers.get(address, [])

    def name(self, address: int) -> NamedVector:
        """Name the exception whose handler begins at an address."""
        numbers = self.numbers(address)
        if len(numbers) == 1:
            return NamedVector(exception_name(numbers[0]), numbers[0])
        if 1 < len(numbers) <= _MOST_NAMES:
            return NamedVector(" or ".join(map(exception_name, numbers)), None)
        return NamedVector("one of %d exceptions" % len(numbers) if numbers else "exception", None)


def exception_name(number: int) -> str:
    """Name an exception by its number."""
    if number >= FIRST_INTERRUPT:
        return "IRQ%d" % (number - FIRST_INTERRUPT)
    return _NAMES.get(number, "exception %d" % number)


def read_table(program: Program, address: Optional[int], count: int, more: bytes) -> VectorTable:
    """Read a vector table.

    :param address: VTOR; None: a table is looked for at the beginning of each piece of the program.
    :param count: How many vectors there are.
    :param more: The table as the target's memory has it, for what the program does not hold.
    """
    if address is not None:
        data = program.read(address, 4 * count)
        data += more[len(data) : 4 * count]
        return VectorTable(_words(data))
    found = []
    for _, piece in program.pieces:
        words = _words(piece[: 4 * FIRST_INTERRUPT])
        if len(words) == FIRST_INTERRUPT and _is_table(words, program):
            found.append(VectorTable(_until_code(_words(piece[: 4 * count]), program)))
    return found[0] if len(found) == 1 else VectorTable(())


def _words(data: bytes) -> Tuple[int, ...]:
    return tuple(word for (word,) in iter_unpack("<I", data[: len(data) & ~3]))


def _is_table(words: Tuple[int, ...], program: Program) -> bool:
    # The stack begins at a multiple of four; each vector is 0 or the address of Thumb code.
    handlers = words[1:4]
    return not words[0] & 3 and all(handlers) and all(not word or _is_code(word, program) for word in words[1:])


def _until_code(words: Tuple[int, ...], program: Program) -> Tuple[int, ...]:
    # The table may be shorter than it can be: code follows it.
    end = next((n for n, word in enumerate(words) if n and word and not _is_code(word, program)), len(words))
    return words[:end]


def _is_code(word: int, program: Program) -> bool:
    return bool(word & 1) and program.piece_at(word & ~1) is not None
