"""Lifter of A32 loads and stores (A-profile ARM, F4.1.8 to F4.1.13)."""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.recovery.lift.alu import shift_by
from gdb_etm.recovery.lift.builder import ONE, PC, ZERO, Builder
from gdb_etm.recovery.lift.operations import Const, Op, Operand
from gdb_etm.recovery.lift.status import return_from_exception
from gdb_etm.recovery.lift.t32_memory import load_multiple, store_exclusive


def _indexed(build: Builder, word: int, offset: Operand) -> Tuple[Operand, Operand]:
    # The address of the access and what the base register becomes.
    base = build.read(word >> 16 & 0xF)
    if isinstance(offset, Const):
        moved = build.offset(base, offset.value if word & 0x00800000 else -offset.value)
    elif word & 0x00800000:
        moved = build.value(Op.ADD, base, offset, ZERO)
    else:
        moved = build.value(Op.SUB, base, offset, ONE)
    return (moved if word & 0x01000000 else base), moved


def _write_back(build: Builder, word: int, moved: Operand, registers: Tuple[int, ...]) -> None:
    base = word >> 16 & 0xF
    if word & 0x01000000 and not word & 0x00200000:
        return
    # A base among the registers that are moved is unpredictable.
    build.set(PC if base in registers else base, moved)


def lift_single(build: Builder, word: int) -> None:
    """Lift LDR, STR, LDRB and STRB, the unprivileged ones among them."""
    if word & 0x02000000:
        offset, _carry = shift_by(build, word & 0xF, word >> 5 & 3, word >> 7 & 31)
    else:
        offset = Const(word & 0xFFF)
    address, moved = _indexed(build, word, offset)
    size, register = (1 if word & 0x00400000 else 4), word >> 12 & 0xF
    _write_back(build, word, moved, (register,))
    if word & 0x00100000 and size == 1:
        build.set(register, build.load(size, address))
    elif word & 0x00100000:
        build.write(register, build.load(size, address), True)
    else:
        build.store(size, address, build.read(register))


def lift_extra(build: Builder, word: int) -> None:
    """Lift the accesses to halfwords, signed bytes and doublewords."""
    if word & 0x00400000:
        offset: Operand = Const(word >> 4 & 0xF0 | word & 0xF)
    else:
        offset = word & 0xF
    address, moved = _indexed(build, word, offset)
    register, operation, loads = word >> 12 & 0xF, word >> 5 & 3, bool(word & 0x00100000)
    double = operation > 1 and not loads
    if double and operation == 2 and offset in (register, register + 1):
        build.give_up()  # unpredictable: the offset is loaded over
        return
    _write_back(build, word, moved, (register, register + 1) if double else (register,))
    if double:
        _doubleword(build, register, address, operation == 2)
    elif not loads:
        build.store(2, address, register)
    else:
        size = 1 if operation == 2 else 2
        value: Operand = build.load(size, address)
        build.set(register, build.sign(value, 8 * size) if operation > 1 else value)


def _doubleword(build: Builder, register: int, address: Operand, loads: bool) -> None:
    build.align(address)
    for index in (0, 1):
        at = build.offset(address, 4 * index)
        if loads:
            build.set(register + index, build.load(4, at))
        else:
            build.store(4, at, register + index)


def lift_multiple(build: Builder, word: int) -> None:
    """Lift LDM and STM, with user registers and exception return."""
    base, loads, user = word >> 16 & 0xF, bool(word & 0x00100000), bool(word & 0x00400000)
    registers = [number for number in range(16) if word >> number & 1]
    moved = 4 * len(registers)
    up, before = bool(word & 0x00800000), bool(word & 0x01000000)
    after = build.offset(base, moved if up else -moved)
    start = build.offset(base if up else after, 4 if up == before else 0)
    build.align(start)
    if not loads:
        _store_multiple(build, word, registers, start)
        if word & 0x00200000:
            build.set(base, after)
        return
    load_multiple(build, registers, start, base if word & 0x00200000 else None, after, not user)
    if user and PC in registers:
        return_from_exception(build)
    elif user:
        build.lose(registers)


def _store_multiple(build: Builder, word: int, registers: List[int], start: Operand) -> None:
    base = word >> 16 & 0xF
    for index, register in enumerate(registers):
        banked = word & 0x00400000 and 8 <= register < PC
        late_base = word & 0x00200000 and index and register == base
        value = build.unknown() if banked or late_base else build.read(register)
        build.store(4, build.offset(start, 4 * index), value)


def lift_exclusive(build: Builder, word: int) -> None:
    """Lift SWP, LDREX and STREX, and the accesses with acquire and release."""
    base, register, source = word >> 16 & 0xF, word >> 12 & 0xF, word & 0xF
    if not word & 0x00800000:
        size = 1 if word & 0x00400000 else 4
        loaded = build.load(size, base)
        build.store(size, base, source)
        build.set(register, loaded)
        return
    kind = word >> 21 & 3
    size, count = ((4, 1), (4, 2), (1, 1), (2, 1))[kind]
    if size == 4:
        build.align(base)
    if word & 0x00100000:
        for index in range(count):
            build.set(register + index, build.load(size, build.offset(base, 4 * index)))
    elif word & 0x0300:
        store_exclusive(build, register, base, [source + index for index in range(count)], size)
    else:
        build.store(size, base, source)
