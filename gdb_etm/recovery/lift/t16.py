"""The 16-bit T32 instructions (Armv8-M ARM, C2.2)."""

from __future__ import annotations

from typing import List, Optional

from gdb_etm.program.isa import decode_t16
from gdb_etm.recovery.lift.alu import (
    add,
    data_processing,
    reverse,
    set_result_flags,
    shift_by,
    shift_by_register,
    subtract,
)
from gdb_etm.recovery.lift.builder import ONE, PC, ZERO, Builder
from gdb_etm.recovery.lift.operations import BASEPRI, CONTROL, FAULTMASK, LR, MSP, PRIMASK, PSP, SP, Const, Op, Operand
from gdb_etm.recovery.lift.special import change_masks


def lift_t16(build: Builder, half: int, in_it_block: bool) -> None:
    """Lift a 16-bit instruction.

    :param half: The halfword.
    """
    flags = not in_it_block
    top = half >> 12
    if top < 4:
        _immediates(build, half, flags)
    elif top == 4:
        _top_4(build, half, flags)
    elif top == 5:
        _load_store_register(build, half)
    elif top < 10:
        _load_store(build, half)
    elif top == 10:
        base = SP if half & 0x800 else Const(build.pc & ~3)
        build.set(half >> 8 & 7, build.offset(base, (half & 0xFF) * 4))
    elif top == 11:
        _miscellaneous(build, half)
    elif top == 12:
        _multiple(build, half)
    elif top == 13:
        code = half >> 8 & 0xF
        if code < 14 and decode_t16(build.address, half).target != build.next:
            build.taken_if(build.condition(code))


def _immediates(build: Builder, half: int, flags: bool) -> None:
    # Shift by immediate, add and subtract, move and compare.
    low, source = half & 7, half >> 3 & 7
    operation = half >> 11 & 7
    if operation < 3:
        amount = half >> 6 & 31
        value, carry = shift_by(build, source, operation, amount)
        data_processing(build, "mov", low, ZERO, value, carry, flags)
    elif operation == 3:
        number = half >> 6 & 7
        second: Operand = Const(number) if half & 0x400 else number
        _sum(build, low, source, second, bool(half & 0x200), flags)
    else:
        register, value = half >> 8 & 7, Const(half & 0xFF)
        if operation == 4:
            data_processing(build, "mov", register, ZERO, value, None, flags)
        elif operation == 5:
            subtract(build, register, value, ONE, True)
        else:
            _sum(build, register, register, value, operation == 7, flags)


def _sum(build: Builder, destination: int, first: Operand, second: Operand, minus: bool, flags: bool) -> None:
    if minus:
        build.set(destination, subtract(build, first, second, ONE, flags))
    else:
        build.set(destination, add(build, first, second, ZERO, flags))


def _top_4(build: Builder, half: int, flags: bool) -> None:
    if half & 0x800:
        address = Const((build.pc & ~3) + (half & 0xFF) * 4 & 0xFFFFFFFF)
        build.set(half >> 8 & 7, build.load(4, address))
    elif half & 0x400:
        _high_registers(build, half)
    else:
        _data_processing(build, half, flags)


_DATA = ("and", "eor", "lsl", "lsr", "asr", "adc", "sbc", "ror", "tst", "rsb", "cmp", "cmn", "orr", "mul", "bic", "mvn")
_SHIFTS = {"lsl": 0, "lsr": 1, "asr": 2, "ror": 3}


def _data_processing(build: Builder, half: int, flags: bool) -> None:
    name = _DATA[half >> 6 & 0xF]
    low, source = half & 7, half >> 3 & 7
    if name in _SHIFTS:
        value, carry = shift_by_register(build, low, _SHIFTS[name], source)
        data_processing(build, "mov", low, ZERO, value, carry, flags)
    elif name == "mul":
        result = build.value(Op.MUL, low, source)
        build.set(low, result)
        if flags:
            set_result_flags(build, result)
    elif name == "rsb":
        data_processing(build, name, low, source, ZERO, None, flags)
    else:
        compares = name in ("tst", "cmp", "cmn")
        data_processing(build, name, low, low, source, None, flags or compares)


def _high_registers(build: Builder, half: int) -> None:
    source, destination = half >> 3 & 0xF, half >> 4 & 8 | half & 7
    operation = half >> 8 & 3
    if operation == 0:
        build.write(destination, add(build, build.read(destination), build.read(source), ZERO, False))
    elif operation == 1:
        subtract(build, build.read(destination), build.read(source), ONE, True)
    elif operation == 2:
        build.write(destination, build.read(source))
    else:
        _branch_exchange(build, half, source)


