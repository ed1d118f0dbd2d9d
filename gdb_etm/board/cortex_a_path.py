"""From the blocks that Unicorn reports to the instructions that ran, on a core with A32 and T32 code.

Places in a program are addresses with bit 0 set for T32 code.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.board.bus import FLASH_SIZE
from gdb_etm.board.path import WrongPath
from gdb_etm.program.isa import InstructionKind, Isa, decode_a32, decode_t16, decode_t32, is_wide


class CortexABlock(NamedTuple):
    """A straight run of instructions."""

    places: Tuple[int, ...]
    # The place after it.
    end: int
    # Where its last instruction leads, when that is a direct branch.
    target: Optional[int]
    # Whether it ends with an indirect branch.
    anywhere: bool
    # Whether its last instruction may change the mode, what is masked, or the context.
    changes: bool
    # Whether it ends with an exception return.
    returns: bool
    # Whether it ends with WFI.
    waits: bool
    # Whether it ends with WFE or YIELD, after which Unicorn stops with an error although it is done.
    pauses: bool


class CortexAPath:
    """Blocks by their places.

    :param read: Reads bytes of code.
    """

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._known: Dict[Tuple[int, bytes], CortexABlock] = {}
        self._fixed: Dict[Tuple[int, int], CortexABlock] = {}

    def forget(self) -> None:
        """Forget all code, because some has been written."""
        self._known.clear()
        self._fixed.clear()

    def block(self, place: int, size: int) -> CortexABlock:
        """Return the block of `size` bytes at a place.

        Code in RAM is looked at each time, since the program itself may write it.
        """
        found = self._fixed.get((place, size))
        if found is None:
            code = self._read(place & ~1, size)
            found = self._known.get((place, code))
            if found is None:
                found = self._known[place, code] = make_block(place, code)
            if place < FLASH_SIZE:
                self._fixed[place, size] = found
        return found

    def walk(self, blocks: Sequence[CortexABlock], pc: Optional[int]) -> List[int]:
        """Return the places of the instructions that ran.

        :param blocks: The blocks that were entered, in order.
        :param pc: The place of the next instruction when the last block may have been left early.
        :raises WrongPath: a block does not follow from the one before.
        """
        executed: List[int] = []
        before: Optional[CortexABlock] = None
        for block in blocks:
            if before is not None and not before.anywhere and block.places[0] not in (before.target, before.end):
                raise WrongPath("0x%08x cannot be followed by 0x%08x" % (before.places[-1], block.places[0]))
            executed += block.places
            before = block
        if before is not None and pc in before.places:
            del executed[len(executed) - len(before.places) + before.places.index(pc) :]
        return executed


def make_block(place: int, code: bytes) -> CortexABlock:
    """Take a block's instructions apart."""
    thumb, at, offset = place & 1, place & ~1, 0
    places: List[int] = []
    last = 0
    while offset < len(code):
        places.append(place + offset)
        last = int.from_bytes(code[offset : offset + (2 if thumb else 4)], "little")
        size = 4 if not thumb or is_wide(last) else 2
        if thumb and size == 4:
            last = last << 16 | int.from_bytes(code[offset + 2 : offset + 4], "little")
        offset += size
    address = places[-1] & ~1
    if not thumb:
        insn, traits = decode_a32(address, last), _traits_a32(last)
    elif size == 4:
        insn, traits = decode_t32(address, last >> 16, last & 0xFFFF), _traits_t32(last)
    else:
        insn, traits = decode_t16(address, last), _traits_t16(last)
    target = insn.target | (insn.isa is Isa.T32) if insn.kind is InstructionKind.DIRECT else None
    return CortexABlock(tuple(places), (at + offset) | thumb, target, insn.kind is InstructionKind.INDIRECT, *traits)


# What a block's last instruction does besides: changes, returns, waits, pauses (DDI 0406, A5, A6 and B9).
_Traits = Tuple[bool, bool, bool, bool]


def _traits_a32(code: int) -> _Traits:
    returns = (
        code & 0x0E10F000 == 0x0010F000  # data processing with S and the PC, by register
        or code & 0x0E10F000 == 0x0210F000  # by constant
        or code & 0x0E508000 == 0x08508000  # LDM with the PC and the SPSR
    )
    returns = returns and code >> 28 != 0xF and code & 0x01900000 != 0x01100000 or code & 0xFE50FFFF == 0xF8100A00
    changes = (
        code & 0xFFF1FE20 == 0xF1000000  # CPS
        or code & 0x0FB0F000 == 0x0120F000  # MSR by register
        or code & 0x0FB0F000 == 0x0320F000  # MSR by constant; among its encodings are the hints
        or code & 0x0F100F10 == 0x0E000F10  # MCR to the system control coprocessor
    )
    hint = code & 0x0FFFFFFF
    return changes or returns, returns, hint == 0x0320F003, hint in (0x0320F001, 0x0320F002)


def _traits_t32(code: int) -> _Traits:
    returns = code & 0xFFFFFF00 == 0xF3DE8F00 or code & 0xFFD0FFFF in (0xE810C000, 0xE990C000)
    changes = (
        code & 0xFFFFF800 == 0xF3AF8000
        and code & 0x700 != 0  # CPS
        or code & 0xFFE0D000 == 0xF3808000  # MSR
        or code & 0xFF100F10 == 0xEE000F10  # MCR to the system control coprocessor
    )
    return changes or returns, returns, code == 0xF3AF8003, code in (0xF3AF8001, 0xF3AF8002)


def _traits_t16(code: int) -> _Traits:
    return code & 0xFFE8 == 0xB660, False, code == 0xBF30, code in (0xBF10, 0xBF20)
