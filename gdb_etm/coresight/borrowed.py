"""Borrowed registers: changes are remembered and put back."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.registers import coresight
from gdb_etm.registers.page import Register


class Restoration(NamedTuple):
    """One write that restores a register, or a wait between such writes."""

    port: AccessPort
    address: int
    value: int
    # 0: write the value.  Otherwise wait until the word's bits under this mask are those of the value.
    mask: int = 0


class Settled(NamedTuple):
    """Status bits that show a stopped component takes writes."""

    register: Register
    # The bits of ``register`` that are then all 1.
    mask: int


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
        """Open the software lock (CoreSight B2.3.10).

        On some paths it keeps a debugger out as well.
        """
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

    def restoration(self, enable: Optional[Register] = None, settled: Optional[Settled] = None) -> List[Restoration]:
        """List what puts everything back, in order.

        :param enable: The register that starts the component: written 0 first, and put back when the others are.
        :param settled: What to wait for after that first write.
        """
        steps = []
        found = dict(self._found)
        if enable is not None and enable.offset in found:
            steps.append(self._step(enable.offset, 0))
            if settled is not None:
                steps.append(self._step(settled.register.offset, settled.mask, settled.mask))
            # Moved to the end.
            found[enable.offset] = found.pop(enable.offset)
        return steps + [self._step(offset, value) for offset, value in (*found.items(), *reversed(self._undo))]

    def restore(self, enable: Optional[Register] = None) -> None:
        """Put everything back and forget it; the component has stopped."""
        steps = self.restoration(enable)
        self._found.clear()
        self._undo.clear()
        for step in steps:
            step.port.write32(step.address, step.value)

    def _step(self, offset: int, value: int, mask: int = 0) -> Restoration:
        return Restoration(self.port, self.base + offset, value, mask)


def runs(offsets: Iterable[int]) -> List[Tuple[int, int]]:
    """Group offsets into runs of adjacent words.

    Each is (first offset, number of words), lowest first.
    """
    result: List[Tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if result and offset == result[-1][0] + 4 * result[-1][1]:
            result[-1] = (result[-1][0], result[-1][1] + 1)
        else:
            result.append((offset, 1))
    return result