def _branch_exchange(build: Builder, half: int, source: int) -> None:
    target = build.read(source)
    if half & 4 and build.m_profile:
        # BXNS and BLXNS: in the Non-secure state other stack pointers and special registers are in use.
        build.give_up()
        build.lose((MSP, PSP, CONTROL, PRIMASK, BASEPRI, FAULTMASK))
    elif half & 0x80:
        build.link()
    build.branch(target, True)


# Size, and bits that are sign-extended, by bits 11:9; the first three are stores.
_REGISTER_OFFSET = ((4, 0), (2, 0), (1, 0), (1, 8), (4, 0), (2, 0), (1, 0), (2, 16))


def _load_store_register(build: Builder, half: int) -> None:
    kind = half >> 9 & 7
    size, sign = _REGISTER_OFFSET[kind]
    address = build.value(Op.ADD, half >> 3 & 7, half >> 6 & 7, ZERO)
    if kind < 3:
        build.store(size, address, half & 7)
        return
    loaded: Operand = build.load(size, address)
    build.set(half & 7, build.sign(loaded, sign) if sign else loaded)


def _load_store(build: Builder, half: int) -> None:
    top = half >> 12
    if top == 9:
        size, base, register, offset = 4, SP, half >> 8 & 7, half & 0xFF
    else:
        size = {6: 4, 7: 1, 8: 2}[top]
        base, register, offset = half >> 3 & 7, half & 7, half >> 6 & 31
    address = build.offset(base, offset * size)
    if half & 0x800:
        build.set(register, build.load(size, address))
    else:
        build.store(size, address, register)


def _miscellaneous(build: Builder, half: int) -> None:
    kind = half >> 8 & 0xF
    if kind == 0:
        offset = (half & 0x7F) * 4
        build.set(SP, build.offset(SP, -offset if half & 0x80 else offset))
    elif kind in (1, 3, 9, 11):
        zero = build.value(Op.ZERO, half & 7)
        if not build.leads_on(decode_t16(build.address, half).target):
            build.taken_if(build.value(Op.XOR, zero, ONE) if half & 0x800 else zero)
    elif kind == 2:
        _extend(build, half)
    elif kind in (4, 5):
        push(build, _list(half & 0xFF, LR if half & 0x100 else None))
    elif kind in (12, 13):
        pop(build, _list(half & 0xFF, PC if half & 0x100 else None))
    elif kind == 10:
        if half >> 6 & 3 != 2:
            build.set(half & 7, reverse(build, half >> 3 & 7, half >> 6 & 3))
    elif half & 0xFFE8 == 0xB660:
        change_masks(build, half)


def _extend(build: Builder, half: int) -> None:
    bits = 8 if half & 0x40 else 16
    source = half >> 3 & 7
    build.set(half & 7, build.field(source, 0, bits) if half & 0x80 else build.sign(source, bits))


def _list(bits: int, last: Optional[int]) -> List[int]:
    registers = [number for number in range(16) if bits >> number & 1]
    return registers if last is None else registers + [last]


def push(build: Builder, registers: List[int]) -> None:
    """Lower the stack pointer and store registers, lowest number at lowest address."""
    start = build.offset(SP, -4 * len(registers))
    build.align(start)
    for index, register in enumerate(registers):
        build.store(4, build.offset(start, 4 * index), register)
    build.set(SP, start)


def pop(build: Builder, registers: List[int]) -> None:
    """Load registers upwards and raise the stack pointer; PC branches."""
    build.align(SP)
    build.set(SP, build.offset(SP, 4 * len(registers)))
    for index, register in enumerate(registers):
        build.write(register, build.load(4, build.offset(SP, 4 * index)), True)


def _multiple(build: Builder, half: int) -> None:
    base = half >> 8 & 7
    registers = _list(half & 0xFF, None)
    build.align(base)
    after = build.offset(base, 4 * len(registers))
    if not half & 0x800:
        for index, register in enumerate(registers):
            # The base's value is not known where it is not the first.
            value = build.unknown() if index and register == base else register
            build.store(4, build.offset(base, 4 * index), value)
        build.set(base, after)
        return
    if base not in registers:
        build.set(base, after)
    for index, register in enumerate(registers):
        build.set(register, build.load(4, build.offset(base, 4 * index)))
