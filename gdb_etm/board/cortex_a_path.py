"""Blocks of A32 and T32 code, from which executed instructions are found.

Addresses of T32 code have bit 0 set.
"""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from gdb_etm.board.t32 import Ways
from gdb_etm.program.isa import InstructionKind, Isa, decode_a32, decode_t16, decode_t32, is_wide


class CortexABlock(NamedTuple):
    """A straight run of instructions.

    Addresses of T32 code have bit 0 set.
    """

    addresses: Tuple[int, ...]
    size: int
    # The address after it.
    end: int
    ways: Ways
    # Whether its last instruction may change the mode, what is masked, or the context.
    changes: bool
    # Whether it ends with an exception return.
    returns: bool
    # Whether it ends with WFI.
    waits: bool
    # Whether it ends with WFE or YIELD, after which Unicorn stops with an error although it is done.
    pauses: bool


def make_block(first: int, code: bytes) -> CortexABlock:
    """Take a block's instructions apart."""
    thumb, at, offset = first & 1, first & ~1, 0
    addresses: List[int] = []
    last = 0
    while offset < len(code):
        addresses.append(first + offset)
        last = int.from_bytes(code[offset : offset + (2 if thumb else 4)], "little")
        size = 4 if not thumb or is_wide(last) else 2
        if thumb and size == 4:
            last = last << 16 | int.from_bytes(code[offset + 2 : offset + 4], "little")
        offset += size
    address = addresses[-1] & ~1
    if not thumb:
        insn, traits = decode_a32(address, last), _traits_a32(last)
    elif size == 4:
        insn, traits = decode_t32(address, last >> 16, last & 0xFFFF), _traits_t32(last)
    else:
        insn, traits = decode_t16(address, last), _traits_t16(last)
    target = insn.target | (insn.isa is Isa.T32) if insn.kind is InstructionKind.DIRECT else None
    ways = Ways(anywhere=insn.kind is InstructionKind.INDIRECT, target=target, falls=True)
    return CortexABlock(tuple(addresses), len(code), (at + offset) | thumb, ways, *traits)


# What a block's last instruction does besides: changes, returns, waits, pauses (DDI 0406, A5, A6 and B9).
_Traits = Tuple[bool, bool, bool, bool]


def _traits_a32(code: int) -> _Traits:
    returns = (
        code & 0x0E10F000 == 0x0010F000  # data processing with S and the PC, by register
        or code & 0x0E10F000 == 0x0210F000  # by constant
        or code & 0x0E508000 == 0x08508000  # LDM with the PC and the SPSR
    )
    returns = returns and code >> 28 != 0xF and code & 0x01900000 != 0x01100000 or code & 0xFE50FFFF == 0xF8100A00
    changes = (
        code & 0xFFF1FE20 == 0xF1000000  # CPS
        or code & 0x0FB0F000 == 0x0120F000  # MSR by register
        or code & 0x0FB0F000 == 0x0320F000  # MSR by constant; among its encodings are the hints
        or code & 0x0F100F10 == 0x0E000F10  # MCR to the system control coprocessor
    )
    hint = code & 0x0FFFFFFF
    return changes or returns, returns, hint == 0x0320F003, hint in (0x0320F001, 0x0320F002)


def _traits_t32(code: int) -> _Traits:
    returns = code & 0xFFFFFF00 == 0xF3DE8F00 or code & 0xFFD0FFFF in (0xE810C000, 0xE990C000)
    changes = (
        code & 0xFFFFF800 == 0xF3AF8000
        and code & 0x700 != 0  # CPS
        or code & 0xFFE0D000 == 0xF3808000  # MSR
        or code & 0xFF100F10 == 0xEE000F10  # MCR to the system control coprocessor
    )
    return changes or returns, returns, code == 0xF3AF8003, code in (0xF3AF8001, 0xF3AF8002)


def _traits_t16(code: int) -> _Traits:
    return code & 0xFFE8 == 0xB660, False, code == 0xBF30, code in (0xBF10, 0xBF20)
