"""Decoder of T32 instructions: length, successors, and the few special ones.

Written from the Armv8-M encodings (DDI 0553, C2) and independent of :mod:`gdb_etm.program.isa`, so that the truth and
the decoder cannot share a misreading.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

WFI = 0xBF30
_SECURE_GATEWAY = 0xE97FE97F
_HINTS_THAT_LEAVE_UNICORN = frozenset((0xBF10, 0xBF20))  # YIELD, WFE
_WIDE_HINTS = {0xF3AF8001: 0xBF10, 0xF3AF8002: 0xBF20, 0xF3AF8003: WFI}


class T32Instruction(NamedTuple):
    """One instruction in memory.

    :param code: The halfword, or both with the first one on top.
    :param size: 2 or 4 bytes.
    """

    code: int
    size: int

    def is_it(self) -> bool:
        """Tell whether it is IT."""
        return self.code & 0xFF00 == 0xBF00 and self.code & 0xF != 0 and self.size == 2

    def covered(self) -> int:
        """Return how many instructions an IT makes conditional."""
        return covered_by(self.code)

    def is_wfi(self) -> bool:
        """Tell whether it is WFI."""
        return _WIDE_HINTS.get(self.code, self.code) == WFI

    def is_pause(self) -> bool:
        """Tell whether it is YIELD or WFE."""
        return _WIDE_HINTS.get(self.code, self.code) in _HINTS_THAT_LEAVE_UNICORN

    def may_unmask(self) -> bool:
        """Tell whether it may lower the priority: CPS or MSR."""
        if self.size == 2:
            return self.code & 0xFFEC == 0xB660
        return self.code & 0xFFE0D000 == 0xF3808000

    def sets_limit(self) -> bool:
        """Tell whether it is MSR to MSPLIM or PSPLIM."""
        return self.code & 0xFFE0D0FE == 0xF380800A

    def loads(self) -> bool:
        """Tell whether it loads from memory; preloads do not."""
        return self._transfers(True)

    def stores(self) -> bool:
        """Tell whether it stores to memory."""
        return self._transfers(False)

    def _transfers(self, load: bool) -> bool:
        if self.size == 2:
            return _narrow_transfer(self.code) == load
        return _wide_transfer(self.code >> 16, self.code & 0xFFFF) == load

    def is_store_exclusive(self) -> bool:
        """Tell whether it is STREX, STREXB or STREXH."""
        high = self.code >> 16
        if high & 0xFFF0 == 0xE840:
            return self.code & 0xF03F != 0xF000
        return high & 0xFFF0 == 0xE8C0 and self.code >> 4 & 0xF in (4, 5)

    def divisor(self) -> Optional[int]:
        """Return the divisor register of SDIV or UDIV, else None."""
        return self.code & 0xF if self.size == 4 and self.code & 0xFFD0F0F0 == 0xFB90F0F0 else None

    def aligned_base(self) -> Optional[int]:
        """Return the base register of LDM, STM, LDRD or STRD.

        These need aligned addresses; None for SP, the PC, and other instructions.
        """
        if self.size == 2:
            return self.code >> 8 & 7 if self.code >> 12 == 0xC else None
        high = self.code >> 16
        is_multiple = high & 0xFE40 == 0xE800 and high >> 7 & 3 in (1, 2)
        is_dual = high & 0xFE40 == 0xE840 and bool(high & 0x120) and self.code != _SECURE_GATEWAY
        return high & 0xF if (is_multiple or is_dual) and high & 0xF not in (13, 15) else None

    def is_mainline(self) -> bool:
        """Tell whether Armv8-M Baseline lacks it (DDI 0553, C2, "Main Extension required")."""
        if self.size == 2:
            return self.is_it()
        high, low = self.code >> 16, self.code & 0xFFFF
        if high & 0xF800 == 0xF000 and low & 0x8000:
            # BL and B; MSR, MRS and barriers; UDF. Of B the form with a condition is not there.
            return low & 0xD000 == 0x8000 and high >> 7 & 7 != 7
        # Exclusive, acquire and release of words, halfwords and bytes; SG, TT.
        if high & 0xFFE0 in (0xE840, 0xE8C0) or self.code == _SECURE_GATEWAY:
            return high & 0xFFE0 == 0xE8C0 and low >> 4 & 0xF in (0, 1, 7)
        # MOVW and MOVT; SDIV and UDIV.
        return high & 0xFB70 != 0xF240 and high & 0xFFD0 != 0xFB90

    def is_beyond_armv6(self) -> bool:
        """Tell whether Armv6-M lacks it (DDI 0419, A5)."""
        if self.size == 2:
            return self.is_it() or self.code & 0xF500 == 0xB100
        high, low = self.code >> 16, self.code & 0xFFFF
        is_branch = high & 0xF800 == 0xF000 and low & 0xD000 == 0xD000
        # MSR, MRS and barriers.
        is_control = high & 0xFFE0 == 0xF380 or high in (0xF3BF, 0xF3EF)
        return not is_branch and not (is_control and low & 0xD000 == 0x8000)

    def is_floating_point(self) -> bool:
        """Tell whether it is an instruction for coprocessor 10 or 11."""
        return self.size == 4 and self.code & 0xEC000E00 == 0xEC000A00


class Ways(NamedTuple):
    """Where execution can go after an instruction.

    :param falls: It can go on to the next instruction.
    :param target: Target of a direct branch, or None.
    :param anywhere: It is an indirect branch.
    """

    falls: bool
    target: Optional[int] = None
    anywhere: bool = False


def decode(code: bytes, offset: int) -> T32Instruction:
    """Return the instruction at an offset.

    One that is cut off by the end counts as narrow.
    """
    first = int.from_bytes(code[offset : offset + 2], "little")
    if first >> 11 < 0x1D or offset + 4 > len(code):
        return T32Instruction(first, 2)
    return T32Instruction(first << 16 | int.from_bytes(code[offset + 2 : offset + 4], "little"), 4)


def _narrow_transfer(code: int) -> Optional[bool]:
    """Classify a 16-bit instruction: load (True), store (False), neither (None)."""
    top = code >> 12
    if code >> 11 == 9 or code >> 9 == 0x5E:
        return True  # LDR literal, POP
    if code >> 9 == 0x5A:
        return False  # PUSH
    if top == 5:
        return code >> 9 & 7 > 2
    if top in (6, 7, 8, 9, 0xC):
        return bool(code >> 11 & 1)
    return None


def _wide_transfer(high: int, low: int) -> Optional[bool]:
    """The same for a 32-bit instruction, by its halfwords (C2.3)."""
    load = bool(high >> 4 & 1)
    if high >> 9 == 0x74:
        return _multiple_or_dual(high, low)
    if high >> 9 == 0x7C:
        # Single: with the PC as their target, loads of bytes and halfwords are hints.
        hint = load and low >> 12 == 15 and high >> 5 & 3 < 2
        return None if hint or high >> 5 & 3 == 3 else load
    # Coprocessors: MRRC and MCRR transfer between registers only.
    is_coprocessor = high >> 9 in (0x76, 0x7E) and high & 0xFFE0 not in (0xEC40, 0xFC40)
    return load if is_coprocessor else None


def _multiple_or_dual(high: int, low: int) -> Optional[bool]:
    # LDM and STM; doubles, exclusives and table branches, among whose encodings are SG and TT.
    is_test_target = high & 0xFFF0 == 0xE840 and low & 0xF03F == 0xF000
    is_gateway = high == 0xE97F and low == 0xE97F
    return None if is_test_target or is_gateway else bool(high >> 4 & 1)


def covered_by(it_state: int) -> int:
    """Return how many instructions are conditional from here on.

    :param it_state: ITSTATE, not 0; that of an IT is in its code.
    """
    lowest = it_state & -it_state & 0xF
    return 4 - (lowest.bit_length() - 1)


def condition_passes(condition: int, xpsr: int) -> bool:
    """Evaluate a condition field against the flags (C1.3.1)."""
    n, z, c, v = (bool(xpsr >> bit & 1) for bit in (31, 30, 29, 28))
    result = (z, c, n, v, c and not z, n == v, n == v and not z, True)[condition >> 1]
    return result if condition >> 1 == 7 or not condition & 1 else not result


def ways(address: int, instruction: T32Instruction) -> Ways:
    """Return an instruction's successors outside of an IT block."""
    code = instruction.code
    if instruction.size == 4:
        return _ways_wide(address, code)
    if code & 0xF000 == 0xD000 and code >> 8 & 0xF < 0xE:
        return Ways(True, _add(address, _signed(code & 0xFF, 8) * 2))
    if code & 0xF800 == 0xE000:
        return Ways(False, _add(address, _signed(code & 0x7FF, 11) * 2))
    if code & 0xF500 == 0xB100:
        return Ways(True, _add(address, (code >> 9 & 1) << 6 | (code >> 3 & 0x1F) << 1))
    # BX and BLX; POP with the PC; ADD and MOV to the PC.
    if code & 0xFF00 in (0x4700, 0xBD00) or code & 0xFF87 in (0x4487, 0x4687):
        return Ways(False, None, True)
    return Ways(True)


