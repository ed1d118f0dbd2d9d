"""ETMv3 trace unit: identification, OS lock, power and management registers.

IHI 0014Q, 3.5.  These say what a unit has and who may use it.
"""

from __future__ import annotations

from gdb_etm.registers import coresight
from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, reserved, word

# ETMIDR.Major of every ETMv3: it counts from 0 for ETMv1.
MAJOR_ETMV3 = 2
# ETMIDR.Major of every PTM.
MAJOR_PFT = 3

# Locks the OS Lock when written to ETMOSLAR; anything else unlocks it, other than with ETMLAR.
OSLOCK_KEY = 0xC5ACCE55

ETMIMPSPEC = RegisterArray("ETMIMPSPEC%d", 0x1C0, "RW", word("IMPSPEC"), 4, range(8), Remarks(is_own=True))

ETMIDR = Register("ETMIDR", 0x1E4, "RO", BitStruct(
    "Designer" / bits(8),
    reserved(3),
    "BranchEncoding" / bits(1, {0: "original", 1: "alternative"}, note="branch packets", since=(3, 4)),
    "Security" / bits(1),
    "Thumb32" / bits(1),            # a 32-bit Thumb instruction is traced as one
    reserved(1),
    "LoadPCFirst" / bits(1),
    "Core" / bits(4),               # 0xF: not stated here
    "Major" / bits(4, {2: "ETMv3", 3: "PTM"}),
    "Minor" / bits(4),
    "Revision" / bits(4)))

ETMCCER = Register("ETMCCER", 0x1E8, "RO", BitStruct(       # since v3.1
    reserved(2),
    "Timestamp64" / bits(1),        # since v3.5 from here: timestamps have 64 bits, not 48
    "TimestampBinary" / bits(1),    # natural binary, not Gray code
    "ReducedCounter" / bits(1, note="counter 1 has a reload value only"),
    "Virtualization" / bits(1),
    reserved(3),
    "Timestamp" / bits(1),
    "EIBCR" / bits(1),              # since v3.4 from here
    "WatchStartStop" / bits(1),     # watchpoint inputs can start and stop tracing
    "WatchInputs" / bits(4),        # EmbeddedICE watchpoint inputs
    "Instrumentation" / bits(3),    # since v3.3
    "NoDataComp" / bits(1),         # since v3.3: data addresses cannot be compared
    "Readable" / bits(1, note="all registers can be read"),
    "ExtInBus" / bits(8),
    "ExtInSel" / bits(3)))

ETMIDR2 = Register("ETMIDR2", 0x208, "RO", BitStruct(
    reserved(30),
    "SWP" / bits(1),
    "RFE" / bits(1)), Remarks(since=(3, 5)))

ETMOSLAR = Register("ETMOSLAR", 0x300, "WO", word("KEY"), Remarks(since=(3, 3)))

ETMOSLSR = Register("ETMOSLSR", 0x304, "RO", BitStruct(     # 0 where there is no OS Lock
    reserved(28),
    "Model1" / bits(1),             # since v3.5
    "nTT" / bits(1),
    "Locked" / bits(1),
    "Model0" / bits(1)), Remarks(since=(3, 3)))

ETMOSSRR = Register("ETMOSSRR", 0x308, "RW", word("Value"), Remarks(
    since=(3, 3), reading="moves on to the next saved register"))

ETMPDCR = Register("ETMPDCR", 0x310, "RW", BitStruct(
    reserved(28),
    "PowerUp" / bits(1),
    reserved(3)), Remarks(since=(3, 5)))

ETMPDSR = Register("ETMPDSR", 0x314, "RO", BitStruct(
    reserved(26),
    "Locked" / bits(1, {0: "unlocked", 1: "locked"}),
    reserved(3),
    "Sticky" / bits(1, {0: "", 1: "power was lost"}),
    "Power" / bits(1, {0: "off", 1: "on"})), Remarks(since=(3, 3), reading="clears Sticky"))

ETMITCTRL = Register("ETMITCTRL", 0xF00, "RW", BitStruct(
    reserved(31),
    "IME" / bits(1)))

ETMCLAIMSET = Register("ETMCLAIMSET", 0xFA0, "RW", BitStruct(
    reserved(24),
    "SET" / bits(8, note="reads as the tags that there are")))

ETMCLAIMCLR = Register("ETMCLAIMCLR", 0xFA4, "RW", BitStruct(
    reserved(24),
    "CLR" / bits(8, note="reads as the tags that are set")))

ETMDEVAFF0 = Register("ETMDEVAFF0", 0xFA8, "RO", word("MPIDR_LOW"))
ETMLAR = Register("ETMLAR", 0xFB0, "WO", word("KEY"))

ETMLSR = Register("ETMLSR", 0xFB4, "RO", BitStruct(
    reserved(29),
    "nTT" / bits(1),
    "SLK" / bits(1),
    "SLI" / bits(1)))

ETMAUTHSTATUS = Register("ETMAUTHSTATUS", 0xFB8, "RO", BitStruct(
    reserved(24),
    "SNID" / bits(2, coresight.ALLOWED),
    "SID" / bits(2, coresight.ALLOWED),
    "NSNID" / bits(2, coresight.ALLOWED),
    "NSID" / bits(2, coresight.ALLOWED)))

ETMDEVID = Register("ETMDEVID", 0xFC8, "RO", word("DEVID"))

ETMDEVTYPE = Register("ETMDEVTYPE", 0xFCC, "RO", BitStruct(
    reserved(24),
    "SUB" / bits(4),                # 1
    "MAJOR" / bits(4)))             # 3
