"""Which instructions load or store, by encoding masks.

A unit that traces data may report every load or store as a P0 element (IHI 0064, appendix F.2, tables F-9 and F-17).
The encodings are those of the Armv8-M ARM (C2.3), the A-profile ARM (F3.1 and F4.1) and, for A64, of C4.1.66.
Preloads and hints are neither; swaps, compare-and-swaps and atomic operations are both.
"""

from __future__ import annotations

from enum import IntFlag
from struct import unpack_from
from typing import Final

from gdb_etm.program.isa import Isa, is_wide


class Access(IntFlag):
    """The memory accesses of an instruction: loads, stores."""

    NONE = 0
    LOAD = 1
    STORE = 2
    BOTH = 3


_NONE: Final = Access.NONE
_LOAD: Final = Access.LOAD
_STORE: Final = Access.STORE
_BOTH: Final = Access.BOTH


def _t16_table() -> bytes:
    table = bytearray(256)
    for high in range(256):
        top, load = high >> 4, high >> 3 & 1
        if top == 0x5:
            table[high] = _STORE if high >> 1 & 7 < 3 else _LOAD
        elif top in (0x6, 0x7, 0x8, 0x9, 0xC):
            table[high] = _LOAD if load else _STORE
        elif high & 0xF8 == 0x48 or high in (0xBC, 0xBD):
            table[high] = _LOAD
        elif high in (0xB4, 0xB5):
            table[high] = _STORE
    return bytes(table)


_T16: Final = tuple(Access(value) for value in _t16_table())


def accesses(code: bytes, index: int, isa: Isa) -> Access:
    """Return whether an instruction loads or stores.

    :param code: Program bytes.
    :param index: Index of the instruction in ``code``; NONE where fewer bytes are left than it needs.
    """
    left = len(code) - index
    if isa is not Isa.T32:
        if left < 4:
            return _NONE
        word: int = unpack_from("<I", code, index)[0]
        return _a64(word) if isa is Isa.A64 else _a32(word)
    if left < 2:
        return _NONE
    first = code[index] | code[index + 1] << 8
    if not is_wide(first):
        if first & 0xFF84 == 0x4784:
            return _STORE  # BLXNS pushes the return address and the state
        return _T16[first >> 8]
    return _t32(first, code[index + 2] | code[index + 3] << 8) if left >= 4 else _NONE


def _t32(first: int, second: int) -> Access:
    group = first >> 9
    if group == 0x7C:
        return _t32_single(first, second)
    if group == 0x74:
        return _t32_dual(first, second) if first & 0x40 else _t32_multiple(first)
    if group in (0x76, 0x7E):
        return _coprocessor(first, second >> 8 & 0xF, group == 0x7E)
    return _NONE


def _t32_multiple(first: int) -> Access:
    # LDM, STM, RFE, SRS.  With base PC the load is CLRM of Armv8.1-M.
    if first == 0xE89F:
        return _NONE
    return _LOAD if first & 0x10 else _STORE


def _t32_dual(first: int, second: int) -> Access:
    # Doubles, exclusives, acquire and release, table branches; SG and TT are among them.
    operation = first & 0x01B0
    if operation == 0x0000:
        return _NONE if second & 0xF000 == 0xF000 else _STORE  # TT, STREX
    if operation in (0x0080, 0x0090):
        known = _STORES_RELEASE if operation == 0x0080 else _LOADS_ACQUIRE
        return (_LOAD if operation & 0x10 else _STORE) if known >> (second >> 4 & 0xF) & 1 else _NONE
    if first == 0xE97F and second == 0xE97F:
        return _NONE
    return _LOAD if first & 0x10 else _STORE


# Operations in bits 7:4 of the second halfword that exist: byte, halfword and double exclusive, then
# byte, halfword and word, then the same and double exclusive; loads have TBB and TBH as well.
_STORES_RELEASE: Final = 0b1111_0111_1011_0000
_LOADS_ACQUIRE: Final = 0b1111_0111_1011_0011


def _t32_single(first: int, second: int) -> Access:
    if not first & 0x10:
        if first & 0x100:
            return _LOAD if first & 0x20 else _STORE  # Advanced SIMD elements and structures
        return _NONE if first & 0x60 == 0x60 else _STORE
    size = first & 0x60
    if size == 0x60 or size == 0x40 and first & 0x100:
        return _NONE
    if size != 0x40 and second & 0xF000 == 0xF000:
        return _NONE  # preloads and hints
    return _LOAD


