"""From an instruction to what it computes: the front of the lifters.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), C2; Arm Architecture Reference Manual for A-profile (DDI 0487),
F3 to F5.  An encoding that has no model, or none at all, makes everything unknown that it may write.
"""

from __future__ import annotations

from struct import unpack_from

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import Isa, is_wide
from gdb_etm.recovery.lift.a32 import lift_a32
from gdb_etm.recovery.lift.builder import Builder
from gdb_etm.recovery.lift.operations import Lifted
from gdb_etm.recovery.lift.t16 import lift_t16
from gdb_etm.recovery.lift.t32 import lift_t32


def lift(
    code: bytes, address: int, isa: Isa, in_it_block: bool = False, m_profile: bool = True, aspen: bool = True
) -> Lifted:
    """Lift an instruction: what it computes when its condition holds.

    :param code: Its bytes; more may follow.
    :param address: Where it is, in bytes.
    :param isa: T32 or A32.
    :param in_it_block: Whether it is in an IT block, where most 16-bit instructions set no flags.
    :param m_profile: Whether T32 code runs on an M-profile core; A32 code never does.
    :param aspen: FPCCR.ASPEN of that core.
    :raises ValueError: for A64, or with fewer bytes than the instruction has.
    """
    if isa is Isa.A64:
        raise ValueError("A64 instructions have no operations")
    if len(code) < (4 if isa is Isa.A32 else 2):
        raise ValueError("%d bytes are no instruction" % len(code))
    if isa is Isa.A32:
        build = Builder(address, 4, isa, False)
        lift_a32(build, unpack_from("<I", code)[0])
        return build.finish()
    first: int = unpack_from("<H", code)[0]
    if not is_wide(first):
        build = Builder(address, 2, isa, m_profile, aspen)
        lift_t16(build, first, in_it_block)
        return build.finish()
    if len(code) < 4:
        raise ValueError("%d bytes are no instruction" % len(code))
    build = Builder(address, 4, isa, m_profile, aspen)
    lift_t32(build, first, unpack_from("<H", code, 2)[0])
    return build.finish()


def execution_condition(code: bytes, isa: Isa, it_state: int = 0) -> int:
    """Give the condition code that decides whether an instruction does anything.

    T32 branches outside IT blocks, CSEL and VSEL are executed always: their condition is among their operations.

    :param code: Its bytes; more may follow.
    :param it_state: ITSTATE as it runs; 0 outside IT blocks.
    :returns: 0 to 13, or ALWAYS.
    """
    if isa is not Isa.A32:
        return min(it_state >> 4, ALWAYS) if it_state else ALWAYS
    return min(code[3] >> 4, ALWAYS)
