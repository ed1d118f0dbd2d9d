"""Registers and memory of a core at rest."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Sequence, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.program.ram import Piece, in_use, load_writable
from gdb_etm.recovery.values import CoreState
from gdb_etm.session.background import in_background

# Registers that point to stacks.
STACK_POINTERS = ("sp", "msp", "psp", "sp_usr", "sp_svc", "sp_irq", "sp_fiq", "sp_abt", "sp_und", "sp_mon")
# Bytes read from the target at once.
_BLOCK = 256
# Blocks read at once where all are wanted.
_MANY = 64
# The most that a register of a 32-bit core holds; what a snapshot says of another one is of no use.
_WORD = 0xFFFFFFFF
# The most that a stack is believed to hold, in bytes.
_STACK_SIZE = 1 << 20


class TargetMemory(Protocol):
    """Reads the target's memory."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the target's memory.

        :raises AccessError: It cannot be read.
        """


class Anchor:
    """Registers and memory of a core at rest.

    Memory is read when it is first asked for, while the core is still at rest, and kept.  In the background it is not:
    there it is what :meth:`reading` has read before.

    :param registers: By their lower-case names.
    :param memory: Reads the memory; None when what there is of it is in ``images``.
    :param images: Memory that was read already.
    """

    def __init__(
        self, registers: Mapping[str, int], memory: Optional[TargetMemory] = None, images: Sequence[MemoryImage] = ()
    ) -> None:
        self.registers = registers
        self._memory = memory
        self._images = tuple(images)
        self._blocks: Dict[int, Optional[bytes]] = {}
        self._changed: List[Piece] = []
        # How many are going on.
        self._readings = 0

    @property
    def pc(self) -> Optional[int]:
        """The address of the next instruction."""
        pc = self.registers.get("pc")
        return None if pc is None else pc & ~1

    def forget_memory(self) -> None:
        """Drop all memory; that of another moment would be read."""
        self._memory, self._images = None, ()
        self._blocks.clear()

    def state(self) -> CoreState:
        """Give it as a recovery wants it."""
        return CoreState({name: value for name, value in self.registers.items() if value <= _WORD}, self.read)

    def read(self, address: int, size: int) -> Optional[bytes]:
        """Read memory as it was then; None where that is unknown."""
        for image in self._images:
            offset = address - image.address
            if 0 <= offset <= len(image.data) - size:
                return image.data[offset : offset + size]
        found = b""
        while len(found) < size:
            at = address + len(found)
            block = self._block(at // _BLOCK)
            if block is None:
                return None
            found += block[at % _BLOCK : at % _BLOCK + size - len(found)]
        return found

    def _block(self, number: int) -> Optional[bytes]:
        if number not in self._blocks and not in_background():
            return self._read_block(number)
        return self._blocks.get(number)

    def _read_block(self, number: int) -> Optional[bytes]:
        if self._memory is None:
            return None
        start = number * _BLOCK
        found: Optional[bytes] = None
        if not self._is_changed(start, _BLOCK):
            try:
                found = self._memory.read_memory(start, _BLOCK)
            except (AccessError, ConnectError):
                found = None  # nothing is there, it is kept from debuggers, or the connection has ended
        self._blocks[number] = found
        return found

    def reading(self, pieces: Iterable[Piece]) -> Iterator[None]:
        """Read pieces of memory, a part in each step.

        Each step may be another thread's.
        """
        self._readings += 1
        try:
            for start, end in pieces:
                last = -(-end // _BLOCK)
                for number in range(start // _BLOCK, last, _MANY):
                    self._read_many(number, min(_MANY, last - number))
                    yield
        finally:
            self._readings -= 1

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Read pieces of memory now."""
        for _ in self.reading(pieces):
            pass

    def _read_many(self, first: int, count: int) -> None:
        # One long read costs less than many short ones.
        numbers = range(first, first + count)
        start, size = first * _BLOCK, count * _BLOCK
        if self._memory is not None and not self._is_changed(start, size):
            if not any(number in self._blocks for number in numbers):
                try:
                    data = self._memory.read_memory(start, size)
                except (AccessError, ConnectError):
                    pass  # part of it may be there
                else:
                    self._blocks.update((number, data[at : at + _BLOCK]) for number, at in _offsets(numbers))
        for number in numbers:
            if number not in self._blocks:
                self._read_block(number)

    def _is_changed(self, start: int, size: int) -> bool:
        return any(first < start + size and start < end for first, end in self._changed)

    def change(self, address: int, size: int) -> None:
        """Note that the debugger has changed memory.

        What was there is lost unless it was read before.  What is being read may have been read after the change.
        """
        self._changed.append((address, address + size))
        if self._readings:
            for number in range(address // _BLOCK, (address + size - 1) // _BLOCK + 1):
                self._blocks.pop(number, None)

    def leave(self) -> None:
        """Note that the core runs again."""
        self._memory = None

    def stay(self, memory: TargetMemory) -> None:
        """Note that the core did not run, and how to read it."""
        self._memory = memory

    @property
    def images(self) -> Tuple[MemoryImage, ...]:
        """The memory that was read, in address order."""
        found: List[Tuple[int, List[bytes]]] = []
        for number in sorted(number for number, block in self._blocks.items() if block is not None):
            if not found or found[-1][0] + len(found[-1][1]) != number:
                found.append((number, []))
            found[-1][1].append(self._blocks[number] or b"")
        read = tuple(MemoryImage(number * _BLOCK, b"".join(blocks), "RAM") for number, blocks in found)
        return self._images + read


def ram_in_use(images: Iterable[MemoryImage], registers: Mapping[str, int]) -> List[Piece]:
    """Find the RAM that a program uses.

    :param images: The program, with the ELF files that it is from as names.
    :param registers: Of the core.
    """
    pieces = list(images)
    writable = [piece for path in dict.fromkeys(image.name for image in pieces) for piece in load_writable(path)]
    stacks = [registers.get(name, 0) for name in STACK_POINTERS]
    # The first word of a vector table is where the main stack begins (Armv8-M ARM, B3.30).
    words = [int.from_bytes(image.data[:4], "little") for image in pieces]
    tops = [word for word in words if any(0 <= word - pointer <= _STACK_SIZE for pointer in stacks if pointer)]
    return in_use(writable, stacks, tops[0] if tops else None)


def _offsets(numbers: Sequence[int]) -> List[Tuple[int, int]]:
    return [(number, index * _BLOCK) for index, number in enumerate(numbers)]