def _coprocessor(high: int, number: int, second_space: bool) -> Access:
    # LDC, STC and the floating-point loads and stores; ``high`` is bits 31:16 of the instruction.
    if not high & 0x01A0:
        return _NONE  # two-register moves
    if second_space and 8 <= number <= 13:
        return _NONE  # Advanced SIMD arithmetic
    if high & 0xFFBF == 0xEC9F and number in (10, 11):
        return _NONE  # VSCCLRM
    return _LOAD if high & 0x10 else _STORE


def _a32(word: int) -> Access:
    group = word >> 25 & 7
    load = _LOAD if word & 0x00100000 else _STORE
    if word >> 28 == 0xF:
        return _a32_unconditional(word)
    if group in (2, 4):
        return load
    if group == 3:
        return _NONE if word & 0x10 else load
    if group == 6:
        return _coprocessor(word >> 16 & 0x0FFF, word >> 8 & 0xF, False)
    if group == 0 and word & 0x90 == 0x90:
        return _a32_extra(word)
    return _NONE


def _a32_extra(word: int) -> Access:
    operation = word >> 5 & 3
    load = bool(word & 0x00100000)
    if operation:
        # With bit 20 clear: STRH, LDRD, STRD.
        return _LOAD if load or operation == 2 else _STORE
    if not word >> 24 & 1:
        return _NONE  # multiplies
    if not word >> 23 & 1:
        return _BOTH if word & 0x00300F00 == 0 else _NONE  # SWP, SWPB
    return _LOAD if load else _STORE


def _a32_unconditional(word: int) -> Access:
    group = word >> 25 & 7
    if group == 4:
        form = word & 0x00500000
        return _LOAD if form == 0x00100000 else _STORE if form == 0x00400000 else _NONE  # RFE, SRS
    if group == 6:
        return _coprocessor(word >> 16, word >> 8 & 0xF, True)
    if word & 0xFF100000 == 0xF4000000:
        return _LOAD if word & 0x00200000 else _STORE  # Advanced SIMD elements and structures
    return _NONE


def _a64(word: int) -> Access:
    load = _LOAD if word & 0x00400000 else _STORE
    if word & 0x0A000000 != 0x08000000:
        return _STORE if word & 0xFFFFFFE0 == 0xD50B7420 else _NONE  # DC ZVA
    group = word >> 28 & 3
    if group == 0:
        if word & 0xBE000000 == 0x0C000000:
            return load  # Advanced SIMD structures
        return _a64_exclusive(word, load) if word & 0x3F000000 == 0x08000000 else _NONE
    if group == 1:
        return _a64_literal(word)
    if group == 2:
        return load
    return _a64_single(word, load)


def _a64_exclusive(word: int, load: Access) -> Access:
    # Bits 23 (o2) and 21 (o1): 01 is a pair, or CASP in the lower sizes; 11 is CAS.
    form = word & 0x00A00000
    if form == 0x00A00000 or form == 0x00200000 and not word >> 31:
        return _BOTH
    return load


def _a64_literal(word: int) -> Access:
    operation = word >> 22 & 3
    if word & 0x3B000000 == 0x18000000:
        return _NONE if word >> 30 == 3 else _LOAD  # literal; PRFM
    if word & 0x3F200C00 == 0x19000000:
        # Acquire and release, unscaled.
        if operation == 0:
            return _STORE
        return _signed_load(word >> 30, operation)
    return _NONE


def _a64_single(word: int, load: Access) -> Access:
    size, operation = word >> 30, word >> 22 & 3
    if word & 0x04000000:
        return load
    if not word & 0x01000000 and word & 0x00200000 and word & 0x0C00 != 0x0800:
        return _a64_atomic(word)
    return _signed_load(size, operation) if operation else _STORE


def _signed_load(size: int, operation: int) -> Access:
    # 1 is a load of any size, 2 one that extends the sign to 64 bits, 3 to 32; PRFM takes the place of a doubleword.
    return _LOAD if operation == 1 or size + operation < 5 else _NONE


def _a64_atomic(word: int) -> Access:
    if word & 0x0400:
        return _LOAD if word >> 30 == 3 else _NONE  # LDRAA, LDRAB
    if word & 0x8000:
        operation = word >> 12 & 7
        if operation:
            return _LOAD if word & 0x00C07000 == 0x00804000 else _NONE  # LDAPR
    return _BOTH
