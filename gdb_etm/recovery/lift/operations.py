"""Operations on slots and memory: the language of lifting and solving."""

from __future__ import annotations

from typing import Final, NamedTuple, Optional, Tuple, Union

MASK: Final = 0xFFFFFFFF

SP: Final = 13
LR: Final = 14
# Places of the condition flags, one bit each.
N: Final = 16
Z: Final = 17
C: Final = 18
V: Final = 19
# The flags, and their bits in the status registers.
FLAGS: Final = ((N, 31), (Z, 30), (C, 29), (V, 28))
# Places of the special registers.
#
# Of MSP and PSP only the one that r13 is not at the time has its value here; the other one's is in SP. On M-profile
# bits 1:0 of a stack pointer are always 0.
MSP: Final = 20
PSP: Final = 21
CONTROL: Final = 22
PRIMASK: Final = 23
BASEPRI: Final = 24
FAULTMASK: Final = 25
GE: Final = 26
FPSCR: Final = 27
# Slot of one bit: whether an M-profile core is in Handler mode.
HANDLER: Final = 28
# Places of floating point: CONTROL.FPCA, one bit; bits 26:22 of FPSCR and of M-profile's FPDSCR, five bits each.
#
# Each floating-point instruction of M-profile sets FPCA where FPCCR.ASPEN is 1; where FPCA was 0, FP_MODE becomes
# FP_DEFAULT, and the flags in FPSCR are not known.
FPCA: Final = 29
FP_MODE: Final = 30
FP_DEFAULT: Final = 31
# Slot of s0; s1 to s31 follow.  A double-precision register is a pair of them, low word first.
S0: Final = 32
# Bits that operations keep track of, where that is not a whole register: the others of these slots mean nothing.
#
# Those of CONTROL are nPRIV and SPSEL, those of FPSCR the condition flags.
MEANT: Final = {CONTROL: 0x3, PRIMASK: 0x1, BASEPRI: 0xFF, FAULTMASK: 0x1, GE: 0xF, FPSCR: 0xF0000000}
# Of registers with bits that are a slot of their own: that slot, the lowest of the bits, and how many they are.
APART: Final = {CONTROL: (FPCA, 2, 1), FPSCR: (FP_MODE, 22, 5)}
# First of the slots that live within one instruction.
TEMPORARY: Final = 64

# Slot of each register by its lower-case name.
SLOTS: Final = {"r%d" % number: number for number in range(13)}
SLOTS.update({"sp": SP, "lr": LR, "n": N, "z": Z, "c": C, "v": V, "msp": MSP, "psp": PSP, "control": CONTROL})
SLOTS.update({"primask": PRIMASK, "basepri": BASEPRI, "faultmask": FAULTMASK, "ge": GE, "fpscr": FPSCR})
SLOTS.update({"handler": HANDLER, "fpca": FPCA, "fp_mode": FP_MODE, "fp_default": FP_DEFAULT})
SLOTS.update({"s%d" % number: S0 + number for number in range(32)})


def slot_values(name: str, value: int) -> Tuple[Tuple[int, int, int], ...]:
    """List the slots of a named register, each with mask and bits.

    :param name: As in :data:`SLOTS`; or xpsr, which is the flags, GE and whether it is Handler mode; or cpsr.
    """
    if name in ("xpsr", "cpsr"):
        status = tuple([(slot, 1, value >> bit & 1) for slot, bit in FLAGS])
        status += ((GE, 0xF, value >> 16 & 0xF),)
        return status if name == "cpsr" else status + ((HANDLER, 1, int(bool(value & 0x1FF))),)
    slot = SLOTS.get(name)
    if slot is None:
        return ()
    meant = MEANT.get(slot, MASK)
    own = ((slot, meant, value & meant),)
    if slot == CONTROL:
        return own + ((FPCA, 1, value >> 2 & 1),)
    if slot == FPSCR:
        return own + ((FP_MODE, MASK, value >> 22 & 0x1F),)
    return own


class Const(NamedTuple):
    """A constant of the instruction, its address included."""

    # 32 bits, unsigned.
    value: int


Slot = int
Operand = Union[Slot, Const]


