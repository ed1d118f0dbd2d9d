"""RAM of a program, by the memory map and its ELF file."""

from __future__ import annotations

from typing import Final, Iterable, List, Optional, Sequence, Tuple

from gdb_etm.program.elf import open_elf

# First address, and the address just past the last.
Piece = Tuple[int, int]

# Where M-profile's memory map has RAM (Armv8-M ARM, B8.1).
SRAM: Final[Piece] = (0x20000000, 0x40000000)
# From there on that map has the core's own registers, and vendors'.
_SYSTEM: Final = 0xE0000000
# So far apart pieces of RAM are taken to be one, with a heap between them.
_CLOSE: Final = 1 << 20
# A stack whose pointer alone is known is assumed to lie in a block of this size.
_STACK: Final = 1 << 16


def load_writable(path: str) -> List[Piece]:
    """Read where an ELF file has sections that the program may write.

    Of a file without section headers, the segments decide.

    :raises ImageError: When it cannot be read.
    """
    from elftools.elf.constants import P_FLAGS, SH_FLAGS

    found = []
    wanted = SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_WRITE
    with open_elf(path) as elf:
        for section in elf.iter_sections():
            if section["sh_flags"] & wanted == wanted and section["sh_size"]:
                found.append((section["sh_addr"], section["sh_addr"] + section["sh_size"]))
        for segment in elf.iter_segments("PT_LOAD") if not elf.num_sections() else ():
            if segment["p_flags"] & P_FLAGS.PF_W and segment["p_memsz"]:
                found.append((segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"]))
    return found


def regions(writable: Iterable[Piece], stacks: Iterable[int], m_profile: bool) -> List[Piece]:
    """Give the regions that may be RAM.

    What is stored there may be loaded again.

    :param writable: What ELF files say, see :func:`load_writable`.
    :param stacks: Stack pointers.
    :param m_profile: Whether the core has M-profile's memory map.
    """
    known = joined([SRAM] * m_profile + list(writable))
    plausible = [pointer for pointer in stacks if pointer and not (m_profile and pointer > _SYSTEM)]
    blocks = [(pointer - 1) // _STACK * _STACK for pointer in plausible if not _holds(known, pointer - 1)]
    return joined(known + [(block, block + _STACK) for block in blocks])


def in_use(writable: Iterable[Piece], stacks: Iterable[int], stack_top: Optional[int]) -> List[Piece]:
    """Give the RAM that a program uses.

    That is its sections, its stacks, and what is between them if that is not much.

    :param writable: What ELF files say, see :func:`load_writable`.
    :param stacks: Stack pointers.
    :param stack_top: Where the main stack begins, such as the first word of the vector table; None when unknown.
    """
    pieces = list(writable)
    for pointer in stacks:
        if not pointer:
            continue
        end = (pointer - 1) // _STACK * _STACK + _STACK
        if stack_top is not None and pointer <= stack_top <= pointer + _CLOSE:
            end = stack_top
        if not _holds(pieces, pointer) and end > pointer:
            pieces.append((pointer & ~3, end))
    return joined(pieces, _CLOSE)


def joined(pieces: Sequence[Piece], apart: int = 0) -> List[Piece]:
    """Make one of pieces that overlap or touch.

    :param apart: How many bytes there may be between them.
    """
    found: List[Piece] = []
    for start, end in sorted(pieces):
        if found and start <= found[-1][1] + apart:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _holds(pieces: Iterable[Piece], address: int) -> bool:
    return any(start <= address < end for start, end in pieces)
