"""Lifter of A32 (A-profile ARM, F4.1), but for the condition field."""

from __future__ import annotations

from typing import Optional

from gdb_etm.recovery.lift.a32_media import lift_halves, lift_media, lift_multiply
from gdb_etm.recovery.lift.a32_memory import lift_extra, lift_multiple, lift_single
from gdb_etm.recovery.lift.alu import data_processing, shift_by, shift_by_register
from gdb_etm.recovery.lift.builder import FLOATS, PC, Builder
from gdb_etm.recovery.lift.coprocessors import lift_coprocessor
from gdb_etm.recovery.lift.media import saturating_add
from gdb_etm.recovery.lift.operations import FPSCR, MASK, Const, Op, Operand
from gdb_etm.recovery.lift.status import change_mode, read_status, return_from_exception, write_status
from gdb_etm.recovery.lift.t32_memory import lost_elements


def lift_a32(build: Builder, word: int) -> None:
    """Lift an A32 instruction.

    :param word: The instruction word.
    """
    group = word >> 25 & 7
    if word >> 28 == 15:
        _unconditional(build, word)
    elif group == 0:
        _registers(build, word)
    elif group == 1:
        _immediate(build, word)
    elif group == 2 or group == 3 and not word & 0x10:
        lift_single(build, word)
    elif group == 3:
        lift_media(build, word)
    elif group == 4:
        lift_multiple(build, word)
    elif group == 5:
        if word & 0x01000000:
            build.link()
    elif word & 0x0F000000 != 0x0F000000:
        lift_coprocessor(build, word)


# By bits 24:21.
_NAMES = tuple("and eor sub rsb add adc sbc rsc tst teq cmp cmn orr mov bic mvn".split())


def _registers(build: Builder, word: int) -> None:
    if word & 0x90 == 0x90:
        if word & 0x60:
            lift_extra(build, word)
        else:
            lift_multiply(build, word)
        return
    if word & 0x01900000 == 0x01000000:
        if word & 0x80:
            lift_halves(build, word)
        else:
            _miscellaneous(build, word)
        return
    source = build.read(word & 0xF)
    if word & 0x10:
        value, carry = shift_by_register(build, word & 0xF, word >> 5 & 3, word >> 8 & 0xF)
    else:
        value, carry = shift_by(build, source, word >> 5 & 3, word >> 7 & 31)
    _data_processing(build, word, value, carry)


def _data_processing(build: Builder, word: int, value: Operand, carry: Optional[Operand]) -> None:
    name, destination, flags = _NAMES[word >> 21 & 0xF], word >> 12 & 0xF, bool(word & 0x00100000)
    first = build.read(word >> 16 & 0xF)
    if destination == PC and flags and name not in ("tst", "teq", "cmp", "cmn"):
        data_processing(build, name, destination, first, value, carry, False)
        return_from_exception(build)
        return
    data_processing(build, name, destination, first, value, carry, flags, True)


def _expand(word: int) -> int:
    amount = word >> 7 & 30
    return ((word & 0xFF) >> amount | (word & 0xFF) << (32 - amount)) & MASK


def _immediate(build: Builder, word: int) -> None:
    operation, destination = word >> 20 & 0x1F, word >> 12 & 0xF
    half = Const(word >> 4 & 0xF000 | word & 0xFFF)
    value = _expand(word)
    if operation == 0x10:
        build.set(destination, half)
    elif operation == 0x14:
        build.set(destination, build.insert(destination, half, 16, 16))
    elif operation == 0x12:
        write_status(build, Const(value), word >> 16 & 0xF)  # with no byte it is a hint
    elif operation != 0x16:
        carry = Const(value >> 31) if word & 0xF00 else None
        _data_processing(build, word, Const(value), carry)


def _miscellaneous(build: Builder, word: int) -> None:
    kind, operation = word >> 4 & 7, word >> 21 & 3
    source, destination, base = word & 0xF, word >> 12 & 0xF, word >> 16 & 0xF
    if kind == 0:
        _status(build, word)
    elif kind in (1, 2, 3) and operation == 1:
        if kind == 3:
            build.link()
        build.branch(build.read(source), True)
    elif kind == 1 and operation == 3:
        build.set(destination, build.value(Op.CLZ, source))
    elif kind == 5:
        build.set(destination, saturating_add(build, source, base, (0, 2, 1, 3)[operation]))
    elif kind == 6:
        build.branch(build.unknown(), False)
        return_from_exception(build)
    elif kind == 4:
        build.lose((destination,))  # CRC32
    elif kind != 7:
        build.give_up()


def _status(build: Builder, word: int) -> None:
    if not word & 0x00200000:
        read_status(build, word >> 12 & 0xF)
    elif not word & 0x00400200:
        write_status(build, word & 0xF, word >> 16 & 0xF)


def _unconditional(build: Builder, word: int) -> None:
    group = word >> 25 & 7
    if group == 5:
        build.link()
    elif group == 4:
        # SRS stores to the stack of some mode, RFE returns from an exception.
        if word & 0x00100000:
            build.branch(build.unknown(), True)
            return_from_exception(build)
            build.lose((word >> 16 & 0xF,))
        else:
            build.give_up()
    elif group in (6, 7):
        if word & 0x0F000000 != 0x0F000000:
            lift_coprocessor(build, word)
    elif word & 0x0FF10020 == 0x01000000:
        change_mode(build)  # CPS
    elif group == 1:
        build.lose(FLOATS + (FPSCR,))  # Advanced SIMD
    elif word & 0x0F100000 == 0x04000000:
        lost_elements(build, word >> 16 & 0xF, bool(word & 0x00200000), word & 0xF != PC)
