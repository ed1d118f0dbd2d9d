"""Configuration of a simulated ETMv4's encoder."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional

from gdb_etm.protocols.encode.instructions import Region
from gdb_etm.protocols.etmv4.encode.speculation import Setup

# Whether ViewInst is active for an instruction; called once for each executed instruction, in order.
View = Callable[[int], bool]


class DataConfig(NamedTuple):
    """How data trace is programmed, and what the unit has for it."""

    # TRCCONFIGR.DA.
    addresses: bool
    # TRCCONFIGR.DV.
    values: bool
    # TRCVDCTLR.TRCEXDATA: what exceptions push and pop is traced too.
    exceptions: bool
    # TRCIDR10.NUMP1KEY.
    p1_keys: int
    # TRCIDR11.NUMP1SPC.
    special_keys: int
    # Whether transfers are traced late and out of order.
    late: bool = True


class EncoderConfig(NamedTuple):
    """How the trace unit is programmed."""

    # TRCCONFIGR.RS: leave out the address of a return to where the last call came from.
    return_stack: bool = False
    # Where branch broadcasting is on (TRCCONFIGR.BB, TRCBBCTLR); None for nowhere.
    broadcast: Optional[Region] = None
    # TRCCONFIGR.TS; one tick is one executed instruction.
    timestamps: bool = False
    # What the timestamp generator says when the trace run begins.
    time: int = 0
    # TRCCCCTLR.THRESHOLD when TRCCONFIGR.CCI is set; one cycle is one executed instruction.
    threshold: Optional[int] = None
    # Bytes of trace between synchronisation points (2 to the power of TRCSYNCPR); 0 for none.
    sync_period: int = 0
    # ViewInst; None traces everything.
    view: Optional[View] = None
    # Whether an exception at the target of an indirect branch has that address in a packet before it, and not in the
    # Exception packet (E1:E0 = 0b10).  Both are right (4.1.3); OpenCSD up to 1.8 pops its return stack at the latter.
    separate_address: bool = False
    # Speculation, P0 keys and commit mode; None for a unit with commit mode 1 and none of the others.
    setup: Optional[Setup] = None
    # Which instructions are P0 elements for their loads or stores (TRCCONFIGR.INSTP0); None for none.  Needs
    # ``setup``.
    transfers: Optional[Region] = None
    # Data trace; None for none.  Needs ``setup``.
    data: Optional[DataConfig] = None
    # TRCCONFIGR.COND, for a unit with one key, whose results are passed or failed (TRCIDR0.CONDTYPE).  Not with
    # ``setup``.
    conditional: int = 0
