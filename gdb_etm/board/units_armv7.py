"""Models of the trace units of Armv7 cores: their registers.

ETMv3 (IHI 0014Q, 3.5) and PTM (IHI 0035B, 3.16).
"""

from __future__ import annotations

from typing import Mapping, NamedTuple


class Armv7Model(NamedTuple):
    """One kind of ETMv3 or PTM."""

    part: int
    # Implemented bits of ETMCR.
    control: int
    # ETMCCR: what resources it has.
    ccr: int
    idr: int
    ccer: int
    # Other read-only registers, by offset.
    fixed: Mapping[int, int]
    # Registers that are known after a reset, and what they are.
    reset: Mapping[int, int]
    # Implemented bits of registers that the identification registers say nothing about.
    masks: Mapping[int, int]
    # Bytes that its FIFO holds.
    fifo: int = 0

    @property
    def has_data(self) -> bool:
        """Whether it can trace loads and stores."""
        return bool(self.control & 0xC)


_ETMV3_FIXED = {0x208: 0, 0xFB8: 0xC0}  # ETMIDR2, ETMAUTHSTATUS

# The unit in the Cortex-M4 (CoreSight ETM-M4 TRM, DDI 0440C, 3; the values are also in headers of the EFM32WG and the
# SAM E51): no comparators of its own, four watchpoint inputs from the DWT, no data trace, no cycle counts.
ETM_M4 = Armv7Model(
    part=0x925,
    control=0x10632FF1,
    ccr=0x8C802000,
    idr=0x4114F250,
    ccer=0x18541800,
    fixed={**_ETMV3_FIXED, 0x014: 0x00020D09, 0x1E0: 0x400},  # ETMSCR, ETMSYNCFR
    reset={0x000: 0x00000411},  # ETMCR
    masks={0x02C: 0xFF},  # ETMFFLR
    fifo=24,
)

# A fuller unit, which no Cortex-M4 has: data trace, cycle counts, four pairs of address comparators for instructions
# and data, two counters, the sequencer, four external inputs and two outputs, 64-bit timestamps, a synchronisation
# period to choose.
ETM_DATA = ETM_M4._replace(
    control=ETM_M4.control | 0x0004100C,
    ccr=0x8CA94004,
    ccer=(ETM_M4.ccer | 1 << 29) & ~(1 << 27 | 1 << 12),
    fixed={**_ETMV3_FIXED, 0x014: 0x00000D09},  # ETMSCR
    masks={
        **ETM_M4.masks,
        0x01C: 0x000000FF,  # ETMTECR2
        0x028: 0x0100000F,  # ETMFFRR
        0x030: 0x0001FFFF,  # ETMVDEVR
        0x034: 0x00FF00FF,  # ETMVDCR1
        0x038: 0,  # ETMVDCR2
        0x03C: 0x00010F0F,  # ETMVDCR3
        0x1E0: 0x00000FFF,  # ETMSYNCFR
    },
)

# The unit of a Cortex-A9 (CoreSight PTM-A9 TRM, DDI 0401, table 3-2): PFTv1.0, four pairs of address comparators, two
# counters, the sequencer, one Context ID comparator, the start/stop block, a return stack; timestamps have 48 bits in
# Gray code.
PTM_A9 = Armv7Model(
    part=0x950,
    control=0x3000D501,
    ccr=0x8D294004,
    idr=0x411CF301,
    ccer=0x00C019A2,
    fixed={0x014: 0, 0xFB8: 0xCC},  # ETMSCR, ETMAUTHSTATUS
    reset={0x1E0: 0x400},  # ETMSYNCFR
    masks={0x1E0: 0xFFF, 0x1FC: 0xF},  # ETMSYNCFR
)
