"""Basic blocks: instructions up to the next one that is reported."""

from __future__ import annotations

from enum import Enum
from struct import unpack, unpack_from
from typing import TYPE_CHECKING, Callable, Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.program.accesses import Access, accesses
from gdb_etm.program.futures import Future, decode_future
from gdb_etm.program.image import Program
from gdb_etm.program.isa import (
    CERTAIN_A64,
    NO_BRANCH,
    TO_REGISTER,
    Insn,
    InstructionKind,
    Isa,
    decode_a32,
    decode_a64,
    decode_t16,
    decode_t32,
    from_packed,
    is_aligned,
    is_unconditional,
    is_wide,
    offset_a64,
    to_packed,
)
from gdb_etm.program.plain import NOT_PLAIN, CodeWords, list_plain, skip_plain
from gdb_etm.program.untaken import always_taken

if TYPE_CHECKING:
    from mypy_extensions import i64

    # What atoms do at a block: where an N and an E lead, as packed addresses, and how many instructions ran.  An odd
    # number below 0 stands for no address: TO_REGISTER or one of those below.
    Outline = Tuple[i64, i64, i64]

_MAX_INSTRUCTIONS: Final = 1 << 16
# A name of its own is faster to reach than an enumeration's member.
_OTHER: Final = InstructionKind.OTHER
_DIRECT: Final = InstructionKind.DIRECT
_INDIRECT: Final = InstructionKind.INDIRECT
_WAIT: Final = InstructionKind.WAIT
_FUTURE: Final = InstructionKind.FUTURE
_A32: Final = Isa.A32
_T32: Final = Isa.T32
_A64: Final = Isa.A64
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class BlockEnd(Enum):
    """Why a block ends where it ends."""

    BRANCH = "branch"
    NO_CODE = "no code"
    TOO_LONG = "no branch found"


_BRANCH: Final = BlockEnd.BRANCH
_NO_CODE: Final = BlockEnd.NO_CODE


class Block(NamedTuple):
    """Instructions from ``start`` up to and including the first that is traced."""

    start: int
    # Address just past the last instruction walked; for NO_CODE the address that has no code.
    end: int
    # Number of instructions walked.
    instructions: int
    isa: Isa
    stop: BlockEnd
    # The branch at the end, when ``stop`` is BRANCH.
    last: Optional[Insn]
    # Size in bytes of the instruction just past ``end`` that a branch future replaces by ``last``; 0 otherwise.
    replaced: int = 0


# The branch never goes that way.
NEVER: Final = -3
# There is no branch.
NOWHERE: Final = -5
# More than the block decides.
UNCLEAR: Final = -7


