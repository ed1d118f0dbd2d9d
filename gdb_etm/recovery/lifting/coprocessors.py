"""Coprocessor instructions, floating point among them; T32 and A32 share their low 28 bits.

Ref: Armv8-M ARM, C2.3.8 and the floating-point instructions of C2.4; A-profile ARM, F3.1.  Arithmetic of floating-point
numbers is not modelled: it makes its destination unknown.  Moves, loads, stores and selections are exact.
"""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.recovery.lifting.builder import FLAGS, FLOATS, ONE, PC, ZERO, Builder
from gdb_etm.recovery.operations import CONTROL, FPSCR, S0, Const, Op, Operand, Place

_SINGLE, _DOUBLE = 10, 11


def lift_coprocessor(build: Builder, word: int) -> None:
    """Lift a coprocessor instruction.

    :param word: With the first halfword on top in T32; bits 31:28 are 14 or 15 in T32 and the condition in A32.
    """
    number = word >> 8 & 0xF
    vector = word >> 24 & 0xF == 0xF or word >> 28 == 15 and 8 <= number <= 15
    if word >> 28 == 15 and number in (9, 10, 11) and word >> 24 & 0xF == 0xE:
        if build.m_profile:
            build.set(CONTROL, build.insert(CONTROL, ONE, 2, 1))
        _unconditional(build, word)
    elif vector or number in (8, 14, 15) and build.m_profile:
        # Vectors: core registers, vector registers, flags and memory may change.
        build.give_up()
    elif number in (9, 10, 11):
        if build.m_profile:
            build.set(CONTROL, build.insert(CONTROL, ONE, 2, 1))
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
            _arithmetic(build, word)
    elif word & 0x01A00000:
        _load_store(build, word)
    elif word & 0x00400000:
        _transfer_two(build, word)
    else:
        build.give_up()


def single(field: int, low: int) -> Place:
    """Give the place of s register ``field:low``."""
    return S0 + (field << 1 | low)


def _double(field: int, high: int) -> Tuple[Place, ...]:
    # Words of a double-precision register; those of d16 to d31 are no places.
    return () if high else (S0 + 2 * field, S0 + 2 * field + 1)


def _destination(word: int, double: bool) -> Tuple[Place, ...]:
    field, bit = word >> 12 & 0xF, word >> 22 & 1
    return _double(field, bit) if double else (single(field, bit),)


def _first(word: int, double: bool) -> Tuple[Place, ...]:
    field, bit = word >> 16 & 0xF, word >> 7 & 1
    return _double(field, bit) if double else (single(field, bit),)


def _second(word: int, double: bool) -> Tuple[Place, ...]:
    field, bit = word & 0xF, word >> 5 & 1
    return _double(field, bit) if double else (single(field, bit),)


def _is_double(word: int) -> bool:
    return word >> 8 & 0xF == _DOUBLE


def _words(build: Builder, places: Tuple[Place, ...], count: int) -> List[Operand]:
    # The values of registers, unknown where they are no places.
    return list(places) if places else [build.unknown() for _word in range(count)]


def _load_store(build: Builder, word: int) -> None:
    base, number = word >> 16 & 0xF, word & 0xFF
    up, writes_back, before = bool(word & 0x00800000), bool(word & 0x00200000), bool(word & 0x01000000)
    source = build.read(base)
    if base == PC:
        source = build.value(Op.BITS, source, ZERO, detail=(2, 2, 30))
    if before and not writes_back:
        half = word >> 8 & 0xF == 9
        address = build.offset(source, number * (2 if half else 4) * (1 if up else -1))
        _registers(build, word, address, 2 if half else 2 if _is_double(word) else 1, 2 if half else 4)
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
    _registers(build, word, start, number & ~1 if _is_double(word) else number, 4)


def _registers(build: Builder, word: int, address: Operand, count: int, size: int) -> None:
    # Words of consecutive registers from the destination field on.
    if size == 2:
        count = 1
    field, bit = word >> 12 & 0xF, word >> 22 & 1
    number = (bit << 4 | field) * 2 if _is_double(word) else field << 1 | bit
    if size == 4:
        build.align(address)
    for index in range(count):
        place = S0 + number + index
        at = build.offset(address, 4 * index)
        exists = number + index < 32
        if word & 0x00100000:
            value = build.load(size, at)
            if exists:
                build.set(place, value)
        else:
            build.store(size, at, place if exists else build.unknown())


def _lazy(build: Builder, word: int) -> None:
    # VLSTM and VLLDM save and restore all registers, or mark them to be saved later.
    base = word >> 16 & 0xF
    if not word & 0x00100000:
        for index in range(34):
            build.store(4, build.offset(base, 4 * index), build.unknown())
    build.lose(FLOATS + (FPSCR,))


def _clear(build: Builder, word: int) -> None:
    field, bit, count = word >> 12 & 0xF, word >> 22 & 1, word & 0xFF
    number = (bit << 4 | field) * 2 if _is_double(word) else field << 1 | bit
    for index in range(number, min(number + count, 32)):
        build.set(S0 + index, ZERO)


