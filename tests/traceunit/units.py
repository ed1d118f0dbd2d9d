"""Identification registers of trace units, with their sources.

ETMv4 from the programming map's 5.0.
"""

from __future__ import annotations

from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities, PtmCapabilities
from gdb_etm.traceunit.etmv4.capabilities import Capabilities

_NAMES = ("TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR3", "TRCIDR4", "TRCIDR5")


def _unit(*values: int, **more: int) -> Capabilities:
    return Capabilities({**dict(zip(_NAMES, values)), **more})


# Cortex-M33: v4.2, no address comparators, fixed synchronisation period, reduced-function counter.
M33 = _unit(0x280006E1, 0x4100F421, 0x00000004, 0x0F090004, 0x00114000, 0x90C70004, TRCSYNCPR=0xA, TRCSSCSR0=0x8)
# Cortex-A53: v4.0, four comparator pairs, 64-bit addresses.
A53 = _unit(0x28000EA1, 0x4100F403, 0x00000488, 0x0D7B0004, 0x11170004, 0x28C7081E, TRCSSCSR0=0x1)
# Instruction and data trace, 32-bit, with data value comparators.
DATA = _unit(0x28021EFF, 0x4100F422, 0x00420484, 0x0D090004, 0x11170124, 0x28C70804, TRCSSCSR0=0x7)
# v4.3 without resource selectors, events or filters, and the same as v4.2, where that means one pair.
MINIMAL = _unit(0x08000281, 0x4100F430, 0x00000004, 0x02090004, 0x00000000, 0x00070000, TRCSYNCPR=0xC)
ONE_PAIR = _unit(0x080002A1, 0x4100F420, 0x00000004, 0x02090004, 0x00000000, 0x00070004, TRCSYNCPR=0xC)
ALL = (M33, A53, DATA, MINIMAL, ONE_PAIR)

# Of older units also what stays of ETMCR, ETMSYNCFR and ETMFFLR when ones are written (armv7/capabilities.py).
# ETM-M4 (programming map L790; register summary of DDI 0440): nothing to compare with, but four comparators of the DWT.
M4 = EtmV3Capabilities(
    dict(
        ETMCCR=0x8C802000,
        ETMSCR=0x00020D09,
        ETMIDR=0x4114F250,
        ETMCCER=0x18541800,
        ETMCR=0x10000510,
        ETMSYNCFR=0x400,
        ETMFFLR=24,
        DWT_CTRL=0x40000000,
        **{"DWT_MASK%d" % n: 15 for n in range(4)},
    )
)
# Cortex-A7 (the TC2 capture's): cycle counts, 64-bit timestamps, contexts; no data.
A7 = EtmV3Capabilities(
    dict(ETMCCR=0x8D294004, ETMSCR=0x00000C00, ETMIDR=0x410CF250, ETMCCER=0x344008F2, ETMCR=0x5000DD60, ETMSYNCFR=0x800)
)
# All that ETMv3.5 has, with data.
FULL = EtmV3Capabilities(
    dict(
        ETMCCR=0x8DA94024,
        ETMSCR=0x00000D00,
        ETMIDR=0x4104F250,
        ETMCCER=0x3C400800,
        ETMCR=0x5000DD6C,
        ETMSYNCFR=0x800,
        ETMFFLR=64,
    )
)
# ETMv3.3 as of a Cortex-R4: data, no timestamps, three processors.
R4 = EtmV3Capabilities(
    dict(ETMCCR=0x8D294024, ETMSCR=0x00002C00, ETMIDR=0x4104F230, ETMCCER=0x00000800, ETMCR=0x0000DD6C, ETMSYNCFR=0x800)
)
# ETMv3.0: no ETMCCER, most registers cannot be read.
OLD = EtmV3Capabilities(dict(ETMCCR=0x8D294024, ETMIDR=0x4100F200, ETMCR=0x0000DD6C, ETMSYNCFR=0x800))
# PTM of a Cortex-A9 (the Snowball capture's; DDI 0401, table 2.4) and of a Cortex-A15 (TC2's).
A9 = PtmCapabilities(dict(ETMCCR=0x8D294004, ETMIDR=0x411CF301, ETMCCER=0x000008EA, ETMCR=0x1000D500, ETMSYNCFR=0x800))
A15 = PtmCapabilities(dict(ETMCCR=0x8D294004, ETMIDR=0x411CF312, ETMCCER=0x34C01AC2, ETMCR=0x7000D500, ETMSYNCFR=0x800))
ETMV3 = (M4, A7, FULL, R4, OLD)
PTM = (A9, A15)
