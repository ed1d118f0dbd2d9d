"""The 32-bit T32 loads and stores of core registers (Armv8-M ARM, C2.3.3)."""

from __future__ import annotations

from typing import List, Optional

from gdb_etm.recovery.lift.builder import EVERYTHING, FLAGS, PC, ZERO, Builder
from gdb_etm.recovery.lift.operations import GE, SP, Op, Operand


def store_exclusive(build: Builder, status: int, address: Operand, values: List[Operand], size: int) -> None:
    """Store if the monitor allows it; the status is 0, else 1.

    Where it does not, memory is stored back.
    """
    failed = build.bit(build.unknown(), 0)
    for index, value in enumerate(values):
        at = build.offset(address, 4 * index)
        before = build.load(size, at)
        build.store(size, at, build.value(Op.SELECT, failed, before, value))
    build.set(status, failed)


def load_multiple(
    build: Builder, registers: List[int], start: Operand, base: Optional[int], after: Operand, interworks: bool = True
) -> None:
    """Load registers from ascending addresses.

    :param base: Register that becomes ``after``, or None; what is loaded into it wins.
    :param interworks: Whether what goes to the program counter chooses the instruction set.
    """
    if base is not None and base not in registers:
        build.set(base, after)
    for index, register in enumerate(registers):
        build.write(register, build.load(4, build.offset(start, 4 * index)), interworks)


def store_multiple(build: Builder, registers: List[int], start: Operand) -> None:
    """Store registers at ascending addresses."""
    for index, register in enumerate(registers):
        build.store(4, build.offset(start, 4 * index), build.read(register))


def lift_multiple_or_dual(build: Builder, first: int, second: int) -> None:
    """Lift multiple, dual, exclusive and acquire-release accesses, table branches (E800 to E9FF)."""
    if not first & 0x40:
        _multiple(build, first, second)
    elif first & 0x120 or first & 0x80 and first & 0x20:
        _dual(build, first, second)
    elif first & 0x80:
        _by_operation(build, first, second)
    elif first & 0x10:
        address = build.offset(first & 0xF, 4 * (second & 0xFF))
        build.align(address)
        build.set(second >> 12, build.load(4, address))
    elif second >> 12 == PC:
        build.forget((second >> 8 & 0xF,))  # TT
    else:
        address = build.offset(first & 0xF, 4 * (second & 0xFF))
        build.align(address)
        store_exclusive(build, second >> 8 & 0xF, address, [second >> 12], 4)


def _multiple(build: Builder, first: int, second: int) -> None:
    base, writes_back = first & 0xF, bool(first & 0x20)
    down = first & 0x180 == 0x100
    if first == 0xE89F:
        _clear(build, second)
        return
    if first & 0x180 in (0, 0x180):
        build.lose(EVERYTHING + (PC,) if first & 0x10 else (SP,))  # RFE, SRS of A-profile
        build.clobber()
        return
    registers = [number for number in range(16) if second >> number & 1]
    moved = 4 * len(registers)
    start = build.offset(base, -moved) if down else base
    after = start if down else build.offset(base, moved)
    build.align(start)
    if first & 0x10:
        load_multiple(build, registers, start, base if writes_back else None, after)
        return
    store_multiple(build, registers, start)
    if writes_back:
        build.set(base, after)


def _clear(build: Builder, second: int) -> None:
    # CLRM
    for number in range(15):
        if second >> number & 1:
            build.set(number, ZERO)
    if second & 0x8000:
        for slot in FLAGS + (GE,):
            build.set(slot, ZERO)


