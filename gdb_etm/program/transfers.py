"""Data transfers of an instruction or exception, by transfer index.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), F.2: the transfer index
schemes (F.2.1), the instructions (tables F-9, F-17, F-20 to F-22) and exceptions (tables F-23 and F-24).  The tables of
Advanced SIMD examples show one rule: what an instruction moves is cut, in address order, into words by AArch32 and into
doublewords by AArch64, and what is left over is a smaller transfer.
"""

from __future__ import annotations

from enum import Enum
from struct import unpack_from
from typing import Final, NamedTuple, Optional, Tuple

from gdb_etm.program.accesses import Access, accesses
from gdb_etm.program.isa import Isa, is_wide


class TransferRole(Enum):
    """The role of a transfer's value."""

    DATA = "data"
    # 0 when an exclusive or a conditional store took place, 1 when it did not.
    STATUS = "whether the store took place"
    # What memory did the operation with; the store itself is not traced.
    OPERAND = "operand of an atomic operation"
    # Moved from (a load) or to one, not memory; only ETMv3 traces it.
    COPROCESSOR = "register of a coprocessor"


class TransferPart(NamedTuple):
    """One transfer of an instruction."""

    store: bool
    # In bytes, 1 to 8.
    size: int
    # Distance of its address from that of transfer index 0; None when it has no address of its own.
    offset: Optional[int]
    role: TransferRole = TransferRole.DATA


# The transfers of an instruction by transfer index; empty when it makes none.
Parts = Tuple[TransferPart, ...]

_COPROCESSOR_WORDS: Final = 32
_ZEROED_DOUBLEWORDS: Final = 256  # at most 2 KiB (DCZID_EL0.BS)
_LAZY_WORDS: Final = 34


def transfers(code: bytes, index: int, isa: Isa) -> Parts:
    """Give the transfers of an instruction.

    Where their number is not in the instruction (LDC, STC and DC ZVA), there are as many as can be.

    :param code: Program bytes.
    :param index: Index of the instruction in ``code``.
    """
    access = accesses(code, index, isa)
    if access is Access.NONE:
        return ()
    store = access is Access.STORE
    if isa is not Isa.T32:
        word: int = unpack_from("<I", code, index)[0]
        return _a64(word, store) if isa is Isa.A64 else _a32(word, store)
    first = code[index] | code[index + 1] << 8
    if not is_wide(first):
        return _t16(first, store)
    return _t32(first << 16 | code[index + 2] | code[index + 3] << 8, store)


def _one(store: bool, size: int) -> Parts:
    return (TransferPart(store, size, 0),)


def _several(store: bool, count: int, size: int = 4) -> Parts:
    # "Address order 32" and "Address order 64".
    return tuple([TransferPart(store, size, size * index) for index in range(count)])


