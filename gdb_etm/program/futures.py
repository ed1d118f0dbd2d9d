"""Branch future instructions of Armv8.1-M.

One announces a branch that takes the place of a later instruction.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), C2.4, BF, BFX, BFL, BFLX and BFCSEL; Arm IHI 0064, 5.2.5.
"""

from __future__ import annotations

from typing import NamedTuple


class Future(NamedTuple):
    """The branch that a branch future instruction announces (D_BRANCH_INFO of IHI 0064)."""

    # The branch point: the address of the instruction that the branch replaces.
    end: int
    # Where it goes; 0 when that comes from a register.
    target: int
    # Whether the target comes from a register.
    indirect: bool
    # Whether it leaves a return address, that of the instruction after the replaced one.
    link: bool
    # Size in bytes of the instruction that it replaces.
    size: int


def decode_future(address: int, first: int, second: int) -> Future:
    """Decode a branch future instruction.

    :param address: Its address in bytes.
    :param first: First halfword, which :func:`gdb_etm.program.isa.decode_t32` has found to be of kind FUTURE.
    :param second: Second halfword.
    """
    base = address + 4
    end = (base + (first >> 7 & 0xF) * 2) & 0xFFFFFFFF
    low = (second & 0x7FE) << 1 | (second >> 11 & 1) << 1
    if not second & 0x2000:
        return Future(end, _target(base, (first & 0x7F) << 12 | low, 19), False, True, 4)  # BFL
    kind = first >> 5 & 3
    if kind == 3:
        # BFX and BFLX replace BX and BLX, which have 16 bits.
        return Future(end, 0, True, bool(first & 0x10), 2)
    if kind == 2:
        return Future(end, _target(base, (first & 0x1F) << 12 | low, 17), False, False, 4)  # BF
    return Future(end, _target(base, (first & 1) << 12 | low, 13), False, False, 4 if first & 2 else 2)  # BFCSEL


def _target(base: int, offset: int, bits: int) -> int:
    return (base + offset - (offset >> (bits - 1) << bits)) & 0xFFFFFFFF