def _ways_wide(address: int, code: int) -> Ways:
    """Return where execution can go after a 32-bit instruction."""
    if code & 0xF8008000 == 0xF0008000:
        sign = code >> 26 & 1
        if code & 0x5000 == 0:
            if code >> 22 & 0xF >= 0xE:
                return Ways(True)
            offset = sign << 20 | (code >> 11 & 1) << 19 | (code >> 13 & 1) << 18 | (code >> 16 & 0x3F) << 12
            return Ways(True, _add(address, _signed(offset | (code & 0x7FF) << 1, 21)))
        if code & 0x1000:
            i1, i2 = (1 ^ (code >> bit & 1) ^ sign for bit in (13, 11))
            offset = sign << 24 | i1 << 23 | i2 << 22 | (code >> 16 & 0x3FF) << 12 | (code & 0x7FF) << 1
            return Ways(False, _add(address, _signed(offset, 25)))
        return Ways(True)
    loads_pc = (
        code & 0xFE508000 == 0xE8108000  # LDM with the PC
        or code & 0xFF70F000 == 0xF850F000  # LDR to the PC
        or code & 0xFFF0FFE0 == 0xE8D0F000  # TBB, TBH
    )
    return Ways(False, None, True) if loads_pc else Ways(True)


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


def _add(address: int, offset: int) -> int:
    return (address + 4 + offset) & 0xFFFFFFFF
