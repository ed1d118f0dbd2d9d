"""Which instructions the unit traces data for, and in which transfers.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 4.11, 7.4 and 7.4.4: one
data packet for each transfer of up to 32 bits.
"""

from __future__ import annotations

from gdb_etm.program.isa import Isa, is_wide
from gdb_etm.program.transfers import Parts, TransferPart, TransferRole, transfers


def data_parts(code: bytes, isa: Isa, coprocessor: bool) -> Parts:
    """Tell the transfers of an instruction, in the order of the trace; empty when it makes none.

    :param code: The instruction's bytes.
    :param coprocessor: Whether transfers between the processor's and a coprocessor's registers are traced too.
    """
    parts = tuple([part for part in transfers(code, 0, isa) if part.role is not TransferRole.OPERAND])
    if not parts and coprocessor and len(code) == 4:
        return _coprocessor(code, isa)
    return parts


def _coprocessor(code: bytes, isa: Isa) -> Parts:
    if isa is Isa.T32:
        first = code[0] | code[1] << 8
        if not is_wide(first) or first >> 13 != 7 or first & 0xEC00 != 0xEC00:
            return ()
        word = first << 16 | code[2] | code[3] << 8
    else:
        word = int.from_bytes(code, "little")
    load = bool(word & 0x00100000)
    if word & 0x0F000010 == 0x0E000010:
        return (TransferPart(not load, 4, None, TransferRole.COPROCESSOR),)  # MCR, MRC
    if word & 0x0FE00000 == 0x0C400000:
        return (TransferPart(not load, 4, None, TransferRole.COPROCESSOR),) * 2  # MCRR, MRRC
    return ()
