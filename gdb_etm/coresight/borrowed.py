"""Registers that belong to somebody else: what is changed is remembered and put back."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.registers import coresight
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
        self._undo: List[Tuple[int, int]] = []

    def unlock(self) -> None:
        """Open the software lock, which on some paths keeps a debugger out as well (CoreSight B2.3.10)."""
        lock = coresight.LSR.decode(self.read(coresight.LSR))
        if lock["SLI"] and lock["SLK"]:
            self.undo_by(coresight.LAR, 0)
        # Written whatever LSR says: over a debugger's path it may read as zero.
        self.command(coresight.LAR, coresight.LAR_KEY)

    def read(self, register: Register) -> int:
        """Read a register."""
        return self.port.read32(self.base + register.offset)

    def write(self, register: Register, value: int) -> None:
        """Write a register; before the first time, remember what it held."""
        self.remember([register.offset])
        self.command(register, value)

    def command(self, register: Register, value: int) -> None:
        """Write a register without remembering what it held."""
        self.port.write32(self.base + register.offset, value)

    def undo_by(self, register: Register, value: int) -> None:
        """Note a write that undoes what is about to be done.

        It is made after the registers are put back, the last noted first.
        """
        if (register.offset, value) not in self._undo:
            self._undo.append((register.offset, value))

    def remember(self, offsets: Iterable[int]) -> None:
        """Remember what these registers hold, unless that was done before."""
        for first, words in runs(offset for offset in offsets if offset not in self._found):
            values = self.port.read_block(self.base + first, words)
            self._found.update((first + 4 * n, value) for n, value in enumerate(values))

    def restoration(self, enable: Optional[Register] = None) -> List[Restoration]:
        """List the writes that put everything back.

        :param enable: The register that starts the component: written 0 first, and put back when the others are.
        """
        writes = []
        found = dict(self._found)
        if enable is not None and enable.offset in found:
            writes.append((enable.offset, 0))
            # Moved to the end.
            found[enable.offset] = found.pop(enable.offset)
        writes += [*found.items(), *reversed(self._undo)]
        return [Restoration(self.port, self.base + offset, value) for offset, value in writes]

    def restore(self, enable: Optional[Register] = None) -> None:
        """Put everything back and forget it."""
        writes = self.restoration(enable)
        self._found.clear()
        self._undo.clear()
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
