"""Program memory for decoding: bytes by address."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from gdb_etm.capture import MemoryImage, disjoint
from gdb_etm.errors import ImageError
from gdb_etm.program.elf import open_elf
from gdb_etm.program.isa import Isa
from gdb_etm.program.plain import CodeWords


class Program:
    """Program memory, made of images; where images overlap the earlier one wins.

    :param images: Pieces of memory in any order.
    """

    def __init__(self, images: Iterable[MemoryImage]) -> None:
        self.images: Tuple[MemoryImage, ...] = tuple(image for image in images if image.data)
        self._pieces = sorted((piece.address, piece.data) for piece in disjoint(self.images))
        self._starts = [start for start, _ in self._pieces]
        # A32 and A64 code by where it begins, once it was searched.
        self.words: Dict[Tuple[int, Isa], CodeWords] = {}

    @property
    def pieces(self) -> Sequence[Tuple[int, bytes]]:
        """The memory without overlaps: addresses and bytes, in address order."""
        return self._pieces

    def piece_at(self, address: int) -> Optional[Tuple[int, bytes]]:
        """Find the piece with ``address``: its start and bytes, or None."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start, data = self._pieces[index]
        return (start, data) if address < start + len(data) else None

    def read(self, address: int, size: int) -> bytes:
        """Read up to ``size`` bytes; shorter where memory is unknown."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            start, data = self._pieces[index]
            whole = data[address - start : address - start + size]
            if len(whole) == size:
                return whole
        parts = []
        while size > 0:
            found = self.piece_at(address)
            if found is None:
                break
            start, data = found
            parts.append(data[address - start : address - start + size])
            address, size = address + len(parts[-1]), size - len(parts[-1])
        return b"".join(parts)

    def identity(self) -> Tuple[Tuple[int, bytes], ...]:
        """All pieces, hashable: equal programs have equal identities."""
        return tuple(self._pieces)


def load_elf(path: str) -> List[MemoryImage]:
    """Read the loadable segments of an ELF file.

    What a program copies when it begins, such as the initial values of variables, is also where it is loaded to.

    :param path: The ELF file; its virtual addresses are the core's.
    :raises ImageError: When it cannot be read, is no ELF file, or is for another processor.
    """
    images: List[MemoryImage] = []
    loaded: List[MemoryImage] = []
    with open_elf(path) as elf:
        machine = elf["e_machine"]
        if machine not in ("EM_ARM", "EM_AARCH64"):
            raise ImageError("%s is for %s, not for an Arm processor" % (path, machine))
        for segment in elf.iter_segments("PT_LOAD"):
            size = segment["p_filesz"]
            data = bytes(segment.data()) if size else b""
            if len(data) < size:
                raise ImageError("%s is cut short: %d of %d bytes of a segment" % (path, len(data), size))
            if size:
                images.append(MemoryImage(segment["p_vaddr"], data, path))
                loaded.append(MemoryImage(segment["p_paddr"], data, path))
    if not images:
        raise ImageError("%s has no loadable segments; is it linked?" % path)
    # Tools that know of no load addresses leave all of them 0.
    are_given = any(image.address for image in loaded)
    return images + [one for one, image in zip(loaded, images) if are_given and one.address != image.address]


def load_constants(path: str, code: bool = False) -> List[MemoryImage]:
    """Read the sections of an ELF file that are not writable.

    Of a file without section headers, the segments decide.

    :param path: The ELF file; its virtual addresses are the core's.
    :param code: Only what holds instructions.
    :raises ImageError: When it cannot be read.
    """
    from elftools.elf.constants import P_FLAGS, SH_FLAGS

    images = []
    wanted = SH_FLAGS.SHF_ALLOC | (SH_FLAGS.SHF_EXECINSTR if code else 0)
    executed = P_FLAGS.PF_X if code else 0
    with open_elf(path) as elf:
        for section in elf.iter_sections():
            flags = section["sh_flags"] & (wanted | SH_FLAGS.SHF_WRITE)
            if flags == wanted and section["sh_type"] != "SHT_NOBITS":
                images.append(MemoryImage(section["sh_addr"], bytes(section.data()), path))
        for segment in elf.iter_segments("PT_LOAD") if not elf.num_sections() else ():
            if segment["p_flags"] & (executed | P_FLAGS.PF_W) == executed:
                images.append(MemoryImage(segment["p_vaddr"], bytes(segment.data()), path))
    return images
