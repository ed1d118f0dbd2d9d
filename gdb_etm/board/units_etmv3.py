"""Models of the ETMv3 trace units: their registers (IHI 0014Q, 3.5)."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional


class Etmv3Model(NamedTuple):
    """One kind of ETMv3."""

    part: int
    # Implemented bits of ETMCR.
    control: int
    # ETMCR after a reset.
    control_reset: int
    # ETMCCR: what resources it has.
    ccr: int
    scr: int
    idr: int
    ccer: int
    # Bytes that its FIFO holds.
    fifo: int
    # ETMSYNCFR where that cannot be written.
    fixed_sync: Optional[int]
    # Implemented bits of registers that the identification registers say nothing about.
    masks: Mapping[int, int]

    @property
    def has_data(self) -> bool:
        """Whether it can trace loads and stores."""
        return bool(self.control & 0xC)


# The unit in the Cortex-M4 (CoreSight ETM-M4 TRM, DDI 0440C, 3; the values are also in headers of the EFM32WG and the
# SAM E51): no comparators of its own, four watchpoint inputs from the DWT, no data trace, no cycle counts.
ETM_M4 = Etmv3Model(
    part=0x925,
    control=0x10632FF1,
    control_reset=0x00000411,
    ccr=0x8C802000,
    scr=0x00020D09,
    idr=0x4114F250,
    ccer=0x18541800,
    fifo=24,
    fixed_sync=0x400,
    masks={},
)

# A fuller unit, which no Cortex-M4 has: data trace, cycle counts, four pairs of address comparators for instructions
# and data, two counters, the sequencer, four external inputs and two outputs, 64-bit timestamps, a synchronisation
# period to choose.
ETM_DATA = ETM_M4._replace(
    control=ETM_M4.control | 0x0004100C,
    ccr=0x8CA94004,
    scr=0x00000D09,
    ccer=(ETM_M4.ccer | 1 << 29) & ~(1 << 27 | 1 << 12),
    fixed_sync=None,
    masks={
        0x01C: 0x000000FF,  # ETMTECR2
        0x028: 0x0100000F,  # ETMFFRR
        0x030: 0x0001FFFF,  # ETMVDEVR
        0x034: 0x00FF00FF,  # ETMVDCR1
        0x038: 0,  # ETMVDCR2
        0x03C: 0x00010F0F,  # ETMVDCR3
        0x1E0: 0x00000FFF,  # ETMSYNCFR
    },
)
