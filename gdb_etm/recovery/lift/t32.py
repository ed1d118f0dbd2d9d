"""Lifter of T32 data processing (Armv8-M ARM, C2.3; A-profile ARM, F3.1)."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.program.isa import decode_t32
from gdb_etm.recovery.lift.alu import data_processing, saturate, shift_by
from gdb_etm.recovery.lift.builder import ONE, PC, ZERO, Builder
from gdb_etm.recovery.lift.coprocessors import lift_coprocessor
from gdb_etm.recovery.lift.media import saturate_halves
from gdb_etm.recovery.lift.operations import LR, MASK, Const, Op, Operand
from gdb_etm.recovery.lift.special import move_from_special, move_to_special
from gdb_etm.recovery.lift.status import change_mode, read_status, return_from_exception, write_status
from gdb_etm.recovery.lift.t32_memory import lift_multiple_or_dual, lift_single
from gdb_etm.recovery.lift.t32_registers import lift_long_multiply, lift_multiply, lift_registers


def lift_t32(build: Builder, first: int, second: int) -> None:
    """Lift a 32-bit instruction.

    :param first: The first halfword.
    :param second: The second halfword.
    """
    group = first >> 9 & 0xF
    if group in (6, 7, 14, 15):
        lift_coprocessor(build, first << 16 | second)
    elif group == 4:
        lift_multiple_or_dual(build, first, second)
    elif group == 5:
        _shifted_register(build, first, second)
    elif group == 12:
        lift_single(build, first, second)
    elif group == 13:
        if first & 0x180 == 0x100:
            lift_multiply(build, first, second)
        elif first & 0x180 == 0x180:
            lift_long_multiply(build, first, second)
        else:
            lift_registers(build, first, second)
    elif second & 0x8000:
        _control(build, first, second)
    elif first & 0x200:
        _plain_immediate(build, first, second)
    else:
        _modified_immediate(build, first, second)


def expand_immediate(number: int) -> Tuple[int, Optional[int]]:
    """Expand a modified immediate (T32ExpandImm_C); carry None if not rotated.

    :param number: The 12 bits i:imm3:a:bcdefgh.
    """
    byte = number & 0xFF
    if number >> 10 == 0:
        return (byte, byte * 0x00010001, byte * 0x01000100, byte * 0x01010101)[number >> 8 & 3], None
    amount = number >> 7
    byte = byte & 0x7F | 0x80
    value = (byte >> amount | byte << (32 - amount)) & MASK
    return value, value >> 31


_NAMES = {0: "and", 1: "bic", 2: "orr", 3: "orn", 4: "eor", 8: "add", 10: "adc", 11: "sbc", 13: "sub", 14: "rsb"}
_COMPARES = {0: "tst", 4: "teq", 8: "cmn", 13: "cmp"}
_MOVES = {2: "mov", 3: "mvn"}


def _operation(build: Builder, first: int, destination: int, second: Operand, carry: Optional[Operand]) -> None:
    operation, flags, base = first >> 5 & 0xF, bool(first & 0x10), first & 0xF
    name = _NAMES.get(operation)
    if destination == PC and flags:
        name = _COMPARES.get(operation)
    elif base == PC:
        name = _MOVES.get(operation, name)
    if name is None or destination == PC and name not in _COMPARES.values():
        build.give_up()
        return
    data_processing(build, name, destination, ZERO if name in ("mov", "mvn") else base, second, carry, flags)


def _shifted_register(build: Builder, first: int, second: int) -> None:
    if first & 0xFFF0 == 0xEA50 and (second & 0xF == 0xD or second & 0x800F == 0xF):
        _long_shift(build, first, second)
        return
    if first & 0xFFF0 == 0xEA50 and second & 0xC000 == 0x8000:
        _conditional_select(build, first, second)
        return
    if second & 0x8000 or first & 0x01F0 == 0x00D0:
        build.give_up()
        return
    amount = second >> 10 & 0x1C | second >> 6 & 3
    source, destination = second & 0xF, second >> 8 & 0xF
    if first >> 5 & 0xF == 6:
        _pack(build, first & 0xF, source, destination, second >> 4 & 2, amount)
        return
    value, carry = shift_by(build, source, second >> 4 & 3, amount)
    _operation(build, first, destination, value, carry)


def _pack(build: Builder, base: int, source: Operand, destination: int, kind: int, amount: int) -> None:
    # PKHBT takes the low half of the base and the high half of the other, PKHTB the reverse.
    value, _carry = shift_by(build, source, kind, amount)
    low, high = (value, base) if kind else (base, value)
    build.set(destination, build.insert(high, low, 0, 16))


def _conditional_select(build: Builder, first: int, second: int) -> None:
    # CSEL, CSINC, CSINV, CSNEG; register 15 is zero.
    yes, no = [ZERO if number == PC else number for number in (first & 0xF, second & 0xF)]
    kind = second >> 12 & 3
    if kind == 1:
        no = build.offset(no, 1)
    elif kind == 2:
        no = build.value(Op.NOT, no)
    elif kind == 3:
        no = build.value(Op.SUB, ZERO, no, ONE)
    build.set(second >> 8 & 0xF, build.value(Op.SELECT, build.condition(second >> 4 & 0xF), yes, no))


def _long_shift(build: Builder, first: int, second: int) -> None:
    # The 64-bit shifts of Armv8.1-M, of register pairs, and the 32-bit saturating ones; by a register (whose place in
    # ORRS SP has) or by a constant (PC).
    build.lose({first & 0xF, first & 0xE, second >> 8 & 0xF, second >> 8 & 0xE | 1} - {PC})


def _immediate(first: int, second: int) -> int:
    return first << 1 & 0x800 | second >> 4 & 0x700 | second & 0xFF


def _modified_immediate(build: Builder, first: int, second: int) -> None:
    value, carry = expand_immediate(_immediate(first, second))
    _operation(build, first, second >> 8 & 0xF, Const(value), None if carry is None else Const(carry))


def _plain_immediate(build: Builder, first: int, second: int) -> None:
    operation, base, destination = first >> 4 & 0x1F, first & 0xF, second >> 8 & 0xF
    number = _immediate(first, second)
    if operation in (0, 10):
        source: Operand = Const(build.pc & ~3) if base == PC else base
        build.set(destination, build.offset(source, number if operation == 0 else -number))
    elif operation == 4:
        build.set(destination, Const(base << 12 | number))
    elif operation == 12:
        build.set(destination, build.insert(destination, Const(base << 12 | number), 16, 16))
    else:
        _bit_field(build, operation, base, destination, second)


def _bit_field(build: Builder, operation: int, base: int, destination: int, second: int) -> None:
    lowest, width = second >> 10 & 0x1C | second >> 6 & 3, second & 0x1F
    if operation in (0x14, 0x1C):
        count = min(width + 1, 32 - lowest)
        value = build.field(base, lowest, count)
        build.set(destination, build.sign(value, count) if operation == 0x14 else value)
    elif operation == 0x16:
        source: Operand = ZERO if base == PC else base
        if width >= lowest:
            build.set(destination, build.insert(destination, source, lowest, width - lowest + 1))
        else:
            build.lose((destination,))
    elif operation in (0x10, 0x12, 0x18, 0x1A):
        _saturate(build, operation, base, destination, second)
    else:
        build.lose((destination,))


def _saturate(build: Builder, operation: int, base: int, destination: int, second: int) -> None:
    unsigned = bool(operation & 8)
    amount = second >> 10 & 0x1C | second >> 6 & 3
    if operation & 2 and not amount and second & 0x10:
        build.lose((destination,))
    elif operation & 2 and not amount:
        bits = (second & 0xF) + (0 if unsigned else 1)
        build.set(destination, saturate_halves(build, base, bits, unsigned))
    else:
        value, _carry = shift_by(build, base, operation & 2, amount)
        build.set(destination, saturate(build, value, (second & 0x1F) + (0 if unsigned else 1), unsigned))


def _control(build: Builder, first: int, second: int) -> None:
    form = second & 0x5000
    if form == 0 and first >> 6 & 0xF < 14:
        if not build.leads_on(decode_t32(build.address, first, second).target):
            build.taken_if(build.condition(first >> 6 & 0xF))
    elif form == 0:
        _system(build, first, second)
    elif form == 0x4000 and second & 1:
        if first & 0xFF80 == 0xF000:
            _loop(build, first, second)
    elif form != 0x1000:
        build.link()


def _system(build: Builder, first: int, second: int) -> None:
    kind = first >> 4 & 0x7F
    if kind in (0x38, 0x39):
        if build.m_profile:
            move_to_special(build, first & 0xF, second & 0xFF, second >> 10 & 3)
        elif kind == 0x38 and not second & 0x20:
            write_status(build, first & 0xF, second >> 8 & 0xF)
    elif kind in (0x3E, 0x3F):
        if build.m_profile:
            move_from_special(build, second >> 8 & 0xF, second & 0xFF)
        else:
            read_status(build, second >> 8 & 0xF)
    elif kind == 0x3A:
        _hint(build, second)
    elif kind == 0x3D and second & 0xFF00 == 0x8F00:
        build.branch(build.offset(first & 0xF, -(second & 0xFF)), False)
        return_from_exception(build)
    elif kind == 0x3C:
        build.branch(build.read(first & 0xF), True)
        build.unmodelled()
    elif kind != 0x3B:
        build.give_up()


def _hint(build: Builder, second: int) -> None:
    if second & 0x0700 and not build.m_profile:
        change_mode(build)  # CPS
    elif second in (0x800D, 0x801D):
        build.lose((12,))  # PACBTI and PAC


def _loop(build: Builder, first: int, second: int) -> None:
    # Low-overhead loops of Armv8.1-M (C2.4: WLS, DLS, LE): LR counts the iterations that are left.
    register = first & 0xF
    if second & 0x2000:
        if register != PC:
            build.set(LR, register)  # DLS; otherwise LCTP
    elif register != PC:
        build.taken_if(build.value(Op.ZERO, register))
        build.set(LR, build.value(Op.SELECT, build.value(Op.ZERO, register), LR, register))
    elif first == 0xF00F:
        again = build.value(Op.SUB_CARRY, LR, Const(2), ONE)
        build.taken_if(again)
        build.set(LR, build.value(Op.SELECT, again, build.offset(LR, -1), LR))
    elif first != 0xF02F:
        build.lose((LR,))  # LETP takes as many as a vector has elements
