"""TraceEnable and ViewData of an ETMv3 or a PTM.

Decided from filter registers (IHI 0014Q, 2 and 3.5; IHI 0035B, 3.16).

TraceEnable for instructions: the enabling event, include and exclude lists and the start/stop block.  ViewData for
loads and stores: the same but for the block.  Resources of the events are the address and Context ID comparators, the
start/stop block, the watchpoint inputs, the security state, and those in ``resources_armv7.py``.
"""

from __future__ import annotations

from typing import Callable, Container, List, NamedTuple, Optional, Sequence

from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.resources_armv7 import ALWAYS, Armv7ResourceLogic

TRIGGER, SR, TSSCR, TECR2, TEEVR, TECR1 = 0x008, 0x010, 0x018, 0x01C, 0x020, 0x024
VDEVR, VDCR1, VDCR3 = 0x030, 0x034, 0x03C
ACVR1, ACTR1, TESSEICR = 0x040, 0x080, 0x1F0
CIDCVR1, CIDCMR = 0x1B0, 0x1BC

SR_START_STOP = 1 << 2
_EXCLUDE = 1 << 24
_START_STOP = 1 << 25
_EXCLUDE_ONLY = 1 << 16
_STARTED = 0x5F
_CONTEXTS = range(0x58, 0x5B)
_NON_SECURE = 0x6D
_SINGLE, _PAIR, _INPUT = 0, 1, 2
# ETMACTR.Type.
_EXECUTE, _TRANSFER, _LOAD, _STORE = 1, 4, 5, 6

# Returns the value of a register by its offset.
Registers = Callable[[int], int]
# A watchpoint input: whether it is active for the instruction at an address.
Input = Callable[[int], bool]


class _Comparator(NamedTuple):
    """An address comparator, or the first of a range's pair."""

    address: int
    kind: int

    def accepts(self, store: bool) -> bool:
        """Tell whether it compares the addresses of loads, or of stores."""
        return self.kind in (_TRANSFER, _STORE if store else _LOAD)