class Blocks:
    """Finds blocks in a program and keeps them.

    :param program: The program's memory.
    :param waits: Whether the unit traces WFI and WFE as branches (TRCIDR2.WFXMODE).
    :param futures: Whether the unit traces branch-future instructions (TRCIDR0.BF).
    :param transfers: The loads or stores that the unit traces as branches (TRCCONFIGR.INSTP0).
    :param others: Whether, by an instruction's bytes, the unit traces it though it is no branch; None when it
        traces no such instruction.
    """

    def __init__(
        self,
        program: Program,
        waits: bool = False,
        futures: bool = False,
        transfers: Access = Access.NONE,
        others: Optional[Callable[[bytes, Isa], bool]] = None,
    ) -> None:
        self.program = program
        self._waits = waits
        self._futures = futures
        self._transfers = transfers
        self._others = others
        self._blocks: Dict[Tuple[int, Isa], Block] = {}
        # Of T32 code, by its start and end.
        self._addresses: Dict[Tuple[int, int], List[int]] = {}
        # The A32 or A64 code that was looked at last.
        self._words = _NO_WORDS
        # The memory that was looked at last.
        self._piece: Tuple[int, bytes] = (0, b"")

    def at(self, address: int, isa: Isa) -> Block:
        """Give the block that begins at ``address``."""
        key = (address, isa)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = self.find(address, isa)
        return block

    def find(self, address: int, isa: Isa) -> Block:
        """Give the block that begins at ``address``, without keeping it."""
        words = self._words
        if words.isa is not isa or not words.start <= address < words.end or address & 3:
            piece = self.program.piece_at(address)
            if piece is None:
                return _new(Block, (address, address, 0, isa, _NO_CODE, None, 0))
            found = self._find_words(piece, address, isa)
            if found is None:
                return self._walk(address, isa)
            words = found
        first = index = (address - words.start) >> 2
        while True:
            index = words.marks.find(NOT_PLAIN, index, first + _MAX_INSTRUCTIONS)
            if index < 0:
                return self._walk(address, isa)
            at = words.start + (index << 2)
            word = words.words[index]
            insn = decode_a64(at, word) if isa is _A64 else decode_a32(at, word)
            if insn.kind is _DIRECT or insn.kind is _INDIRECT:
                return _new(Block, (address, at + 4, index - first + 1, isa, _BRANCH, insn, 0))
            if insn.kind is not _OTHER:
                return self._walk(address, isa)
            index += 1

    def outline(self, packed: i64, wide: bool) -> Outline:
        """Give the outline of the block at a packed address.

        :param wide: Whether it is A64 code.
        """
        words = self._words
        distance = packed - words.first
        if wide and words.isa is _A64 and 0 <= distance < words.size and not distance & 3:
            first = index = distance >> 2
            while True:
                index = words.marks.find(NOT_PLAIN, index, first + _MAX_INSTRUCTIONS)
                if index < 0:
                    break
                word: i64 = words.words[index]
                at = words.first + (index << 2)
                offset = offset_a64(word)
                if offset != NO_BRANCH:
                    form = CERTAIN_A64[word >> 24]
                    certain = form == 1 or form and word & 0xE == 0xE
                    taken = TO_REGISTER if offset & 3 else at + offset
                    return NEVER if certain else at + 4, taken, index - first + 1
                if word & 0xFFFFFFDF == 0xD503205F:
                    # WFE and WFI.
                    break
                index += 1
        elif self.program.piece_at(from_packed(packed)) is None:
            return NOWHERE, NOWHERE, 0
        isa = _A64 if wide else _T32 if packed & 1 else _A32
        block = self.find(from_packed(packed), isa)
        last = block.last
        if last is None:
            return NOWHERE, NOWHERE, block.instructions if block.stop is _NO_CODE else 0
        if last.kind is _FUTURE:
            return UNCLEAR, UNCLEAR, 0
        skipped = NEVER if self.always_taken(block) else to_packed(block.end, isa is _T32)
        taken = TO_REGISTER if last.kind is _INDIRECT else to_packed(last.target, last.isa is _T32)
        return skipped, taken, block.instructions

    def _find_words(self, piece: Tuple[int, bytes], address: int, isa: Isa) -> Optional[CodeWords]:
        # The code that holds an address, where ends of blocks can be searched for.
        start, data = piece
        if isa is _T32 or (address | start) & 3 or self._transfers or self._others is not None:
            return None
        key = (start, isa)
        words = self.program.words.get(key)
        if words is None:
            words = self.program.words[key] = CodeWords(start, isa, data)
        self._words = words
        return words

    def instruction(self, address: int, isa: Isa) -> Optional[Insn]:
        """Decode the instruction at ``address``.

        None where there is no code, or no instruction can begin.
        """
        if not is_aligned(address, isa):
            return None
        start, data = self._piece
        if not 0 <= address - start <= len(data) - 4:
            found = self.program.piece_at(address)
            if found is None:
                return None
            self._piece = start, data = found
            if len(data) - (address - start) < 4:
                start, data = address, self.program.read(address, 4)
        return _decode(data, address - start, address, isa)

    def line(self, address: int, isa: Isa, most: int) -> Tuple[List[int], Optional[Insn]]:
        """List the addresses of instructions up to the first branch.

        :param most: How many instructions at most.
        :returns: The addresses, that after the last instruction included; and the branch, None where the list ends
            before one or where there is no code.
        """
        addresses = [address]
        while len(addresses) <= most:
            if not self._finds(address) or not is_aligned(address, isa):
                break
            start, data = self._piece
            address = list_plain(data, address - start, isa, addresses, most)
            insn = self.instruction(address, isa) if len(addresses) <= most else None
            if insn is None:
                break
            address += insn.size
            addresses.append(address)
            if insn.kind is _DIRECT or insn.kind is _INDIRECT:
                return addresses, insn
        return addresses, None

    def until(self, address: int, isa: Isa, stop: int) -> Block:
        """Walk from ``address`` over every instruction that begins before ``stop``.

        The block ends early, with its reason, at missing code or at a traced instruction.
        """
        at = address
        count = 0
        while at < stop and count < _MAX_INSTRUCTIONS:
            insn = self.instruction(at, isa)
            if insn is None:
                return Block(address, at, count, isa, BlockEnd.NO_CODE, None)
            # A load or store that was interrupted half-way is not traced until it is restarted (5.2.7).
            interrupted = insn.kind is _OTHER and at + insn.size > stop
            if not interrupted and self._is_traced(insn, at, isa):
                return Block(address, at, count, isa, BlockEnd.BRANCH, insn)
            at += insn.size
            count += 1
        return Block(address, at, count, isa, BlockEnd.TOO_LONG, None)

    def before(self, address: int, isa: Isa, future: Future) -> Block:
        """Give the block at ``address`` while a branch future is in effect."""
        block = self.at(address, isa)
        ends = block.end - (block.last.size if block.last is not None else 0)
        if future.end < address or ends < future.end:
            return block
        walked = self.until(address, isa, future.end)
        if walked.end != future.end:
            return block
        branch = Insn(0, _INDIRECT if future.indirect else _DIRECT, future.target, isa, future.link)
        return Block(address, future.end, walked.instructions, isa, BlockEnd.BRANCH, branch, future.size)

    def always_taken(self, block: Block) -> bool:
        """Return whether a block's last branch is taken whenever it runs.

        Not said of what goes on with the next instruction either way, nor of what branch futures imply.
        """
        last, end, isa = block.last, block.end, block.isa
        if last is None or not last.size or last.kind is _FUTURE or last.target == end and last.isa is isa:
            return False
        words = self._words
        if words.isa is isa and words.start < end <= words.end:
            return is_unconditional(words.words[(end - words.start >> 2) - 1], isa)
        return always_taken(self.program.read, block.start, end - last.size, isa)

    def future(self, address: int) -> Future:
        """Decode the branch future instruction at ``address``."""
        first, second = unpack("<HH", self.program.read(address, 4))
        return decode_future(address, first, second)

    def some(self, address: int, isa: Isa, count: int) -> Block:
        """Walk at most ``count`` instructions from ``address``, and follow no branch.

        :returns: A block whose ``last`` is the branch at its end when that is always taken and its target is known;
            before any other traced instruction the block ends.
        """
        at = address
        walked = 0
        while walked < min(count, _MAX_INSTRUCTIONS):
            insn = self.instruction(at, isa)
            if insn is None:
                return Block(address, at, walked, isa, BlockEnd.NO_CODE, None)
            # An ISB or a wait goes on with the next instruction, E or N (5.2.5).
            goes_on = insn.kind is _WAIT or insn.kind is _DIRECT and insn.target == at + insn.size
            if not goes_on and self._is_traced(insn, at, isa):
                word = int.from_bytes(self.program.read(at, 4), "little")
                # In T32 it may be in an IT block.
                if insn.kind is not _DIRECT or isa is _T32 or not is_unconditional(word, isa):
                    return Block(address, at, walked, isa, BlockEnd.BRANCH, None)
                return Block(address, at + insn.size, walked + 1, isa, BlockEnd.BRANCH, insn)
            at += insn.size
            walked += 1
        return Block(address, at, walked, isa, BlockEnd.TOO_LONG, None)

    def addresses(self, start: int, end: int, isa: Isa) -> List[int]:
        """List the addresses of the instructions in an executed range.

        The list is kept for the next time and must not be changed.
        """
        if isa is not _T32:
            return list(range(start, end, 4))
        found = self._addresses.get((start, end))
        if found is None:
            found = self._addresses[start, end] = self._find_addresses(start, end)
        return found

    def _find_addresses(self, start: int, end: int) -> List[int]:
        found = []
        at = start
        while at < end:
            found.append(at)
            half = self.program.read(at, 2)
            at += 4 if len(half) == 2 and is_wide(half[0] | half[1] << 8) else 2
        return found

    def _is_traced(self, insn: Insn, address: int, isa: Isa) -> bool:
        kind = insn.kind
        if kind is _WAIT:
            return self._waits
        if kind is _FUTURE:
            return self._futures
        if kind is not _OTHER or self._others is not None and self._others(self.program.read(address, 4), isa):
            return True
        return bool(self._transfers) and bool(self._transfers & accesses(self.program.read(address, 4), 0, isa))

    def _finds(self, address: int) -> bool:
        # Whether there is memory, which is the piece that was looked at last then.
        start, data = self._piece
        if 0 <= address - start < len(data):
            return True
        found = self.program.piece_at(address)
        self._piece = found or self._piece
        return found is not None

    def _walk(self, address: int, isa: Isa) -> Block:
        at = address
        count = 0
        while count < _MAX_INSTRUCTIONS:
            if not self._transfers and self._finds(at) and is_aligned(at, isa):
                start, data = self._piece
                index, skipped = skip_plain(data, at - start, isa)
                at, count = start + index, count + skipped
            insn = self.instruction(at, isa)
            if insn is None:
                return Block(address, at, count, isa, BlockEnd.NO_CODE, None)
            if (insn.kind is not _OTHER or self._transfers or self._others) and self._is_traced(insn, at, isa):
                at += insn.size
                if insn.kind is _WAIT or insn.kind is _OTHER:
                    # Waits, loads and stores go on with the next instruction (5.2.5).
                    insn = Insn(insn.size, _DIRECT, at, isa, False)
                return _new(Block, (address, at, count + 1, isa, _BRANCH, insn, 0))
            at += insn.size
            count += 1
        return Block(address, at, count, isa, BlockEnd.TOO_LONG, None)


_NO_WORDS: Final = CodeWords(0, _A64, b"")


def _decode(data: bytes, index: int, address: int, isa: Isa) -> Optional[Insn]:
    left = len(data) - index
    if isa is _T32:
        if left < 2:
            return None
        first = data[index] | data[index + 1] << 8
        if not is_wide(first):
            return decode_t16(address, first)
        if left < 4:
            return None
        return decode_t32(address, first, data[index + 2] | data[index + 3] << 8)
    if left < 4:
        return None
    word: int = unpack_from("<I", data, index)[0]
    return decode_a64(address, word) if isa is _A64 else decode_a32(address, word)
