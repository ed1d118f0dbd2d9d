"""Puts a program into flash and RAM, as if it had been programmed before power-up."""

from __future__ import annotations

from gdb_etm.board.bus import Bus
from gdb_etm.program.elf import open_elf


def load_elf(bus: Bus, path: str) -> None:
    """Copy the loadable segments of an ELF file to their physical addresses.

    :param bus: The memory.
    :param path: The file.
    :raises ImageError: it cannot be read.
    :raises ValueError: it is not for Arm, or does not fit into flash and RAM.
    """
    with open_elf(path) as elf:
        segments = [(each["p_paddr"], each.data()) for each in elf.iter_segments() if each["p_type"] == "PT_LOAD"]
        machine = elf["e_machine"]
    if machine != "EM_ARM":
        raise ValueError("%s: not a program for Arm" % path)
    for address, data in segments:
        place = bus.memory(address, len(data))
        if place is None:
            raise ValueError("%s: nothing at 0x%08x to load a segment of %d bytes into" % (path, address, len(data)))
        memory, offset = place
        memory[offset : offset + len(data)] = data