class TraceEnable:
    """The filter as programmed when the unit was enabled.

    :param registers: The unit's registers.
    :param pairs: How many pairs of address comparators it has.
    :param inputs: Its watchpoint inputs, by the addresses of instructions.
    :param data: Whether its comparators can compare the addresses of loads and stores.
    """

    def __init__(self, registers: Registers, pairs: int, inputs: Sequence[Input] = (), data: bool = False) -> None:
        # Tells whether the core is in Non-secure state.
        self.non_secure: Callable[[], bool] = lambda: False
        # Tells the core's Context ID.
        self.context_id: Callable[[], int] = lambda: 0
        # Tells which watchpoint inputs an instruction's loads and stores drive, one bit each.
        self.data_inputs: Callable[[Sequence[BusAccess]], int] = lambda accesses: 0
        # Counters, sequencer and external inputs; None for none.
        self.resources: Optional[Armv7ResourceLogic] = None
        self._registers = registers
        self._inputs = inputs
        self._comparators = [
            _Comparator(registers(ACVR1 + 4 * n), registers(ACTR1 + 4 * n) & 7 if data else _EXECUTE)
            for n in range(2 * pairs)
        ]
        control = registers(TECR1)
        # A unit without comparators has no lists, and no bit that says what they mean.
        self._excludes = bool(control & _EXCLUDE) or not pairs
        self._uses_block = bool(control & _START_STOP)
        self._pairs = [n for n in range(pairs) if control >> n & 1]
        self._singles = [n for n in range(2 * pairs) if registers(TECR2) >> n & 1]
        points, watched = registers(TSSCR), registers(TESSEICR)
        self._starts, self._stops = (self._points(points >> shift, watched >> shift) for shift in (0, 16))
        # It begins with what was written to it while the unit was programmed (ETMSR, bit 2).
        self.started = bool(registers(SR) & SR_START_STOP)
        self._address = 0
        self._index = -1
        self._all_accesses = NO_ACCESSES
        self._accesses: Sequence[BusAccess] = ()
        # The watchpoint inputs that the instruction's loads and stores drive.
        self._driven = 0

    @property
    def is_open(self) -> bool:
        """Whether everything is traced, whatever its address."""
        always = self._registers(TEEVR) == ALWAYS
        return always and self._excludes and not self._pairs and not self._singles and not self._uses_block

    @property
    def uses_data(self) -> bool:
        """Whether comparators compare the addresses of loads and stores."""
        return any(each.kind >= _TRANSFER for each in self._comparators)

    def uses(self, resources: Container[int]) -> bool:
        """Tell whether the filters or the trigger depend on some resources."""
        events = [self._registers(offset) for offset in (TEEVR, VDEVR, TRIGGER)]
        return any(event & 0x7F in resources or event >> 7 & 0x7F in resources and event >> 15 & 3 for event in events)

    def begin(self, accesses: Accesses) -> None:
        """Take the accesses of the next instructions, by index."""
        self._index, self._all_accesses = -1, accesses

    def __call__(self, address: int) -> bool:
        """Tell whether an executed instruction is traced; asked for each, in order."""
        self._address = address
        self._index += 1
        self._accesses = self._all_accesses.get(self._index, ()) if self._all_accesses else ()
        self._driven = self.data_inputs(self._accesses) if self._accesses else 0
        if self.resources is not None:
            self.resources.step(self.is_active)
        if self._is_at(self._starts):
            self.started = True
        listed = any(self._in_range(n) for n in self._pairs) or any(self._matches(n) for n in self._singles)
        traced = self._excludes != listed and (self.started or not self._uses_block) and self.holds(TEEVR)
        if self._is_at(self._stops):
            # The instruction at a stop address is traced still.
            self.started = False
        return traced

    def holds(self, offset: int) -> bool:
        """Tell whether a register's event is active at the last instruction."""
        return self.is_active(self._registers(offset))

    def is_active(self, event: int) -> bool:
        """Tell whether an event is active at the last instruction."""
        a, b = self._has(event & 0x7F), self._has(event >> 7 & 0x7F)
        return (a, not a, a and b, not a and b, not a and not b, a or b, not a or b, not a or not b)[event >> 14 & 7]

    def views(self, instruction: int, address: int, size: int, store: bool) -> bool:
        """Tell whether a load or a store is traced (ViewData).

        :param instruction: Address of the instruction that makes it.
        :param address: Its own address.
        :param size: In bytes.
        """
        self._address = instruction
        if not self.holds(VDEVR):
            return False

        def listed(singles: int, pairs: int) -> bool:
            one = any(self._sees(n, address, size, store) for n in range(16) if singles >> n & 1)
            return one or any(self._sees_range(n, address, size, store) for n in range(8) if pairs >> n & 1)

        singles, pairs = self._registers(VDCR1), self._registers(VDCR3)
        if listed(singles >> 16, pairs >> 8):
            return False
        return bool(pairs & _EXCLUDE_ONLY) or listed(singles, pairs)

    def _points(self, singles: int, watched: int) -> List[Input]:
        found = [self._point(each) for n, each in enumerate(self._comparators) if singles >> n & 1]
        return found + [each for n, each in enumerate(self._inputs) if watched >> n & 1]

    def _point(self, comparator: _Comparator) -> Input:
        return lambda address: address == comparator.address and comparator.kind < _TRANSFER

    def _is_at(self, points: List[Input]) -> bool:
        return any(point(self._address) for point in points)

    def _matches(self, n: int) -> bool:
        comparator = self._comparators[n]
        return comparator.address == self._address and comparator.kind < _TRANSFER

    def _in_range(self, pair: int) -> bool:
        # The second address is the first that is not in the range.
        first, last = self._comparators[2 * pair], self._comparators[2 * pair + 1]
        return first.address <= self._address < last.address and first.kind < _TRANSFER

    def _sees(self, n: int, address: int, size: int, store: bool) -> bool:
        comparator = self._comparators[n]
        if comparator.kind < _TRANSFER:
            return self._matches(n)
        return comparator.accepts(store) and address <= comparator.address < address + size

    def _sees_range(self, pair: int, address: int, size: int, store: bool) -> bool:
        first, last = self._comparators[2 * pair], self._comparators[2 * pair + 1]
        if first.kind < _TRANSFER:
            return self._in_range(pair)
        return first.accepts(store) and address < last.address and first.address < address + size

    def _has(self, resource: int) -> bool:
        kind, index = resource >> 4, resource & 0xF
        if kind == _SINGLE:
            return index < len(self._comparators) and self._any_access(self._sees, self._matches, index)
        if kind == _PAIR:
            return 2 * index < len(self._comparators) and self._any_access(self._sees_range, self._in_range, index)
        if kind == _INPUT:
            at = index < len(self._inputs) and self._inputs[index](self._address)
            return at or bool(self._driven >> index & 1)
        if resource in _CONTEXTS:
            wanted = self._registers(CIDCVR1 + 4 * (resource - _CONTEXTS.start))
            return not (self.context_id() ^ wanted) & ~self._registers(CIDCMR) & 0xFFFFFFFF
        if resource == _NON_SECURE:
            return self.non_secure()
        if self.resources is not None and self.resources.is_active(resource):
            return True
        return resource == ALWAYS or resource == _STARTED and self.started

    def _any_access(self, sees: Callable[[int, int, int, bool], bool], at: Callable[[int], bool], n: int) -> bool:
        return at(n) or any(sees(n, each.address, each.size, each.store) for each in self._accesses)
