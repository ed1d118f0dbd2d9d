"""Puts a program into flash and RAM, as if it had been programmed before power-up."""

from __future__ import annotations

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from gdb_etm.board.bus import Bus


def load_elf(bus: Bus, path: str) -> None:
    """Copy the loadable segments of an ELF file to their physical addresses.

    :param bus: The memory.
    :param path: The file.
    :raises OSError: it cannot be read.
    :raises ValueError: it is no ELF file for Arm, or does not fit into flash and RAM.
    """
    with open(path, "rb") as file:
        try:
            elf = ELFFile(file)
            segments = [(each["p_paddr"], each.data()) for each in elf.iter_segments() if each["p_type"] == "PT_LOAD"]
            machine = elf["e_machine"]
        except ELFError as error:
            raise ValueError("%s: not an ELF file: %s" % (path, error)) from error
    if machine != "EM_ARM":
        raise ValueError("%s: not a program for Arm" % path)
    for address, data in segments:
        place = bus.memory(address, len(data))
        if place is None:
            raise ValueError("%s: nothing at 0x%08x to load a segment of %d bytes into" % (path, address, len(data)))
        memory, offset = place
        memory[offset : offset + len(data)] = data