def _dual(build: Builder, first: int, second: int) -> None:
    if first == second == 0xE97F:
        return  # SG
    base = first & 0xF
    offset = 4 * (second & 0xFF) * (1 if first & 0x80 else -1)
    source = build.read(base)
    if base == PC:
        source = build.value(Op.BITS, source, ZERO, detail=(2, 2, 30))
    indexed = build.offset(source, offset)
    address = indexed if first & 0x100 else source
    build.align(address)
    registers = second >> 12, second >> 8 & 0xF
    if first & 0x20 and base in registers:
        build.give_up()
        return
    if first & 0x20:
        build.set(base, indexed)
    for index, register in enumerate(registers):
        at = build.offset(address, 4 * index)
        if first & 0x10:
            build.set(register, build.load(4, at))
        else:
            build.store(4, at, register)


def _by_operation(build: Builder, first: int, second: int) -> None:
    base, register, operation = first & 0xF, second >> 12, second >> 4 & 0xF
    if operation < 2 and first & 0x10 and second & 0xFF00 == 0xF000:
        _table_branch(build, base, second & 0xF, bool(operation))
        return
    size = operation & 3
    if operation < 4 or size == 3 and operation == 11:
        build.give_up()
        return
    registers = [register, second >> 8 & 0xF] if size == 3 else [register]
    size = min(1 << size, 4)
    if size == 4:
        build.align(base)
    if first & 0x10:
        for index, number in enumerate(registers):
            build.set(number, build.load(size, build.offset(base, 4 * index)))
    elif operation & 4:
        store_exclusive(build, second & 0xF, base, list(registers), size)
    else:
        build.store(size, base, register)


def _table_branch(build: Builder, base: int, index: Operand, halfwords: bool) -> None:
    scaled = build.insert(ZERO, index, 1, 31) if halfwords else index
    entry = build.load(2 if halfwords else 1, build.value(Op.ADD, build.read(base), scaled, ZERO))
    build.branch(build.value(Op.ADD, build.insert(ZERO, entry, 1, 31), build.read(PC), ZERO), False)


def lift_single(build: Builder, first: int, second: int) -> None:
    """Lift the accesses to single registers (F800 to F9FF)."""
    size, signed, loads = first >> 5 & 3, bool(first & 0x100), bool(first & 0x10)
    register = second >> 12
    if signed and not loads:
        _vector_elements(build, first, second)
        return
    if size == 3 or signed and size == 2:
        build.lose((register,))
        return
    if loads and register == PC and size != 2:
        if first & 0xF != PC and not first & 0x80 and second & 0x800 and second & 0x700 != 0x400:
            build.give_up()
        return  # preloads and hints
    if first & 0xF == PC and not loads:
        build.give_up()
        return
    address = _address(build, first, second)
    if not loads:
        build.store(1 << size, address, register)
        return
    value: Operand = build.load(1 << size, address)
    build.write(register, build.sign(value, 8 << size) if signed else value, True)


def _address(build: Builder, first: int, second: int) -> Operand:
    base = first & 0xF
    if base == PC:
        offset = second & 0xFFF
        source = build.value(Op.BITS, build.read(PC), ZERO, detail=(2, 2, 30))
        return build.offset(source, offset if first & 0x80 else -offset)
    if first & 0x80:
        return build.offset(base, second & 0xFFF)
    if not second & 0x800:
        amount = second >> 4 & 3
        index: Operand = second & 0xF
        scaled = build.insert(ZERO, index, amount, 32 - amount) if amount else index
        return build.value(Op.ADD, base, scaled, ZERO)
    indexed = build.offset(base, (second & 0xFF) * (1 if second & 0x200 else -1))
    if second & 0x100:
        build.set(base, indexed)
    return indexed if second & 0x400 else base


def _vector_elements(build: Builder, first: int, second: int) -> None:
    # Advanced SIMD element and structure accesses: the base and what is loaded are lost.
    lost_elements(build, first & 0xF, bool(first & 0x20), second & 0xF != PC)


def lost_elements(build: Builder, base: int, loads: bool, writes_back: bool) -> None:
    """Lift an access to Advanced SIMD elements, which has no model."""
    lost = [base] if writes_back else []
    build.lose(lost + [slot for slot in EVERYTHING if slot >= 32] if loads else lost)
    if not loads:
        build.clobber()
