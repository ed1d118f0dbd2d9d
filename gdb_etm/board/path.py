"""From the blocks that Unicorn reports to the instructions that ran.

Unicorn's hook on instructions is silent for those of an IT block whose condition fails, while a trace unit counts them
as executed. A block, though, is a straight run of code, so the instructions between its start and where it was left are
exactly what a trace unit sees. Each step from one block to the next is checked against the instruction set.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Callable, Dict, Generic, List, Optional, Protocol, Sequence, Set, Tuple, TypeVar

from gdb_etm.board.bus import FLASH_SIZE
from gdb_etm.board.t32 import T32Instruction, Ways, covered_by, decode, ways

# Tells whether a core lacks an instruction; None: it has them all.
Lacks = Optional[Callable[[T32Instruction], bool]]


class WrongPath(Exception):
    """Unicorn left the instruction set's paths.

    The truth would be wrong, so the board stops.
    """


class AnyBlock(Protocol):
    """A straight run of instructions of any core.

    Addresses of A-profile T32 code have bit 0 set.
    """

    @property
    def addresses(self) -> Tuple[int, ...]:
        """Of its instructions."""

    @property
    def size(self) -> int:
        """Bytes of code."""

    @property
    def end(self) -> int:
        """The address after it."""

    @property
    def ways(self) -> Ways:
        """Where its last instruction leads."""


B = TypeVar("B", bound=AnyBlock)


class BlockPath(Generic[B]):
    """Blocks by their addresses, and checked steps between them.

    :param read: Reads bytes of code; may return fewer than asked for.
    :param make: Makes a block of an address and code.
    """

    def __init__(self, read: Callable[[int, int], bytes], make: Callable[[int, bytes], B]) -> None:
        self._read = read
        self._make = make
        self.known: Dict[int, B] = {}
        self._in_ram: Dict[Tuple[int, bytes], B] = {}
        self._legal: Set[Tuple[int, int]] = set()

    def forget(self) -> None:
        """Forget all code, because some has been written."""
        self.known.clear()
        self._in_ram.clear()
        self._legal.clear()

    def block(self, address: int, size: int) -> B:
        """Return the block of `size` bytes at an address.

        Code in RAM is looked at each time, since the program itself may write it.
        """
        code = self._read(address & ~1, size)
        found = self._in_ram.get((address, code))
        if found is None:
            found = self._make(address, code)
            if address < FLASH_SIZE:
                self.known[address] = found
            else:
                self._in_ram[address, code] = found
        return found

    def walk(self, blocks: Sequence[B], pc: Optional[int]) -> List[int]:
        """Return the addresses of the instructions that ran.

        :param blocks: The blocks that were entered, in order.
        :param pc: The address of the next instruction when the last block may have been left early, or not started.
        :raises WrongPath: a block does not follow from the one before.
        """
        executed: List[int] = []
        before: Optional[B] = None
        for block in blocks:
            first = block.addresses[0]
            if before is not None and (before.end, first) not in self._legal:
                self._check(before, first)
            executed += block.addresses
            before = block
        if before is not None and pc is not None and before.addresses[0] <= pc < before.end:
            del executed[len(executed) - len(before.addresses) + bisect_left(before.addresses, pc) :]
        return executed

    def _check(self, before: B, address: int) -> None:
        """Check one step, and remember it.

        :raises WrongPath: the block's last instruction cannot lead there.
        """
        step = before.ways
        if not (step.anywhere or address == step.target or (step.falls and address == before.end)):
            raise WrongPath("0x%08x cannot be followed by 0x%08x" % (before.addresses[-1], address))
        # Blocks in RAM may change.
        if before.addresses[0] < FLASH_SIZE:
            self._legal.add((before.end, address))


class CortexMBlock:
    """A straight run of instructions.

    :param address: Of its first instruction.
    :param code: Its bytes.
    :param it_state: ITSTATE where it begins, which may be inside of an IT block: Unicorn ends its blocks with pages.
    :param lacks: Tells what the core lacks, which is refused like floating point.
    """

    def __init__(self, address: int, code: bytes, it_state: int = 0, lacks: Lacks = None) -> None:
        self.address = address
        self.size = len(code)
        self.instructions: List[T32Instruction] = []
        addresses: List[int] = []
        conditional = covered_by(it_state) + 1 if it_state else 0
        self.conditional: Set[int] = set()
        self.first_it: Optional[int] = None
        self.first_floating_point: Optional[int] = None
        self.first_aligned: Optional[int] = None
        self.first_division: Optional[int] = None
        self.may_unmask = False
        self.sets_limits = False
        offset = 0
        while offset < len(code):
            instruction = decode(code, offset)
            index = len(addresses)
            addresses.append(address + offset)
            self.instructions.append(instruction)
            conditional = max(0, conditional - 1)
            if conditional:
                self.conditional.add(address + offset)
            if instruction.is_it():
                conditional = instruction.covered() + 1
                self.first_it = index if self.first_it is None else self.first_it
            refused = instruction.is_floating_point() or lacks is not None and lacks(instruction)
            if refused and self.first_floating_point is None:
                self.first_floating_point = index
            if instruction.aligned_base() is not None and self.first_aligned is None:
                self.first_aligned = index
            if instruction.divisor() is not None and self.first_division is None:
                self.first_division = index
            self.may_unmask = self.may_unmask or instruction.may_unmask()
            self.sets_limits = self.sets_limits or instruction.sets_limit()
            offset += instruction.size
        self.addresses = tuple(addresses)
        self.length = len(addresses)
        self.end = address + offset
        last = ways(self.addresses[-1], self.instructions[-1])
        self.ways: Ways = last._replace(falls=True) if conditional else last

    def index(self, address: int) -> int:
        """Return how many of its instructions lie before an address inside it."""
        return bisect_left(self.addresses, address)


class CortexMPath(BlockPath[CortexMBlock]):
    """The blocks of a Cortex-M.

    :param read: Reads bytes of code; may return fewer than asked for.
    :param it_state: Returns ITSTATE where a block begins.
    :param lacks: Tells what the core lacks; None: nothing.
    """

    def __init__(
        self, read: Callable[[int, int], bytes], it_state: Callable[[], int] = lambda: 0, lacks: Lacks = None
    ) -> None:
        super().__init__(read, lambda address, code: CortexMBlock(address, code, it_state(), lacks))
        self._lacks = lacks
        # Whether an instruction that sets a stack limit was met.
        self.sets_limits = False

    def block(self, address: int, size: int) -> CortexMBlock:
        """Return the block of `size` bytes at an address."""
        found = super().block(address, size)
        self.sets_limits = self.sets_limits or found.sets_limits
        return found

    def refuses(self, instruction: T32Instruction) -> bool:
        """Tell whether an instruction faults while the floating-point unit is off."""
        return instruction.is_floating_point() or self._lacks is not None and self._lacks(instruction)

    def instruction(self, address: int) -> T32Instruction:
        """Return the instruction at an address."""
        return decode(self._read(address, 4), 0)
