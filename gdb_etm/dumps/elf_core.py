"""ELF core files of 32-bit Arm.

Ref: System V ABI, program header and note section; GDB and BFD write NT_PRSTATUS of Arm with 148 bytes, in which the
18 registers (R0 to R15, CPSR or xPSR, and one of Linux) are at byte 72, as Linux has ``struct elf_prstatus``.
"""

from __future__ import annotations

import struct
from typing import Any, Dict, List

from gdb_etm.capture import MemoryImage
from gdb_etm.dumps.dump import MOST_BYTES, MOST_PIECES, Dump
from gdb_etm.errors import ImageError
from gdb_etm.files import open_regular, size_of
from gdb_etm.program.elf import open_elf, readable

# Bytes of an ELF file's header, of 32 bits.
_HEADER = 52
_STATUS, _REGISTERS_AT, _REGISTERS = "NT_PRSTATUS", 72, 17
NAMES = (*("r%d" % number for number in range(13)), "sp", "lr", "pc", "xpsr")


def read_elf_core(path: str) -> Dump:
    """Read an ELF core file; of several threads the first one's registers.

    :raises ImageError: It is none, is cut, or is of another processor.
    """
    images: List[MemoryImage] = []
    found: List[Dict[str, int]] = []
    with readable(path, "cannot be read"), open_regular(path, MOST_BYTES) as stream:
        if size_of(stream) < _HEADER:
            words = "%s is cut short: it begins as an ELF file, whose header has %d bytes, of which %d are there"
            raise ImageError(words % (path, _HEADER, size_of(stream)))
    with open_elf(path) as elf:
        if elf["e_type"] != "ET_CORE":
            raise ImageError("%s is an ELF file, and no core file: its type is %s" % (path, elf["e_type"]))
        if elf["e_machine"] != "EM_ARM":
            raise ImageError("%s is of %s, not of a 32-bit Arm processor" % (path, elf["e_machine"]))
        for number, segment in enumerate(elf.iter_segments()):
            size = segment["p_filesz"]
            if segment["p_type"] == "PT_LOAD" and size:
                images.append(MemoryImage(segment["p_vaddr"], _data(path, number, segment, images), path))
            elif segment["p_type"] == "PT_NOTE":
                for note in segment.iter_notes():
                    if note["n_type"] == _STATUS:
                        found.append(_registers(path, note))
                        _check_threads(path, len(found))
    if not images:
        raise ImageError("%s holds no memory" % path)
    notes = () if len(found) < 2 else ("%s has %d threads: the registers are the first one's" % (path, len(found)),)
    return Dump("an ELF core file", tuple(images), found[0] if found else {}, notes)


def _data(path: str, number: int, segment: Any, images: List[MemoryImage]) -> bytes:
    size = segment["p_filesz"]
    if size + sum(len(image.data) for image in images) > MOST_BYTES or len(images) == MOST_PIECES:
        raise ImageError("%s: segment %d of %d bytes is too much: at most %d" % (path, number, size, MOST_BYTES))
    data = bytes(segment.data())
    if len(data) < size:
        words = "%s is cut short: segment %d at byte 0x%x has %d of %d bytes"
        raise ImageError(words % (path, number, segment["p_offset"], len(data), size))
    return data


def _check_threads(path: str, count: int) -> None:
    if count > MOST_PIECES:
        raise ImageError("%s has more than %d threads" % (path, MOST_PIECES))


def _registers(path: str, note: Any) -> Dict[str, int]:
    content = note["n_descdata"]
    data = content.encode("latin-1") if isinstance(content, str) else bytes(content)
    end = _REGISTERS_AT + 4 * _REGISTERS
    if len(data) < end:
        raise ImageError("%s: its note with registers has %d bytes, not %d" % (path, len(data), end))
    return dict(zip(NAMES, struct.unpack_from("<%dI" % _REGISTERS, data, _REGISTERS_AT)))
