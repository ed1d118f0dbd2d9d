"""Bits of the fault status registers, in plain words.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), D1.2: CFSR with BFSR, MMFSR and UFSR, DFSR, HFSR, SFSR;
Armv7-M (DDI 0403E), B3.2.15, B3.2.16 and C1.6.1.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

from gdb_etm.protocols.elements import Exception_

HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SECURE_FAULT = 3, 4, 5, 6, 7

# The exceptions that are faults, by their number.
FAULTS: Dict[int, str] = {
    HARD_FAULT: "HardFault",
    MEM_MANAGE: "MemManage",
    BUS_FAULT: "BusFault",
    USAGE_FAULT: "UsageFault",
    SECURE_FAULT: "SecureFault",
}

# Those of A-profile have no number but a name (IHI 0035B, 4.5.4).
UNDEFINED, PREFETCH_ABORT, DATA_ABORT = "Undefined Instruction", "Prefetch abort", "Data abort"
ASYNCHRONOUS = "Asynchronous data abort"
_A_FAULTS = (UNDEFINED, PREFETCH_ABORT, DATA_ABORT, ASYNCHRONOUS)


def is_fault(event: Exception_) -> bool:
    """Check whether an exception is a fault."""
    return event.vector in FAULTS if event.vector is not None else event.name in _A_FAULTS


# Each fault's part in the names of SHCSR's fields.
PARTS = {MEM_MANAGE: "MEMFAULT", BUS_FAULT: "BUSFAULT", USAGE_FAULT: "USGFAULT", SECURE_FAULT: "SECUREFAULT"}


class Cause(NamedTuple):
    """One set bit of a fault status register."""

    register: str
    field: str
    # The exception that it makes.
    exception: int
    # A few words: what the program did.
    brief: str
    # A line's part: what it means, and what misleads.
    text: str

    @property
    def name(self) -> str:
        """Its register and field, such as ``CFSR.IBUSERR``."""
        return "%s.%s" % (self.register, self.field)

    @property
    def line(self) -> str:
        """A line for people."""
        return "%s: %s" % (self.name, self.text)


_USAGE = (
    ("STKOF", "a stack overflow", "SP went below its limit (MSPLIM, PSPLIM): the frame may not be on the stack"),
    ("INVSTATE", "a jump to an even address", "jump to an even address (a vector too), or EPSR.T lost on a return"),
    ("UNDEFINSTR", "an undefined instruction", "what was fetched is no instruction: UDF, data, or damaged code"),
    ("NOCP", "a coprocessor that is off", "a coprocessor is off or not there; FPU: CPACR.CP10 and CP11, NSACR"),
    ("INVPC", "a bad exception return", "EXC_RETURN is not legal, its exception not active, or xPSR does not fit"),
    ("DIVBYZERO", "a division by zero", "SDIV or UDIV with a divisor of 0, and CCR.DIV_0_TRP is set"),
    ("UNALIGNED", "an unaligned access", "LDRD, LDM, STREX, FPU or device access not aligned; or CCR.UNALIGN_TRP"),
)
_MEMORY = (
    ("IACCVIOL", "a jump to where no code may run", "jump or return to where no code may run: see PC, not MMFAR"),
    ("DACCVIOL", "a forbidden load or store", "load or store that the MPU or the memory map forbids"),
    ("MSTKERR", "SP leads to no stack", "failed while stacking: the frame is not there; see SP"),
    ("MUNSTKERR", "an exception's frame could not be read", "failed while unstacking: EXC_RETURN or SP is wrong"),
    ("MLSPERR", "FPU registers could not be saved", "late saving of FPU registers: see FPCAR, not the PC"),
)
_BUS = (
    ("IBUSERR", "a jump to where no code is", "jump or return to where nothing answers: see PC, not BFAR"),
    ("PRECISERR", "a load or store that the bus refused", "load or store: the bus answered with an error"),
    ("IMPRECISERR", "a store that failed late", "a store before the stacked PC failed late; BFAR does not tell it"),
    ("STKERR", "SP leads to no stack", "bus error while stacking: the frame is not there; see SP"),
    ("UNSTKERR", "an exception's frame could not be read", "bus error while unstacking: EXC_RETURN or SP is wrong"),
    ("LSPERR", "FPU registers could not be saved", "late saving of FPU registers: see FPCAR, not the PC"),
)
_SECURE = (
    ("INVEP", "a Non-secure call to Secure code", "Non-secure code branched to Secure code without an SG there"),
    ("INVER", "a bad return between the states", "EXC_RETURN.ES or DCRS does not fit a return to Secure state"),
    ("INVIS", "a bad Secure frame", "integrity signature of the Secure frame is wrong: see SP"),
    ("INVTRAN", "a branch out of Secure state", "a branch left Secure state without BXNS or BLXNS"),
    ("AUVIOL", "a Non-secure access to Secure memory", "Non-secure code accessed Secure memory (SAU, IDAU)"),
    ("LSPERR", "FPU registers could not be saved", "late saving of FPU registers broke the SAU's rules: see FPCAR"),
    ("LSERR", "an error with the FPU's late saving", "FPU's late saving began or ended in the wrong state"),
)
_DEBUG = (
    ("BKPT", "", "a BKPT instruction or a breakpoint"),
    ("DWTTRAP", "", "a watchpoint of the DWT"),
    ("EXTERNAL", "", "a debug request from outside the core"),
    ("PMU", "", "a counter of the PMU ran over"),
    ("VCATCH", "", "the debugger halted at the first instruction of the handler (vector catch)"),
    ("HALTED", "", "the debugger halted or stepped the core"),
)
_VECTTBL = "the vector of an exception could not be read: see VTOR and the vector table"
_DEBUGEVT = "BKPT, watchpoint or breakpoint without a debugger: see DFSR"


def _table(register: str, exception: int, rows: Tuple[Tuple[str, str, str], ...]) -> Tuple[Cause, ...]:
    return tuple(Cause(register, field, exception, brief, text) for field, brief, text in rows)


# The bits that are faults, the most telling of each exception first.
CAUSES = (
    Cause("HFSR", "VECTTBL", HARD_FAULT, "no vector could be read", _VECTTBL),
    Cause("HFSR", "DEBUGEVT", HARD_FAULT, "a breakpoint without a debugger", _DEBUGEVT),
    *_table("CFSR", USAGE_FAULT, _USAGE),
    *_table("CFSR", MEM_MANAGE, _MEMORY),
    *_table("CFSR", BUS_FAULT, _BUS),
    *_table("SFSR", SECURE_FAULT, _SECURE),
)

# What halted the core, or would have.
DEBUG = _table("DFSR", 0, _DEBUG)

# The bits that say that the registers at an exception are not on the stack.
STACKING = ("MSTKERR", "STKERR")
UNSTACKING = ("MUNSTKERR", "UNSTKERR")
# Those whose address is kept: the field, the register with the address, and the field that says that it is valid.
ADDRESSES: Dict[int, Tuple[str, str, str]] = {
    MEM_MANAGE: ("DACCVIOL", "MMFAR", "CFSR.MMARVALID"),
    BUS_FAULT: ("PRECISERR", "BFAR", "CFSR.BFARVALID"),
    SECURE_FAULT: ("AUVIOL", "SFAR", "SFSR.SFARVALID"),
}
