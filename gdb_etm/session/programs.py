"""Program files that a command names, compared with a snapshot's code."""

from __future__ import annotations

import os
from itertools import chain
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import MemoryImage, RawCapture, with_images
from gdb_etm.errors import CommandError, ImageError
from gdb_etm.program.image import Program, load_constants, load_elf

# Less than one byte in so many may differ: breakpoints, and what a kernel patches in its own code.
_FEW = 16
# Bytes shown of either.
_SHOWN = 4


def named_files(paths: Iterable[str]) -> List[str]:
    """Give the files after ``--elf`` with their whole paths.

    :raises CommandError: One of them is not there.
    """
    found = [os.path.abspath(path) for path in paths]
    for path in found:
        if not os.path.exists(path):
            raise CommandError("--elf: no file %s" % path)
    return found


def with_programs(captures: Sequence[RawCapture], paths: Sequence[str]) -> List[RawCapture]:
    """Put programs into captures, compared with the code that each holds already.

    Where nothing differs the programs' bytes come first, else the capture's own.

    :param captures: Of a snapshot.
    :param paths: The ELF files.
    :raises ImageError: A file cannot be read, or is another program.
    """
    images = tuple(image for path in paths for image in load_elf(path))
    found = []
    for capture in captures:
        differences = differences_of(capture, paths)
        for one in differences:
            if not one.is_small:
                raise ImageError(str(one))
        filled = with_images(capture, images, first=not differences)
        found.append(filled._replace(notes=capture.notes + tuple(map(str, differences))))
    return found


class CodeDifference(NamedTuple):
    """How a program's code differs from what a snapshot holds."""

    path: str
    # Where the snapshot's bytes are from.
    image: str
    # Of the first byte that differs.
    address: int
    # What the program has there.
    code: bytes
    # What the snapshot has there.
    held: bytes
    # Bytes that are the same.
    equal: int
    compared: int

    @property
    def is_small(self) -> bool:
        """Whether it is the same program for all that."""
        return (self.compared - self.equal) * _FEW < self.compared

    def __str__(self) -> str:
        words = "at 0x%08x it has %s, %s has %s; %d of %d bytes of code are the same" % (
            self.address,
            self.code.hex(),
            os.path.basename(self.image),
            self.held.hex(),
            self.equal,
            self.compared,
        )
        if not self.is_small:
            return "%s is another program than the snapshot's: %s.  Try the file that ran" % (self.path, words)
        return "%s differs from the snapshot's code: %s.  The snapshot's is decoded; names and lines may be wrong" % (
            self.path,
            words,
        )


def differences_of(capture: RawCapture, paths: Iterable[str]) -> List[CodeDifference]:
    """Compare programs with the code that a capture holds.

    What the program changes while it runs is not compared.

    :param capture: A capture before programs were put into it.
    :param paths: ELF files.
    :returns: One for each file that differs.
    :raises ImageError: A file cannot be read.
    """
    held: Dict[int, MemoryImage] = {}
    for source in capture.sources:
        changed = source.core.memory if source.core is not None else ()
        held.update((id(image.data), image) for image in source.images if image not in changed)
    images = list(held.values())
    own = Program(images)
    found = (_difference(path, own, images) for path in paths if images)
    return [one for one in found if one is not None]


def holds(path: str, program: Program) -> bool:
    """Whether a file holds a program's code, but for a few bytes.

    It does not if it was built again since.
    """
    try:
        found = _difference(path, program, ())
    except ImageError:
        return True
    return found is None or found.is_small


def _difference(path: str, own: Program, images: Sequence[MemoryImage]) -> Optional[CodeDifference]:
    first: Optional[Tuple[int, bytes, bytes]] = None
    equal = compared = 0
    for address, code, data in chain.from_iterable(_common(image, own) for image in load_constants(path, code=True)):
        compared += len(code)
        unlike = _unlike(code, data)
        equal += unlike.count(0)
        if first is None and any(unlike):
            at = len(unlike) - len(unlike.lstrip(b"\0"))
            first = address + at, code[at : at + _SHOWN], data[at : at + _SHOWN]
    if first is None:
        return None
    name = next((one.name for one in images if one.address <= first[0] < one.address + len(one.data)), "")
    return CodeDifference(path, name, *first, equal, compared)


def _common(image: MemoryImage, own: Program) -> Iterable[Tuple[int, bytes, bytes]]:
    # Pieces of an image that are held, too: address, and both their bytes.
    end = image.address + len(image.data)
    for start, data in own.pieces:
        low, high = max(start, image.address), min(start + len(data), end)
        if low < high:
            yield low, image.data[low - image.address : high - image.address], data[low - start : high - start]


def _unlike(first: bytes, second: bytes) -> bytes:
    # Zero where two pieces of the same length are the same.
    if first == second:
        return bytes(len(first))
    return (int.from_bytes(first, "little") ^ int.from_bytes(second, "little")).to_bytes(len(first), "little")
