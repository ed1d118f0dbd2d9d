"""Registers that belong to somebody else: what is changed is remembered and put back."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.registers.page import Register


class Restoration(NamedTuple):
    """One write that puts something back as it was found."""

    port: AccessPort
    address: int
    value: int


class Borrowed:
    """The registers of one component while we use it.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    """

    def __init__(self, port: AccessPort, base: int) -> None:
        self.port = port
        self.base = base
        self._found: Dict[int, int] = {}

    def read(self, register: Register) -> int:
        """Read a register."""
        return self.port.read32(self.base + register.offset)

    def write(self, register: Register, value: int) -> None:
        """Write a register; before the first time, remember what it held."""
        self.remember([register.offset])
        self.port.write32(self.base + register.offset, value)

    def command(self, register: Register, value: int) -> None:
        """Write a register of which nothing is to be put back."""
        self.port.write32(self.base + register.offset, value)

    def remember(self, offsets: Iterable[int]) -> None:
        """Remember what these registers hold, unless that was done before."""
        for first, words in runs(offset for offset in offsets if offset not in self._found):
            values = self.port.read_block(self.base + first, words)
            self._found.update((first + 4 * n, value) for n, value in enumerate(values))

    def found(self, register: Register, default: int = 0) -> int:
        """Return what a register held when it was found; ``default`` if it was not changed."""
        return self._found.get(register.offset, default)

    def restoration(self, *last: Register) -> List[Restoration]:
        """List the writes that put everything back, in the order in which it was changed.

        :param last: Registers that come last, in this order: those that enable the component.
        """
        ends = [register.offset for register in last]
        order = [offset for offset in self._found if offset not in ends] + [end for end in ends if end in self._found]
        return [Restoration(self.port, self.base + offset, self._found[offset]) for offset in order]

    def restore(self, *last: Register) -> None:
        """Put everything back and forget it."""
        writes = self.restoration(*last)
        self._found.clear()
        for port, address, value in writes:
            port.write32(address, value)


def runs(offsets: Iterable[int]) -> List[Tuple[int, int]]:
    """Gather offsets into runs of adjacent words: (first offset, number of words), lowest first."""
    result: List[Tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if result and offset == result[-1][0] + 4 * result[-1][1]:
            result[-1] = (result[-1][0], result[-1][1] + 1)
        else:
            result.append((offset, 1))
    return result
