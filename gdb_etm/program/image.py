"""Program memory as decoding needs it: bytes by address, from ELF files, dumps or the target."""

from __future__ import annotations

from bisect import bisect_right
from typing import Iterable, List, Optional, Sequence, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import ImageError

_MAX_SEGMENT = 1 << 30


class Program:
    """Program memory, made of images; where images overlap the earlier one wins.

    :param images: Pieces of memory in any order.
    """

    def __init__(self, images: Iterable[MemoryImage]) -> None:
        self.images: Tuple[MemoryImage, ...] = tuple(image for image in images if image.data)
        pieces = _without_overlap(self.images)
        self._starts = [start for start, _ in pieces]
        self._pieces = pieces

    @property
    def pieces(self) -> Sequence[Tuple[int, bytes]]:
        """The memory without overlaps: where each piece begins and its bytes, in address order."""
        return self._pieces

    def piece_at(self, address: int) -> Optional[Tuple[int, bytes]]:
        """Find the piece of memory that holds ``address``: its start and bytes, or None."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start, data = self._pieces[index]
        return (start, data) if address < start + len(data) else None

    def read(self, address: int, size: int) -> bytes:
        """Read up to ``size`` bytes; shorter where memory is unknown."""
        found = self.piece_at(address)
        if found is None:
            return b""
        start, data = found
        part = data[address - start : address - start + size]
        if len(part) < size and part:
            part += self.read(address + len(part), size - len(part))
        return part

    def identity(self) -> Tuple[Tuple[int, bytes], ...]:
        """Everything in it: equal programs have equal identities, and those have equal hashes."""
        return tuple(self._pieces)


def _without_overlap(images: Iterable[MemoryImage]) -> List[Tuple[int, bytes]]:
    pieces: List[Tuple[int, bytes]] = []
    for image in images:
        rest = [(image.address, image.data)]
        for start, data in pieces:
            rest = [part for piece in rest for part in _subtract(piece, start, start + len(data))]
        pieces.extend(rest)
    pieces.sort(key=lambda piece: piece[0])
    return pieces


def _subtract(piece: Tuple[int, bytes], low: int, high: int) -> List[Tuple[int, bytes]]:
    start, data = piece
    end = start + len(data)
    if high <= start or end <= low:
        return [piece]
    parts = []
    if start < low:
        parts.append((start, data[: low - start]))
    if high < end:
        parts.append((high, data[high - start :]))
    return parts


def load_elf(path: str) -> List[MemoryImage]:
    """Read the loadable segments of an ELF file.

    :param path: The ELF file; its virtual addresses are the core's.
    :raises ImageError: When it cannot be read, is no ELF file, or is for another processor.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    images = []
    try:
        with open(path, "rb") as stream:
            elf = ELFFile(stream)
            machine = elf["e_machine"]
            if machine not in ("EM_ARM", "EM_AARCH64"):
                raise ImageError("%s is for %s, not for an Arm processor" % (path, machine))
            for segment in elf.iter_segments("PT_LOAD"):
                size = segment["p_filesz"]
                if size > _MAX_SEGMENT:
                    raise ImageError("%s has a segment of %d bytes; at most %d are read" % (path, size, _MAX_SEGMENT))
                data = bytes(segment.data()) if size else b""
                if len(data) < size:
                    raise ImageError("%s is cut short: %d of %d bytes of a segment" % (path, len(data), size))
                if size:
                    images.append(MemoryImage(segment["p_vaddr"], data, path))
    except OSError as error:
        raise ImageError("cannot read %s: %s" % (path, error.strerror or error))
    except ELFError as error:
        raise ImageError("%s is not a readable ELF file: %s" % (path, error))
    if not images:
        raise ImageError("%s has no loadable segments; is it linked?" % path)
    return images


def load_constants(path: str) -> List[MemoryImage]:
    """Read what an ELF file says does not change while the program runs: sections that are not writable.

    A file without section headers tells by its segments.

    :param path: The ELF file; its virtual addresses are the core's.
    :raises ImageError: When it cannot be read.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.constants import P_FLAGS, SH_FLAGS
    from elftools.elf.elffile import ELFFile

    images = []
    try:
        with open(path, "rb") as stream:
            elf = ELFFile(stream)
            for section in elf.iter_sections():
                flags = section["sh_flags"] & (SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_WRITE)
                if flags == SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS":
                    if section["sh_size"] <= _MAX_SEGMENT:
                        images.append(MemoryImage(section["sh_addr"], bytes(section.data()), path))
            if not elf.num_sections():
                for segment in elf.iter_segments("PT_LOAD"):
                    if not segment["p_flags"] & P_FLAGS.PF_W and segment["p_filesz"] <= _MAX_SEGMENT:
                        images.append(MemoryImage(segment["p_vaddr"], bytes(segment.data()), path))
    except OSError as error:
        raise ImageError("cannot read %s: %s" % (path, error.strerror or error))
    except ELFError as error:
        raise ImageError("%s is not a readable ELF file: %s" % (path, error))
    return images
