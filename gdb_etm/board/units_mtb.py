"""Models of the Micro Trace Buffers."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gdb_etm.board.identity import identification


class MtbModel(NamedTuple):
    """One kind of Micro Trace Buffer."""

    # Identification registers by offset.
    identity: Mapping[int, int]
    # Implemented bits of MASTER.
    master: int
    # Whether TSTART and TSTOP choose among the DWT's comparators; if not, nothing starts and stops it.
    has_inputs: bool
    # Whether ISB is a packet.
    isb: bool


# CoreSight MTB-M33 (100231); the part as its makers' headers have it (TI, hw_cpu_mtb.h).
MTB_M33 = MtbModel(identification(0x98E, devtype=0x31, devarch=0x47700A31), 0xC00003FF, True, True)
# CoreSight MTB-M23 (DDI 0564).
MTB_M23 = MtbModel(identification(0xD20, devtype=0x31, devarch=0x47700A31), 0xC00003FF, True, True)
# CoreSight MTB-M0+ (DDI 0486), table 3-1.
MTB_M0P = MtbModel(identification(0x932, devtype=0x31, devarch=0x47700A31), 0x800003FF, False, False)
