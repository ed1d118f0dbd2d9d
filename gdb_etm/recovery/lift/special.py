"""Lifter of MRS, MSR and CPS of M-profile.

Ref: Armv8-M ARM, C2.4; B3.32 and E2.1 of its pseudocode.

Which of them an instruction can write depends on the privilege: code that runs unprivileged writes none but the APSR.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.recovery.lift.builder import ONE, ZERO, Builder
from gdb_etm.recovery.lift.operations import (
    BASEPRI,
    CONTROL,
    FAULTMASK,
    FPCA,
    GE,
    HANDLER,
    MSP,
    PRIMASK,
    PSP,
    SP,
    C,
    Const,
    N,
    Op,
    Operand,
    V,
    Z,
)


def privileged(build: Builder) -> Operand:
    """Compute whether the core is privileged: Handler mode, or CONTROL.nPRIV clear."""
    thread = build.value(Op.XOR, build.bit(CONTROL, 0), ONE)
    return build.value(Op.OR, HANDLER, thread)


def uses_psp(build: Builder, control: Operand) -> Operand:
    """Give whether r13 is PSP with some value of CONTROL."""
    thread = build.value(Op.XOR, HANDLER, ONE)
    return build.value(Op.AND, build.bit(control, 1), thread)


def _protected(build: Builder, slot: int, value: Operand) -> None:
    build.set(slot, build.value(Op.SELECT, privileged(build), value, slot))


def change_masks(build: Builder, half: int) -> None:
    """Do CPS.

    :param half: The halfword, with bit 4 for disabling, bit 1 for PRIMASK and bit 0 for FAULTMASK.
    """
    value = Const(half >> 4 & 1)
    if not build.m_profile:
        return
    if half & 2:
        _protected(build, PRIMASK, value)
    if half & 1:
        _set_faultmask(build, value)


def _set_faultmask(build: Builder, value: Operand) -> None:
    # Setting it does nothing at a priority of HardFault or NMI, which is not known here.
    if value == ZERO:
        _protected(build, FAULTMASK, value)
    else:
        build.forget((FAULTMASK,))


def move_from_special(build: Builder, register: int, number: int) -> None:
    """Do MRS.

    :param register: Core register that is written.
    :param number: SYSm.
    """
    if number < 8:
        build.set(register, _program_status(build, number))
        return
    value: Optional[Operand]
    if number in (8, 9):
        value = _stack_pointer(build, number == 9)
    else:
        value = {16: PRIMASK, 17: BASEPRI, 18: BASEPRI, 19: FAULTMASK, 20: CONTROL}.get(number)
    if value is None:
        build.forget((register,))
    elif number == 20:
        # Bit 3 is SFPA, bits 7:4 are for pointer authentication.
        rest = build.insert(build.field(build.unknown(), 0, 8), FPCA, 2, 1)
        build.set(register, build.insert(rest, value, 0, 2))
    else:
        build.set(register, build.value(Op.SELECT, privileged(build), value, ZERO))


def _program_status(build: Builder, number: int) -> Operand:
    # APSR unless bit 2 is set; IPSR with bit 0, EPSR with bit 1, which reads as 0.
    result: Operand = build.unknown()
    if number & 4:
        return build.field(result, 0, 9) if number & 1 else ZERO
    for slot, flag in ((31, N), (30, Z), (29, C), (28, V)):
        result = build.insert(result, flag, slot, 1)
    result = build.insert(result, GE, 16, 4)
    result = build.insert(result, ZERO, 20, 7)
    result = build.insert(result, ZERO, 9, 7)
    return result if number & 1 else build.insert(result, ZERO, 0, 9)


def _stack_pointer(build: Builder, process: bool) -> Operand:
    active = uses_psp(build, CONTROL)
    return build.value(Op.SELECT, active, *((SP, PSP) if process else (MSP, SP)))


def move_to_special(build: Builder, register: int, number: int, mask: int) -> None:
    """Do MSR.

    :param register: Core register that is read.
    :param number: SYSm.
    :param mask: Bits 11:10 of the second halfword: 2 for the flags, 1 for GE.
    """
    if number < 4:
        if mask & 2:
            for slot, flag in ((31, N), (30, Z), (29, C), (28, V)):
                build.set(flag, build.bit(register, slot))
        if mask & 1:
            build.set(GE, build.field(register, 16, 4))
    elif number in (8, 9):
        _set_stack_pointer(build, register, number == 9)
    elif number == 16:
        _protected(build, PRIMASK, build.field(register, 0, 1))
    elif number in (17, 18):
        # There are 3 to 8 bits of the priority; BASEPRI_MAX only raises it.
        value = build.insert(build.field(build.unknown(), 0, 5), register, 5, 3, 5)
        _protected(build, BASEPRI, value if number == 17 else build.field(build.unknown(), 0, 8))
    elif number == 19:
        build.forget((FAULTMASK,))
    elif number == 20:
        _set_control(build, register)
    elif number not in (5, 6, 7, 10, 11):
        build.unmodelled()


def _set_stack_pointer(build: Builder, register: int, process: bool) -> None:
    value = build.value(Op.BITS, register, ZERO, detail=(2, 2, 30))
    allowed = privileged(build)
    active = uses_psp(build, CONTROL)
    here, there = (active, PSP) if process else (build.value(Op.XOR, active, ONE), MSP)
    build.set(SP, build.value(Op.SELECT, build.value(Op.AND, allowed, here), value, SP), aligned=True)
    other = build.value(Op.AND, allowed, build.value(Op.XOR, here, ONE))
    build.set(there, build.value(Op.SELECT, other, value, there))


def _set_control(build: Builder, register: int) -> None:
    # In Handler mode Armv7-M ignores SPSEL (DDI 0403, B5.2.3), and Armv8-M takes it, to no effect.
    allowed = privileged(build)
    control: Operand = build.insert(CONTROL, build.value(Op.SELECT, allowed, register, CONTROL), 0, 1)
    build.set(FPCA, build.value(Op.SELECT, allowed, build.bit(register, 2), FPCA))
    spsel = build.value(Op.SELECT, allowed, build.bit(register, 1), build.bit(CONTROL, 1))
    before = uses_psp(build, CONTROL)
    after = build.value(Op.AND, spsel, build.value(Op.XOR, HANDLER, ONE))
    kept = build.value(Op.SELECT, HANDLER, build.field(build.unknown(), 0, 1), spsel)
    build.set(CONTROL, build.insert(control, kept, 1, 1))
    main = build.value(Op.SELECT, before, MSP, SP)
    process = build.value(Op.SELECT, before, SP, PSP)
    build.set(MSP, main)
    build.set(PSP, process)
    build.set(SP, build.value(Op.SELECT, after, process, main), aligned=True)
