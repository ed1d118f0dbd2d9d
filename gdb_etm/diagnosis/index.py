"""Index of a history: executions by address, accesses by memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.history.store import Span
from gdb_etm.recovery.makers import KnownAccess, Maker
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Tier

_WORD = 4
# Instructions whose accesses are looked at, counted from the end.
_REACH = 50000


class Touch(NamedTuple):
    """A load or store whose address is known."""

    number: int
    store: bool
    address: int
    # In bytes.
    size: int


class _Ran(NamedTuple):
    # By number.
    addresses: "array[int]"
    # Numbers by address.
    executions: Dict[int, "array[int]"]


class TraceIndex:
    """Where instructions and accesses are in a history.

    :param recovery: The history's values.
    """

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self._by_number: Dict[int, List[KnownAccess]] = {}
        self._hidden: Dict[int, List[Maker]] = {}
        self._by_word: Dict[int, List[Touch]] = {}
        # By address and size, what was asked for.
        self._touching: Dict[Tuple[int, int], List[Touch]] = {}
        # From here on accesses are read; all older ones that are looked at are not.
        self._since = len(recovery.history) + 1

    @cached_property
    def _ran(self) -> _Ran:
        history = self._recovery.history
        addresses = array("Q", [0])
        executions: Dict[int, "array[int]"] = {}
        for item in history.spans(1, len(history)):
            if not isinstance(item, Span):
                continue
            for address in history.addresses(item.range):
                number = len(addresses)
                addresses.append(address)
                found = executions.get(address)
                if found is None:
                    found = executions[address] = array("Q")
                found.append(number)
        return _Ran(addresses, executions)

    def address(self, number: int) -> int:
        """Give the address of an instruction."""
        return self._ran.addresses[number]

    def executions(self, address: int, before: int) -> Sequence[int]:
        """List the executions of an instruction before another one, oldest first."""
        found = self._ran.executions.get(address)
        return () if found is None else found[: bisect_left(found, before)]

    def accesses(self, number: int) -> Sequence[KnownAccess]:
        """List the accesses of an instruction whose addresses are exact or assumed."""
        self._read(number)
        return self._by_number.get(number, ())

    def touching(self, address: int, size: int, since: int = 1) -> Sequence[Touch]:
        """List the known accesses to a piece of memory, oldest first.

        :param since: Those of older instructions may be left out: to know them takes long.
        """
        self._read(since)
        key = address, size
        if key not in self._touching:
            found: List[Touch] = []
            for word in range(address // _WORD, (address + size - 1) // _WORD + 1):
                found += self._by_word.get(word, ())
            touching = {one for one in found if one.address < address + size and address < one.address + one.size}
            self._touching[key] = sorted(touching)
        return self._touching[key]

    def newest_store(self, address: int, before: int) -> Optional[Touch]:
        """Give the newest known store to a byte before an instruction."""
        found: List[Touch] = []
        self._read(min(before, len(self._recovery.history)))
        while not found:
            found = [one for one in self.touching(address, 1, self._since) if one.store and one.number < before]
            if not found and not self._read(self._since - 1):
                return None
        return found[-1]

    def hidden(self, value: int) -> List[Maker]:
        """List the stores of a word whose addresses are not known."""
        self._read(1)
        return self._hidden.get(value, [])

    def extent(self, areas: Sequence[Tuple[int, int]], before: int) -> Optional[range]:
        """Give from where to where memory was accessed before an instruction.

        :param areas: The memory, each from its first address to just past its last.
        """
        self._read(1)
        used = [word * _WORD for word, touches in self._by_word.items() if touches[0].number < before]
        inside = [one for one in used if any(low <= one < high for low, high in areas)]
        return range(min(inside), max(inside) + _WORD) if inside else None

    def _read(self, number: int) -> bool:
        # Back to an instruction; gives whether there was more.
        first, last = len(self._recovery.history) - _REACH, self._since
        while self._since > max(number, first + 1, 1):
            origins = self._recovery.origins(self._since - 1)
            if origins is None:
                break
            for at, access in origins.known():
                self._add(at, access)
            for value, maker in origins.hidden():
                self._hidden.setdefault(value, []).append(maker)
            self._since = origins.first
        if self._since < last:
            self._touching.clear()
            for touches in self._by_word.values():
                touches.sort()
        return self._since < last

    def _add(self, number: int, access: KnownAccess) -> None:
        if access.address is None or access.tier > Tier.ASSUMED:
            return
        self._by_number.setdefault(number, []).append(access)
        touch = Touch(number, access.store, access.address, access.size)
        for word in range(access.address // _WORD, (access.address + max(access.size, 1) - 1) // _WORD + 1):
            self._by_word.setdefault(word, []).append(touch)
