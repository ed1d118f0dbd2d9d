"""The Data Watchpoint and Trace unit: a counter, and the comparators of Armv7-M where the core has them.

Ref: DDI 0553, B14; for the comparators DDI 0403E, C1.8.  They match instruction addresses for the trace unit, and loads
and stores to halt the core; nothing else.
"""

from __future__ import annotations

from typing import Callable, List, Mapping, Sequence

from gdb_etm.board.accesses import Access
from gdb_etm.board.clock import Clock

_CTRL = 0x000
_CYCCNT = 0x004
_COMP0 = 0x020
_STRIDE = 0x10
_CYCCNTENA = 1 << 0
# No trace packets, external triggers and profiling counters.
_ABSENT = 1 << 27 | 1 << 26 | 1 << 24
_MOST_MASKED = 15
_FUNCTION = 0xF
_MATCHED = 1 << 24

# DWT_FUNCTIONn.FUNCTION.
_READ, _WRITE, _EITHER, _TRACE_UNIT = 5, 6, 7, 8


class Comparator:
    """One comparator."""

    def __init__(self) -> None:
        self.address = 0
        self.masked = 0
        self.function = 0
        self.matched = False

    def matches(self, address: int, size: int = 1) -> bool:
        """Tell whether an access touches what is watched."""
        first = self.address >> self.masked << self.masked
        return address < first + (1 << self.masked) and first < address + size

    def traces(self, address: int) -> bool:
        """Tell whether the trace unit is to hear of an instruction."""
        if self.function != _TRACE_UNIT or not self.matches(address):
            return False
        self.matched = True
        return True

    def halts(self, access: Access) -> bool:
        """Tell whether the core is to halt after an access."""
        if self.function not in (_EITHER, _WRITE if access.store else _READ):
            return False
        found = self.matches(access.address, access.size)
        self.matched = self.matched or found
        return found


class Dwt:
    """The DWT with CYCCNT, which counts executed instructions.

    :param clock: What it counts.
    :param enabled: Tells DEMCR.TRCENA.
    :param identity: Its identification registers by offset.
    :param comparators: How many comparators it has.
    """

    base = 0xE0001000
    size = 0x1000

    def __init__(
        self, clock: Clock, enabled: Callable[[], bool], identity: Mapping[int, int], comparators: int = 0
    ) -> None:
        self.comparators: Sequence[Comparator] = [Comparator() for _ in range(comparators)]
        self.changed: Callable[[], None] = lambda: None
        """Called when :attr:`watches` may have changed."""
        self._clock = clock
        self._enabled = enabled
        self._counting = False
        self._offset = 0
        self._identity = identity

    @property
    def watches(self) -> bool:
        """Whether a load or a store may halt the core."""
        return self._enabled() and any(each.function in (_READ, _WRITE, _EITHER) for each in self.comparators)

    def halts(self, accesses: Sequence[Access]) -> bool:
        """Tell whether the core is to halt after an instruction's loads and stores."""
        found: List[bool] = [each.halts(access) for access in accesses for each in self.comparators]
        return True in found

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _CTRL:
            return len(self.comparators) << 28 | _ABSENT | self._counting
        if offset == _CYCCNT:
            return self._count()
        number, register = divmod(offset - _COMP0, _STRIDE)
        if 0 <= number < len(self.comparators):
            return self._read_comparator(self.comparators[number], register)
        return self._identity.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; nothing happens while DEMCR.TRCENA is clear."""
        if not self._enabled():
            return
        number, register = divmod(offset - _COMP0, _STRIDE)
        if offset == _CTRL:
            count = self._count()
            self._counting = bool(value & _CYCCNTENA)
            self._set(count)
        elif offset == _CYCCNT:
            self._set(value)
        elif 0 <= number < len(self.comparators):
            self._write_comparator(self.comparators[number], register, value)

    def _read_comparator(self, comparator: Comparator, register: int) -> int:
        if register == 0x8:
            # Reading clears MATCHED.
            matched, comparator.matched = comparator.matched, False
            return comparator.function | matched * _MATCHED
        return {0x0: comparator.address, 0x4: comparator.masked}.get(register, 0)

    def _write_comparator(self, comparator: Comparator, register: int, value: int) -> None:
        if register == 0x0:
            comparator.address = value
        elif register == 0x4:
            comparator.masked = min(value & 0x1F, _MOST_MASKED)
        elif register == 0x8:
            comparator.function = value & _FUNCTION
            self.changed()

    def _count(self) -> int:
        return (self._clock.now() - self._offset if self._counting else self._offset) & 0xFFFFFFFF

    def _set(self, count: int) -> None:
        """Store the count: itself while it stands still, else what is missing to it from the time."""
        self._offset = self._clock.now() - count if self._counting else count
