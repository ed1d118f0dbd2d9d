"""What a recovery may rely on: memory regions, calling convention, frame information."""

from __future__ import annotations

from typing import Final, NamedTuple, Optional, Protocol, Tuple

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.objects import Objects
from gdb_etm.recovery.values import Tier

# Where M-profile's memory map has RAM (Armv8-M ARM, B8.1).
RAM = ((0x20000000, 0x40000000),)
# And where it has no memory: devices, and the core's own registers (Armv8-M ARM, B8.1).
DEVICES = ((0x40000000, 0x60000000), (0xA0000000, 1 << 32))
# Alias of the first megabyte of RAM, a word for each bit (Armv7-M ARM, B3.1; Cortex-M3 and M4).
BIT_BAND: Final = (0x22000000, 0x24000000)


class FrameInformation(Protocol):
    """Call frame information of a program, by address."""

    def row(self, address: int) -> Optional[FrameRow]:
        """Give the frame information before the instruction at ``address``; None without any."""

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        """Give the start and end of an address's function, if known."""

    def __hash__(self) -> int:
        """Its identity, by which what is found out is kept."""


class Rules(NamedTuple):
    """What a recovery may rely on."""

    # The worst tier that is worked out.
    limit: Tier = Tier.ASSUMED
    # Pieces of RAM, each from its first address to just past its last; elsewhere nothing that is loaded is believed
    # to have been stored before, but what is in the program's images is believed to be constant.
    ram: Tuple[Tuple[int, int], ...] = RAM
    # Pieces of RAM that others write too (DMA, another core).
    volatile: Tuple[Tuple[int, int], ...] = ()
    # Whether the core has bit-band aliases, through which stores reach RAM.
    bit_band: bool = False
    # Registers besides SP that calls and handlers keep (AAPCS32, 6.1.1).
    calls_keep: Tuple[int, ...] = (4, 5, 6, 7, 8, 9, 10, 11)
    # Whether exceptions may push a frame with floating-point registers; None when the core and the program
    # tell.
    fpu: Optional[bool] = None
    frames: Optional[FrameInformation] = None
    # Objects of the program; None when they are not known.
    objects: Optional[Objects] = None
    # Pieces of RAM in which threads may have their stacks; they are searched for what exceptions pushed.
    stacks: Tuple[Tuple[int, int], ...] = ()
    # Whether the debugger changed no register and no memory while the core was halted within the history.
    untouched: bool = False
    # Where that is not so all the same: instructions from and to which the debugger may have, at halts after them.
    touched: Tuple[Tuple[int, int], ...] = ()
    # How many instructions are worked on at once: at first those before the end, then older ones.
    window: int = 50000
    # How many instructions before the end are worked on at most; None is all of them.
    most: Optional[int] = None
