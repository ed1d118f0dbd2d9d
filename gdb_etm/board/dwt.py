"""The DWT: a cycle counter, and comparators of Armv7-M and Armv8-M.

Ref: DDI 0553, B14, for Armv8-M; DDI 0403E, C1.8, for Armv7-M.  The comparators match instruction addresses for the
trace unit, and loads and stores for it or to halt the core; the first one also CYCCNT, to halt the core.  Left out are
comparators that are linked to others, and those of values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Callable, List, Mapping, Optional, Sequence, Type

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.clock import InstructionClock

_CTRL = 0x000
_CYCCNT = 0x004
_COMP0 = 0x020
_STRIDE = 0x10
_CYCCNTENA = 1 << 0
# No trace packets, external triggers and profiling counters.
_ABSENT = 1 << 27 | 1 << 26 | 1 << 24
_NO_CYCLES = 1 << 25
_MOST_MASKED = 15
_MATCHED = 1 << 24

# DWT_FUNCTIONn.FUNCTION of Armv7-M: what halts the core, and what the trace unit hears of.
_HALT_AT, _READ, _WRITE, _EITHER, _INSTRUCTION, _TOLD_READ, _TOLD_WRITE, _TOLD_EITHER = 4, 5, 6, 7, 8, 9, 10, 11
_CYCMATCH = 1 << 7
# DWT_FUNCTIONn of Armv8-M: MATCH, ACTION, DATAVSIZE, and an ID that says: addresses of instructions and data.
_MATCH_CYCLES, _MATCH_INSTRUCTION, _MATCH_EITHER, _MATCH_WRITE, _MATCH_READ = 1, 2, 4, 5, 6
_ACTION, _HALT = 0x30, 0x10
_IMPLEMENTED = 0xC3F
_ID = 0x50000000
# And cycles.
_ID_CYCLES = 1 << 27


class DwtComparator(ABC):
    """One comparator.

    :param has_cycles: Whether it can compare CYCCNT.
    """

    def __init__(self, has_cycles: bool = False) -> None:
        self.address = 0
        self.matched = False
        self.has_cycles = has_cycles

    @property
    @abstractmethod
    def halts_at_count(self) -> bool:
        """Whether the core halts when CYCCNT is what it holds."""

    @property
    @abstractmethod
    def watches(self) -> bool:
        """Whether a load or a store may halt the core."""

    @property
    @abstractmethod
    def reports_data(self) -> bool:
        """Whether the trace unit hears of loads and stores."""

    @abstractmethod
    def is_at(self, address: int) -> bool:
        """Tell whether the trace unit is to hear of an instruction."""

    @abstractmethod
    def sees(self, access: BusAccess) -> bool:
        """Tell whether a load or a store is what is watched."""

    @abstractmethod
    def read(self, register: int) -> int:
        """Read DWT_COMP (0), DWT_MASK (4) or DWT_FUNCTION (8) but for MATCHED."""

    @abstractmethod
    def write(self, register: int, value: int) -> None:
        """Write one of these registers."""

    def traces(self, address: int) -> bool:
        """Tell whether the trace unit hears of an instruction; remember it."""
        found = self.is_at(address)
        self.matched = self.matched or found
        return found

    def takes(self, access: BusAccess) -> bool:
        """Tell whether a load or a store matches; remember it."""
        found = self.sees(access)
        self.matched = self.matched or found
        return found


class Armv7Comparator(DwtComparator):
    """A comparator of Armv7-M."""

    def __init__(self, has_cycles: bool = False) -> None:
        super().__init__(has_cycles)
        self.masked = 0
        self.function = 0

    @property
    def halts_at_count(self) -> bool:
        """Whether the core halts when CYCCNT is what it holds."""
        return self.function == _CYCMATCH | _HALT_AT

    @property
    def watches(self) -> bool:
        """Whether a load or a store may halt the core."""
        return self.function in (_READ, _WRITE, _EITHER)

    @property
    def reports_data(self) -> bool:
        """Whether the trace unit hears of loads and stores."""
        return self.function in (_TOLD_READ, _TOLD_WRITE, _TOLD_EITHER)

    def is_at(self, address: int) -> bool:
        """Tell whether the trace unit is to hear of an instruction."""
        return self.function == _INSTRUCTION and self._touches(address, 1)

    def sees(self, access: BusAccess) -> bool:
        """Tell whether a load or a store is what is watched."""
        kinds = (_EITHER, _TOLD_EITHER) + ((_WRITE, _TOLD_WRITE) if access.store else (_READ, _TOLD_READ))
        return self.function in kinds and self._touches(access.address, access.size)

    def read(self, register: int) -> int:
        """Read DWT_COMP, DWT_MASK or DWT_FUNCTION."""
        return {0: self.address, 4: self.masked, 8: self.function}.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """Write DWT_COMP, DWT_MASK or DWT_FUNCTION."""
        if register == 0:
            self.address = value
        elif register == 4:
            self.masked = min(value & 0x1F, _MOST_MASKED)
        elif register == 8:
            self.function = value & (0xF | _CYCMATCH * self.has_cycles)

    def _touches(self, address: int, size: int) -> bool:
        first = self.address >> self.masked << self.masked
        return address < first + (1 << self.masked) and first < address + size


class Armv8Comparator(DwtComparator):
    """A comparator of Armv8-M."""

    def __init__(self, has_cycles: bool = False) -> None:
        super().__init__(has_cycles)
        self._function = 0

    @property
    def halts_at_count(self) -> bool:
        """Whether the core halts when CYCCNT is what it holds."""
        return self.has_cycles and self._match == _MATCH_CYCLES and self._function & _ACTION == _HALT

    @property
    def _match(self) -> int:
        return self._function & 0xF

    @property
    def watches(self) -> bool:
        """Whether a load or a store may halt the core."""
        return self._is_of_data and self._function & _ACTION == _HALT

    @property
    def reports_data(self) -> bool:
        """Whether the trace unit hears of loads and stores."""
        return self._is_of_data and not self.watches

    @property
    def _is_of_data(self) -> bool:
        return self._match in (_MATCH_EITHER, _MATCH_WRITE, _MATCH_READ)

    def is_at(self, address: int) -> bool:
        """Tell whether the trace unit is to hear of an instruction."""
        return self._match == _MATCH_INSTRUCTION and address == self.address & ~1

    def sees(self, access: BusAccess) -> bool:
        """Tell whether a load or a store is what is watched."""
        if self._match not in (_MATCH_EITHER, _MATCH_WRITE if access.store else _MATCH_READ):
            return False
        size = 1 << (self._function >> 10 & 3)
        return access.address < self.address + size and self.address < access.address + access.size

    def read(self, register: int) -> int:
        """Read DWT_COMP or DWT_FUNCTION."""
        return {0: self.address, 8: self._function | _ID | _ID_CYCLES * self.has_cycles}.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """Write DWT_COMP or DWT_FUNCTION."""
        if register == 0:
            self.address = value
        elif register == 8:
            self._function = value & _IMPLEMENTED


class Dwt:
    """The DWT; its CYCCNT counts executed instructions.

    :param clock: What it counts.
    :param enabled: Tells DEMCR.TRCENA.
    :param identity: Its identification registers by offset.
    :param comparators: How many comparators it has.
    :param kind: Which ones.
    :param has_cycles: Whether it has CYCCNT, which Armv6-M and Armv8-M Baseline have not.
    """

    base = 0xE0001000
    size = 0x1000

    def __init__(
        self,
        clock: InstructionClock,
        enabled: Callable[[], bool],
        identity: Mapping[int, int],
        comparators: int = 0,
        kind: Type[DwtComparator] = Armv7Comparator,
        has_cycles: bool = True,
    ) -> None:
        self.comparators: Sequence[DwtComparator] = [kind(number == 0 and has_cycles) for number in range(comparators)]
        self._has_cycles = has_cycles
        # Of Armv6-M all but NUMCOMP is reserved (DDI 0419, C1.8.3).
        says_absence = has_cycles or kind is Armv8Comparator
        absent = _ABSENT | (0 if has_cycles else _NO_CYCLES)
        self._fixed = len(self.comparators) << 28 | (absent if says_absence else 0)
        # Called when :attr:`watches` or :attr:`reports_data` may have changed.
        self.changed: Callable[[], None] = lambda: None
        # Called when the core is to halt because of the time.
        self.halt: Callable[[], None] = lambda: None
        self._writes = 0
        # When CYCCNT is what halts the core.
        self._due: Optional[int] = None
        self._clock = clock
        self._enabled = enabled
        self._counting = False
        self._offset = 0
        self._identity = identity

    @property
    def watches(self) -> bool:
        """Whether a load or a store may halt the core."""
        return self._enabled() and any(each.watches for each in self.comparators)

    def halts(self, accesses: Sequence[BusAccess]) -> bool:
        """Tell whether an instruction's loads and stores halt the core."""
        found: List[bool] = [each.takes(access) for access in accesses for each in self.comparators if each.watches]
        return True in found

    # A timer on the clock that it counts.

    def due(self) -> Optional[int]:
        """Return when CYCCNT is what halts the core, or None."""
        return self._due if self._enabled() else None

    def fire(self) -> None:
        """Halt the core."""
        self.comparators[0].matched = True
        self._find_due()
        self.halt()

    def _find_due(self) -> None:
        # An IT block runs as a whole, so the time may come to be past the match.
        first = self.comparators[0] if self.comparators else None
        self._due = None
        if first is not None and first.halts_at_count and self._counting:
            self._due = self._clock.now() + ((first.address - self._count() - 1) & 0xFFFFFFFF) + 1

    # The PE comparator inputs of an ETMv4, one of each comparator.

    @property
    def version(self) -> int:
        """A number that changes when what :meth:`instruction_inputs` returns may have changed."""
        return self._writes << 1 | self._enabled()

    @property
    def reports_data(self) -> bool:
        """Whether the trace unit hears of loads and stores."""
        return self._enabled() and any(each.reports_data for each in self.comparators)

    def instruction_inputs(self, address: int) -> int:
        """Return which comparators an instruction matches, one bit each."""
        if not self._enabled():
            return 0
        return sum(1 << n for n, each in enumerate(self.comparators) if each.traces(address))

    def data_inputs(self, accesses: Sequence[BusAccess]) -> int:
        """Return which comparators an instruction's loads and stores match, one bit each."""
        if not self._enabled():
            return 0
        found = 0
        for access in accesses:
            found |= sum(1 << n for n, each in enumerate(self.comparators) if each.reports_data and each.takes(access))
        return found

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _CTRL:
            return self._fixed | self._counting
        if offset == _CYCCNT:
            return self._count() if self._has_cycles else 0
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
            self._counting = bool(value & _CYCCNTENA) and self._has_cycles
            self._set(count)
        elif offset == _CYCCNT:
            self._set(value)
        elif 0 <= number < len(self.comparators):
            self._writes += 1
            self.comparators[number].write(register, value)
            self.changed()
        self._find_due()

    def _read_comparator(self, comparator: DwtComparator, register: int) -> int:
        matched = 0
        if register == 0x8:
            # Reading clears MATCHED.
            matched, comparator.matched = comparator.matched * _MATCHED, False
        return comparator.read(register) | matched

    def _count(self) -> int:
        return (self._clock.now() - self._offset if self._counting else self._offset) & 0xFFFFFFFF

    def _set(self, count: int) -> None:
        """Store the count.

        Itself while it stands still, else its difference from the time.
        """
        self._offset = self._clock.now() - count if self._counting else count
