"""Identification registers of trace units, from the programming map's 5.0."""

from __future__ import annotations

from gdb_etm.traceunit.capabilities import Capabilities

_NAMES = ("TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR3", "TRCIDR4", "TRCIDR5")


def _unit(*values: int, **more: int) -> Capabilities:
    return Capabilities({**dict(zip(_NAMES, values)), **more})


# Cortex-M33: v4.2, no address comparators, fixed synchronisation period, reduced-function counter.
M33 = _unit(0x280006E1, 0x4100F421, 0x00000004, 0x0F090004, 0x00114000, 0x90C70004, TRCSYNCPR=0xA, TRCSSCSR0=0x8)
# Cortex-A53: v4.0, four comparator pairs, 64-bit addresses.
A53 = _unit(0x28000EA1, 0x4100F403, 0x00000488, 0x0D7B0004, 0x11170004, 0x28C7081E)
# Instruction and data trace, 32-bit, with data value comparators.
DATA = _unit(0x28021EFF, 0x4100F422, 0x00420484, 0x0D090004, 0x11170124, 0x28C70804)
# v4.3 without resource selectors, events or filters, and the same as v4.2, where that means one pair.
MINIMAL = _unit(0x08000281, 0x4100F430, 0x00000004, 0x02090004, 0x00000000, 0x00070000, TRCSYNCPR=0xC)
ONE_PAIR = _unit(0x080002A1, 0x4100F420, 0x00000004, 0x02090004, 0x00000000, 0x00070004, TRCSYNCPR=0xC)
ALL = (M33, A53, DATA, MINIMAL, ONE_PAIR)