class Op:
    """The kinds of operation, modulo 2**32; inputs ``a, b, c``, output ``d``."""

    # d = a
    COPY: Final = 0
    # d = a + b + c, where c is one bit
    ADD: Final = 1
    # d = a + NOT b + c, where c is one bit: with c = 1 it is a - b
    SUB: Final = 2
    # d = a AND b
    AND: Final = 3
    # d = a OR b
    OR: Final = 4
    # d = a XOR b
    XOR: Final = 5
    # d = NOT a
    NOT: Final = 6
    # d = b with ``detail = (p, q, n)``: bits p to p+n-1 replaced by bits q to q+n-1 of a.
    #
    # Shifts and zero extensions by a constant have Const(0) as b; a rotation, a reversal of bytes and a bit field's
    # insertion are several of these.
    BITS: Final = 7
    # d = a's low ``detail = (n,)`` bits, sign-extended
    SIGN: Final = 8
    # d = a shifted left by the low 8 bits of b, 0 from 32 on
    LSL: Final = 9
    # d = a shifted right by the low 8 bits of b, 0 from 32 on
    LSR: Final = 10
    # d = a shifted right arithmetically by the low 8 bits of b, all sign bits from 32 on
    ASR: Final = 11
    # d = a rotated right by the low 8 bits of b, modulo 32
    ROR: Final = 12
    # d = a * b
    MUL: Final = 13
    # d = high word of the unsigned product a * b
    UMULH: Final = 14
    # d = high word of the signed product a * b
    SMULH: Final = 15
    # d = a / b unsigned, 0 when b is 0
    UDIV: Final = 16
    # d = a / b signed towards zero, 0 when b is 0
    SDIV: Final = 17
    # d = number of leading zeros of a
    CLZ: Final = 18
    # d = a with its bits in reverse order
    RBIT: Final = 19
    # d = b if a (one bit) is 1, else c
    SELECT: Final = 20
    # d (one bit) = whether a is 0
    ZERO: Final = 21
    # d (one bit) = bit ``detail = (n,)`` of a: N is BIT 31
    BIT: Final = 22
    # d (one bit) = carry out of a + b + c
    ADD_CARRY: Final = 23
    # d (one bit) = signed overflow of a + b + c
    ADD_OVERFLOW: Final = 24
    # d (one bit) = carry out of a + NOT b + c: with c = 1, whether a >= b unsigned
    SUB_CARRY: Final = 25
    # d (one bit) = signed overflow of a + NOT b + c
    SUB_OVERFLOW: Final = 26
    # d (one bit) = carry out of the shift ``detail = (Op.LSL/LSR/ASR/ROR,)`` of a by the low 8 bits of b; c (the old
    # carry) when that amount is 0
    SHIFT_CARRY: Final = 27
    # d (one bit) = whether condition ``detail = (code,)``, 0 to 13, holds with the inputs N, Z, C, V
    CONDITION: Final = 28
    # d = ``detail = (size,)`` bytes at address a, little-endian, zero-extended; size 1, 2 or 4
    LOAD: Final = 29
    # ``detail = (size,)`` bytes at address a become the low bytes of b; no output
    STORE: Final = 30
    # every output is unknown whatever the inputs are: what an instruction without a model writes
    UNKNOWN: Final = 31
    # any memory may have another value afterwards; no inputs, no outputs
    CLOBBER: Final = 32
    # d = a + b, of single-precision numbers as all that follow; the last input is always FP_MODE's five bits
    FADD: Final = 33
    # d = a - b
    FSUB: Final = 34
    # d = a * b
    FMUL: Final = 35
    # d = a / b
    FDIV: Final = 36
    # d = square root of a
    FSQRT: Final = 37
    # d = a + b * c, rounded once
    FMULADD: Final = 38
    # d (four bits) = N, Z, C and V of the comparison of a with b, N in bit 3
    FCOMPARE: Final = 39
    # d = a as a signed integer, saturated
    FTOS: Final = 40
    # d = a as an unsigned integer, saturated
    FTOU: Final = 41
    # d = the signed integer a as a number
    STOF: Final = 42
    # d = the unsigned integer a as a number
    UTOF: Final = 43


# The operations on single-precision numbers, which are computed forwards only.
FLOAT_OPS: Final = tuple(range(Op.FADD, Op.UTOF + 1))


class Operation(NamedTuple):
    """An operation of an instruction; they are computed in order."""

    op: int
    outputs: Tuple[Slot, ...]
    inputs: Tuple[Operand, ...]
    detail: Tuple[int, ...] = ()


class Lifted(NamedTuple):
    """One instruction, as if its condition held.

    A slot that is read after it was written in the same instruction has the new value.  Nothing here says what a
    failed condition does: an instruction that is executed conditionally (in an IT block, or by A32's condition field)
    then leaves all slots and all memory as they were.
    """

    # 2 or 4 bytes.
    size: int
    operations: Tuple[Operation, ...]
    # A slot of one bit that is 1 when the branch is taken; None when it is no conditional branch.
    #
    # The condition of a plain conditional branch (``beq``) is this, not an execution condition.
    taken: Optional[Slot] = None
    # What the next instruction's address comes from, where it does not stand in the instruction.
    target: Optional[Operand] = None
    # Whether bit 0 of ``target`` chooses the instruction set (BX, BLX, POP, LDR to PC).
    #
    # Otherwise that bit is ignored, and where the next instruction is A32 code bit 1 too.
    interworks: bool = False
    # Addresses that are multiples of 4, or the instruction would have faulted (LDM, STM, LDRD, STRD, PUSH).
    #
    # As ``taken`` and ``target``, they are read after all operations.
    aligned: Tuple[Operand, ...] = ()
    # Whether the operations are all there is; when not, what UNKNOWN puts out is what the instruction writes.
    modelled: bool = True
    # Whether it leaves its return address in the link register.
    call: bool = False
    # Whether all of that is of one address alone: that of the instruction is among its constants.
    placed: bool = False
