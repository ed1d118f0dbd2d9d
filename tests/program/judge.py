"""The judge of our masks: Capstone, and IHI 0064, appendix F.

Lines are those of its text in ../shared/spec: tables of A64 (L20220), A32 (L20253) and T32 (L20289).
"""

from __future__ import annotations

from typing import NamedTuple, Set

import capstone
from capstone import arm, arm64

from gdb_etm.program.isa import InstructionKind


class Verdict(NamedTuple):
    """What Capstone and the tables of appendix F make of an instruction."""

    size: int
    kind: InstructionKind
    target: int = 0
    link: bool = False


def ids(*names: str) -> Set[int]:
    return {getattr(arm, "ARM_INS_" + name) for name in names}


INDIRECT = ids("BX", "BXJ", "TBB", "TBH", "RFEDA", "RFEDB", "RFEIA", "RFEIB", "ERET")
LISTS = ids("POP", "LDM", "LDMDA", "LDMDB", "LDMIB")
# A32 data processing with PC as destination branches; MOVW and the like with PC are unpredictable.
A32_WRITERS = ids(*"AND EOR SUB RSB ADD ADC SBC RSC ORR MOV BIC MVN LSL LSR ASR ROR RRX ADR LDR LDRT".split())
T16_WRITERS = ids("ADD", "MOV")
T32_WRITERS = ids("LDR", "LDRT")


def judge_arm(found: capstone.CsInsn, thumb: bool) -> Verdict:
    """Return the verdict on an A32 or T32 instruction."""
    size, number, operands, name = found.size, found.id, found.operands, found.mnemonic
    if number in ids("B", "BL") or number == arm.ARM_INS_BLX and operands[0].type == arm.ARM_OP_IMM:
        return Verdict(size, InstructionKind.DIRECT, operands[0].imm & 0xFFFFFFFF, number != arm.ARM_INS_B)
    if number in ids("CBZ", "CBNZ"):
        return Verdict(size, InstructionKind.DIRECT, operands[1].imm & 0xFFFFFFFF)
    if number == arm.ARM_INS_ISB:
        return Verdict(size, InstructionKind.DIRECT, found.address + size)
    if number == arm.ARM_INS_BLX or name == "blxns":
        return Verdict(size, InstructionKind.INDIRECT, link=True)
    if number in INDIRECT or name == "bxns":
        return Verdict(size, InstructionKind.INDIRECT)
    if name[:3] in ("wfi", "wfe"):
        return Verdict(size, InstructionKind.WAIT)
    if number in LISTS:
        loaded = operands if number == arm.ARM_INS_POP else operands[1:]
        return Verdict(
            size,
            InstructionKind.INDIRECT if any(one.reg == arm.ARM_REG_PC for one in loaded) else InstructionKind.OTHER,
        )
    text = found.op_str
    if number == arm.ARM_INS_MCR and text.startswith("p15, #0,") and text.endswith("c7, c5, #4"):
        return Verdict(size, InstructionKind.DIRECT, found.address + size)  # ISB in its CP15 form
    if name == "subs" and text.startswith("pc, lr,") and thumb:
        return Verdict(size, InstructionKind.INDIRECT)
    writes_pc = bool(operands) and operands[0].type == arm.ARM_OP_REG and operands[0].reg == arm.ARM_REG_PC
    writes_pc = writes_pc and not name.startswith("movw")
    writers = A32_WRITERS
    if thumb:
        writers = T16_WRITERS if size == 2 else T32_WRITERS
    return Verdict(size, InstructionKind.INDIRECT if writes_pc and number in writers else InstructionKind.OTHER)


def judge_a64(found: capstone.CsInsn) -> Verdict:
    """Return the verdict on an A64 instruction."""
    name = found.mnemonic
    if name in ("b", "bl", "cbz", "cbnz", "tbz", "tbnz") or name.startswith(("b.", "bc.")):
        return Verdict(4, InstructionKind.DIRECT, found.operands[-1].imm & 0xFFFFFFFFFFFFFFFF, name == "bl")
    if name == "isb":
        return Verdict(4, InstructionKind.DIRECT, found.address + 4)
    if name in ("blr", "blraa", "blrab", "blraaz", "blrabz"):
        return Verdict(4, InstructionKind.INDIRECT, link=True)
    if name in "br braa brab braaz brabz ret retaa retab eret eretaa eretab".split():
        return Verdict(4, InstructionKind.INDIRECT)
    return Verdict(4, InstructionKind.WAIT if name in ("wfi", "wfe") else InstructionKind.OTHER)


def is_conditional(found: capstone.CsInsn) -> bool:
    """Check whether a branch may be not taken.

    In an IT block it says so only if Capstone has seen the IT.
    """
    name = found.mnemonic
    if name[:3] in ("cbz", "cbn", "tbz", "tbn"):
        return True
    condition = found.cc
    if name.startswith(("b.", "bc.")):
        return condition not in (arm64.ARM64_CC_AL, arm64.ARM64_CC_NV)
    return condition not in (arm.ARM_CC_INVALID, arm.ARM_CC_AL)