def _transfer_two(build: Builder, word: int) -> None:
    cores = word >> 12 & 0xF, word >> 16 & 0xF
    if _is_double(word):
        places = _second(word, True)
    else:
        start = single(word & 0xF, word >> 5 & 1)
        places = tuple([place for place in (start, start + 1) if place < S0 + 32])
    if word & 0x00100000:
        for core, value in zip(cores, _words(build, places, 2)):
            build.set(core, value)
    else:
        for place, core in zip(places, cores):
            build.set(place, core)


def _transfer(build: Builder, word: int) -> None:
    core, loads, kind = word >> 12 & 0xF, bool(word & 0x00100000), word >> 21 & 7
    if _is_double(word):
        _transfer_scalar(build, word)
    elif kind == 7:
        _system_register(build, word >> 16 & 0xF, core, loads)
    elif kind == 0:
        place = _first(word, False)[0]
        half = word >> 8 & 0xF == 9
        if loads:
            build.set(core, build.field(place, 0, 16) if half else place)
        else:
            build.set(place, build.field(core, 0, 16) if half else core)
    else:
        build.give_up()


def _transfer_scalar(build: Builder, word: int) -> None:
    core, places = word >> 12 & 0xF, _first(word, True)
    index, whole = word >> 21 & 1, not word & 0x00C00060
    if word & 0x00100000:
        if whole:
            build.set(core, places[index] if places else build.unknown())
        else:
            build.lose((core,))
    elif whole and places:
        build.set(places[index], core)
    elif word & 0x00800000 or not whole:
        build.lose(FLOATS)


def _system_register(build: Builder, register: int, core: int, loads: bool) -> None:
    if register != 1:
        if loads:
            build.forget(FLAGS if core == PC else (core,))
        return
    if not loads:
        build.set(FPSCR, build.insert(build.unknown(), core, 28, 4, 28))
    elif core == PC:
        for number, flag in zip((31, 30, 29, 28), FLAGS):
            build.set(flag, build.bit(FPSCR, number))
    else:
        build.set(core, build.insert(build.unknown(), FPSCR, 28, 4, 28))


def _arithmetic(build: Builder, word: int) -> None:
    double = _is_double(word)
    kind = word >> 20 & 0xB
    if word >> 8 & 0xF == 9:
        build.lose(_destination(word, False))
    elif kind != 0xB:
        build.lose(_destination(word, double))
    elif not word & 0x40:
        _immediate(build, word, double)
    else:
        _one_operand(build, word, double)


def _immediate(build: Builder, word: int, double: bool) -> None:
    # VFPExpandImm
    number = word >> 12 & 0xF0 | word & 0xF
    sign, fraction = number >> 7 << 31, number & 0x3F
    if double:
        top = sign | (0x3FC00000 if number & 0x40 else 0x40000000) | fraction << 16
        values = [0, top]
    else:
        values = [sign | (0x3E000000 if number & 0x40 else 0x40000000) | fraction << 19]
    for place, value in zip(_destination(word, double), values):
        build.set(place, Const(value))


_SIGN = Const(0x80000000)


def _one_operand(build: Builder, word: int, double: bool) -> None:
    kind, high = word >> 16 & 0xF, word >> 7 & 1
    places = _destination(word, double)
    values = _words(build, _second(word, double), 2)
    if kind < 2 and (kind, high) != (1, 1):
        if kind == 1:
            values[len(places) - 1 :] = [build.value(Op.XOR, values[len(places) - 1], _SIGN)]
        elif high:
            values[len(places) - 1 :] = [build.value(Op.AND, values[len(places) - 1], Const(0x7FFFFFFF))]
        for place, value in zip(places, values):
            build.set(place, value)
    elif kind in (4, 5):
        build.lose((FPSCR,))  # VCMP
    else:
        build.lose(_converted(word, double))


def _converted(word: int, double: bool) -> Tuple[Place, ...]:
    # Where conversions leave their result: integers and half precision in a single register.
    kind = word >> 16 & 0xF
    if kind == 7 and word & 0x80:
        return _destination(word, not double)
    if kind in (3, 12, 13):
        return _destination(word, False)
    return _destination(word, double)


def _unconditional(build: Builder, word: int) -> None:
    # VSEL, VMAXNM, VMINNM, and conversions and roundings with a given mode.
    double = _is_double(word)
    if word >> 8 & 0xF == 9 or word & 0x10:
        build.give_up()
    elif not word & 0x00800000 and not word & 0x40:
        code = (0, 6, 10, 12)[word >> 20 & 3]
        sources = zip(_words(build, _first(word, double), 2), _words(build, _second(word, double), 2))
        for place, (yes, no) in zip(_destination(word, double), sources):
            build.set(place, build.value(Op.SELECT, build.condition(code), yes, no))
    elif word & 0x00BC0040 == 0x00BC0040:
        build.lose(_destination(word, False) + (FPSCR,))  # VCVTA and its like
    else:
        build.lose(_destination(word, double))
    # VINS and VMOVX are half precision: they write a single register.
