"""Lifter of coprocessor and floating-point instructions, for T32 and A32.

Their low 28 bits are the same.

Ref: Armv8-M ARM, C2.3.8 and the floating-point instructions of C2.4; A-profile ARM, F3.1.
"""

from __future__ import annotations

from gdb_etm.recovery.lift.builder import FLAGS, FLOATS, PC, ZERO, Builder
from gdb_etm.recovery.lift.float_arithmetic import lift_arithmetic, lift_unconditional
from gdb_etm.recovery.lift.float_registers import begin, first, flags, is_double, mode, second, single, words
from gdb_etm.recovery.lift.operations import FP_MODE, FPCA, FPSCR, S0, Op, Operand


def lift_coprocessor(build: Builder, word: int) -> None:
    """Lift a coprocessor instruction.

    :param word: With the first halfword on top in T32; bits 31:28 are 14 or 15 in T32 and the condition in A32.
    """
    number = word >> 8 & 0xF
    vector = word >> 24 & 0xF == 0xF or word >> 28 == 15 and 8 <= number <= 15
    if word >> 28 == 15 and number in (9, 10, 11) and word >> 24 & 0xF == 0xE:
        begin(build)
        lift_unconditional(build, word)
    elif vector or number in (8, 14, 15) and build.m_profile:
        # Vectors: core registers, vector registers, flags and memory may change.
        build.give_up()
    elif number in (9, 10, 11):
        begin(build)
        _floating_point(build, word)
    else:
        _other(build, word)


def _other(build: Builder, word: int) -> None:
    register = word >> 12 & 0xF
    loads = bool(word & 0x00100000)
    if word >> 24 & 0xF == 0xE:
        if word & 0x10 and loads:
            build.forget(FLAGS if register == PC else (register,))  # MRC
    elif word >> 21 & 0x7F == 0x62:
        if loads:
            build.forget((register, word >> 16 & 0xF))  # MRRC
    else:
        if word & 0x00200000:
            build.lose((word >> 16 & 0xF,))
        if not loads:
            build.clobber()


def _floating_point(build: Builder, word: int) -> None:
    if word >> 24 & 0xF == 0xE:
        if word & 0x10:
            _transfer(build, word)
        else:
            lift_arithmetic(build, word)
    elif word & 0x01A00000:
        _load_store(build, word)
    elif word & 0x00400000:
        _transfer_two(build, word)
    else:
        build.give_up()


def _load_store(build: Builder, word: int) -> None:
    base, number = word >> 16 & 0xF, word & 0xFF
    up, writes_back, before = bool(word & 0x00800000), bool(word & 0x00200000), bool(word & 0x01000000)
    source = build.read(base)
    if base == PC:
        source = build.value(Op.BITS, source, ZERO, detail=(2, 2, 30))
    if before and not writes_back:
        half = word >> 8 & 0xF == 9
        address = build.offset(source, number * (2 if half else 4) * (1 if up else -1))
        _registers(build, word, address, 2 if half else 2 if is_double(word) else 1, 2 if half else 4)
        return
    if writes_back and up == before:
        _lazy(build, word)
        return
    if base == PC and build.m_profile:
        _clear(build, word)  # VSCCLRM
        return
    start = source if up else build.offset(source, -4 * number)
    build.align(start)
    if writes_back:
        build.set(base, build.offset(source, 4 * number) if up else start)
    _registers(build, word, start, number & ~1 if is_double(word) else number, 4)


def _registers(build: Builder, word: int, address: Operand, count: int, size: int) -> None:
    # Words of consecutive registers from the destination field on.
    if size == 2:
        count = 1
    field, bit = word >> 12 & 0xF, word >> 22 & 1
    number = (bit << 4 | field) * 2 if is_double(word) else field << 1 | bit
    if size == 4:
        build.align(address)
    for index in range(count):
        slot = S0 + number + index
        at = build.offset(address, 4 * index)
        exists = number + index < 32
        if word & 0x00100000:
            value = build.load(size, at)
            if exists:
                build.set(slot, value)
        else:
            build.store(size, at, slot if exists else build.unknown())


def _lazy(build: Builder, word: int) -> None:
    # VLSTM and VLLDM save and restore all registers, or mark them to be saved later.
    base = word >> 16 & 0xF
    if not word & 0x00100000:
        for index in range(34):
            build.store(4, build.offset(base, 4 * index), build.unknown())
    build.lose(FLOATS + (FPSCR, FP_MODE, FPCA))


def _clear(build: Builder, word: int) -> None:
    field, bit, count = word >> 12 & 0xF, word >> 22 & 1, word & 0xFF
    number = (bit << 4 | field) * 2 if is_double(word) else field << 1 | bit
    for index in range(number, min(number + count, 32)):
        build.set(S0 + index, ZERO)


def _transfer_two(build: Builder, word: int) -> None:
    cores = word >> 12 & 0xF, word >> 16 & 0xF
    if is_double(word):
        slots = second(word, True)
    else:
        start = single(word & 0xF, word >> 5 & 1)
        slots = tuple([slot for slot in (start, start + 1) if slot < S0 + 32])
    if word & 0x00100000:
        for core, value in zip(cores, words(build, slots)):
            build.set(core, value)
    else:
        for slot, core in zip(slots, cores):
            build.set(slot, core)


def _transfer(build: Builder, word: int) -> None:
    core, loads, kind = word >> 12 & 0xF, bool(word & 0x00100000), word >> 21 & 7
    if is_double(word):
        _transfer_scalar(build, word)
    elif kind == 7:
        _system_register(build, word >> 16 & 0xF, core, loads)
    elif kind == 0:
        slot = first(word, False)[0]
        half = word >> 8 & 0xF == 9
        if loads:
            build.set(core, build.field(slot, 0, 16) if half else slot)
        else:
            build.set(slot, build.field(core, 0, 16) if half else core)
    else:
        build.give_up()


def _transfer_scalar(build: Builder, word: int) -> None:
    core, slots = word >> 12 & 0xF, first(word, True)
    index, whole = word >> 21 & 1, not word & 0x00C00060
    if word & 0x00100000:
        if whole:
            build.set(core, slots[index] if slots else build.unknown())
        else:
            build.lose((core,))
    elif whole and slots:
        build.set(slots[index], core)
    elif word & 0x00800000 or not whole:
        build.lose(FLOATS)


def _system_register(build: Builder, register: int, core: int, loads: bool) -> None:
    if register != 1:
        if loads:
            build.forget(FLAGS if core == PC else (core,))
        return
    if not loads:
        build.set(FPSCR, build.insert(build.unknown(), core, 28, 4, 28))
        build.set(FP_MODE, build.field(core, 22, 5))
        return
    known = flags(build)
    if core == PC:
        for number, flag in zip((31, 30, 29, 28), FLAGS):
            build.set(flag, build.bit(known, number))
    else:
        value = build.insert(build.unknown(), known, 28, 4, 28)
        build.set(core, build.insert(value, mode(build), 22, 5))