def _cut(store: bool, total: int, size: int) -> Parts:
    whole = _several(store, total // size, size)
    left = total % size
    return whole + (TransferPart(store, left, total - left),) if left else whole


def _exclusive(count: int, size: int) -> Parts:
    return _several(True, count, size) + (TransferPart(True, size, None, TransferRole.STATUS),)


def _swap(size: int) -> Parts:
    return TransferPart(False, size, 0), TransferPart(True, size, 0)


def _compare_and_swap(size: int, count: int) -> Parts:
    pairs: Parts = ()
    for index in range(count):
        pairs += TransferPart(False, size, size * index), TransferPart(True, size, size * index)
    return pairs + (TransferPart(True, size, None, TransferRole.STATUS),)


def _atomic(size: int) -> Parts:
    return TransferPart(False, size, 0), TransferPart(True, size, 0, TransferRole.OPERAND), TransferPart(True, size, 0)


def _ones(bits: int) -> int:
    return bin(bits).count("1")


def _t16(half: int, store: bool) -> Parts:
    top = half >> 12
    if top == 0x4:
        return _several(True, 2) if store else _one(False, 4)  # BLXNS, LDR literal
    if top == 0x5:
        return _one(store, (4, 2, 1, 1, 4, 2, 1, 2)[half >> 9 & 7])
    if top == 0xB:
        return _several(store, _ones(half & 0x1FF))
    if top == 0xC:
        return _several(store, _ones(half & 0xFF))
    return _one(store, {0x7: 1, 0x8: 2}.get(top, 4))


def _t32(word: int, store: bool) -> Parts:
    if word >> 25 == 0x7C:
        if word & 0x01100000 == 0x01000000:
            return _elements(word, store)
        return _one(store, 1 << (word >> 21 & 3))
    if word >> 25 != 0x74:
        return _coprocessor(word, store)
    if word & 0x00400000:
        return _t32_dual(word, store)
    if word >> 23 & 3 in (0, 3):
        return _several(store, 2)  # RFE, SRS
    return _several(store, _ones(word & 0xFFFF))


def _t32_dual(word: int, store: bool) -> Parts:
    operation = word >> 16 & 0x01A0
    if operation == 0x0000:
        return _exclusive(1, 4) if store else _one(False, 4)
    if operation != 0x0080:
        return _several(store, 2)  # LDRD, STRD
    # Bits 5:4 are the size; bit 6 makes it exclusive.
    double = word >> 4 & 3 == 3
    count, size = (2, 4) if double else (1, 1 << (word >> 4 & 3))
    return _exclusive(count, size) if store and word & 0x40 else _several(store, count, size)


def _coprocessor(word: int, store: bool) -> Parts:
    number = word >> 8 & 0xF
    if word & 0xFFE00F00 == 0xEC200A00:
        return _several(store, _LAZY_WORDS)  # VLSTM, VLLDM
    if word & 0x01200000 == 0x01000000 and 9 <= number <= 11:
        return _several(store, 2) if number == 11 else _one(store, 4 if number == 10 else 2)
    if number in (10, 11):
        return _several(store, word & 0xFF if number == 10 else word & 0xFE)
    return _several(store, _COPROCESSOR_WORDS)


# Registers that a multiple-structure load or store moves, by bits 11:8 (AArch32) and 15:12 (AArch64).
_REGISTERS_32: Final = {0x0: 4, 0x1: 4, 0x2: 4, 0x3: 4, 0x4: 3, 0x5: 3, 0x6: 3, 0x7: 1, 0x8: 2, 0x9: 2, 0xA: 2}
_REGISTERS_64: Final = {0x0: 4, 0x2: 4, 0x4: 3, 0x6: 3, 0x7: 1, 0x8: 2, 0xA: 2}


def _elements(word: int, store: bool) -> Parts:
    # Advanced SIMD element and structure loads and stores of AArch32.
    if not word & 0x00800000:
        return _cut(store, 8 * _REGISTERS_32.get(word >> 8 & 0xF, 0), 4)
    size = word >> 10 & 3
    if size == 3:
        size = min(word >> 6 & 3, 2)  # to all lanes
    return _cut(store, ((word >> 8 & 3) + 1) << size, 4)


def _a32(word: int, store: bool) -> Parts:
    group = word >> 25 & 7
    if group == 6:
        return _coprocessor(word & 0x0FFFFFFF, store)
    if word >> 28 == 0xF:
        return _elements(word, store) if group == 2 else _several(store, 2)
    if group == 4:
        return _several(store, _ones(word & 0xFFFF))
    if group:
        return _one(store, 1 if word & 0x00400000 else 4)
    operation = word >> 5 & 3
    if operation:
        if operation == 1 or word & 0x00100000:
            return _one(store, 1 if operation == 2 else 2)
        return _several(store, 2)  # LDRD, STRD
    if not word & 0x00800000:
        return _swap(1 if word & 0x00400000 else 4)
    count, size = ((1, 4), (2, 4), (1, 1), (1, 2))[word >> 21 & 3]
    # Bits 9:8 are 00 in STL, which is not exclusive.
    return _exclusive(count, size) if store and word & 0x0300 else _several(store, count, size)


def _a64(word: int, store: bool) -> Parts:
    group = word >> 27 & 7
    vector = bool(word & 0x04000000)
    size = 1 << (word >> 30)
    if word & 0x0A000000 != 0x08000000:
        return _several(True, _ZEROED_DOUBLEWORDS, 8)  # DC ZVA
    if group == 1:
        return _a64_structures(word, store) if vector else _a64_exclusive(word, store, size)
    if group == 3:
        if word & 0x01000000:
            return _one(store, size)  # acquire and release, unscaled
        return _cut(store, 4 << (word >> 30) if vector else 8 if word >> 30 == 1 else 4, 8)
    if group == 5:
        wide = 4 << (word >> 30) if vector else 8 if word >> 31 else 4
        return _several(store, 2, wide) if wide <= 8 else _several(store, 4, 8)
    if vector:
        return _cut(store, 1 << (word >> 30 | word >> 21 & 4), 8)
    if word & 0x01200000 == 0x00200000 and word & 0x0C00 != 0x0800:
        return _a64_atomic(word, size)
    return _one(store, size)


def _a64_exclusive(word: int, store: bool, size: int) -> Parts:
    form = word & 0x00A00000
    if form == 0x00A00000:
        return _compare_and_swap(size, 1)
    if form == 0x00200000:
        if not word >> 31:
            return _compare_and_swap(8 if word & 0x40000000 else 4, 2)
        return _exclusive(2, size) if store else _several(False, 2, size)
    return _exclusive(1, size) if store and not form else _one(store, size)


def _a64_structures(word: int, store: bool) -> Parts:
    if not word & 0x01000000:
        registers = _REGISTERS_64.get(word >> 12 & 0xF, 0)
        return _cut(store, registers * (16 if word & 0x40000000 else 8), 8)
    operation = word >> 13 & 7
    scale = operation >> 1
    if scale == 3:
        scale = word >> 10 & 3  # to all lanes
    elif scale == 2:
        scale += word >> 10 & 1
    elements = ((operation & 1) << 1 | word >> 21 & 1) + 1
    return _cut(store, elements << scale, 8)


def _a64_atomic(word: int, size: int) -> Parts:
    if word & 0x0400 or word & 0xF000 == 0xC000:
        return _one(False, size)  # LDRAA and LDRAB, LDAPR
    return _swap(size) if word & 0x8000 else _atomic(size)


def _frame(store: bool) -> Parts:
    # Table F-23.  The Armv8-M additional state is below the other state, the additional floating-point state above all.
    offsets = [4 * index for index in range(26)]
    offsets += [4 * (index - 36) for index in range(26, 36)]
    offsets += [4 * (index - 10) for index in range(36, 52)]
    return tuple([TransferPart(store, 4, offset) for offset in offsets])


# What taking an exception pushes on M-profile.
EXCEPTION_ENTRY: Final = _frame(True)
# What returning from an exception pops on M-profile.
EXCEPTION_RETURN: Final = _frame(False)
# What a lazy floating-point push stores (table F-24).
LAZY_PUSH: Final = _several(True, _LAZY_WORDS)
# What a return to the Secure state pops: the return address and the state, as BLXNS pushed them.
FUNCTION_RETURN: Final = _several(False, 2)
