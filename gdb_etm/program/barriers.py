"""Barriers and changes of Thumb's state: instructions a PTM may trace.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), tables 2.2 and 2.3;
encodings are those of the ARMv7-A ARM (A8.8 and A9.3).
"""

from __future__ import annotations

from typing import Final

from gdb_etm.program.isa import Isa

_DSB: Final = 4
_DMB: Final = 5


def is_barrier(code: bytes, isa: Isa) -> bool:
    """Return whether an instruction is DMB or DSB, their CP15 forms included.

    :param code: The instruction's bytes.
    """
    if len(code) < 4:
        return False
    if isa is Isa.T32:
        first, second = code[0] | code[1] << 8, code[2] | code[3] << 8
        if first == 0xF3BF:
            return second & 0xD000 == 0x8000 and second >> 4 & 0xF in (_DSB, _DMB)
        return first == 0xEE07 and second & 0x0FFF in (0x0F9A, 0x0FBA)
    word = int.from_bytes(code, "little")
    if word & 0xFFF00000 == 0xF5700000:
        return word >> 4 & 0xF in (_DSB, _DMB)
    return word >> 28 != 0xF and word & 0x0FFF0FFF in (0x0E070F9A, 0x0E070FBA)


def is_enterx(code: bytes) -> bool:
    """Return whether a T32 instruction is ENTERX, which makes Thumb state ThumbEE."""
    return code[:2] == b"\xbf\xf3" and len(code) == 4 and code[3] & 0xD0 == 0x80 and code[2] & 0xF0 == 0x10


def is_leavex(code: bytes) -> bool:
    """Return whether a T32 instruction is LEAVEX."""
    return code[:2] == b"\xbf\xf3" and len(code) == 4 and code[3] & 0xD0 == 0x80 and code[2] & 0xF0 == 0x00
