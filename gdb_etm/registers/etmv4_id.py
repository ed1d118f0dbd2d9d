"""ETMv4 identification, OS lock, power and management registers (blocks 3, 6, 29-31).

IHI 0064, chapter 7.  These say what a unit has and who may use it.
"""

from __future__ import annotations

from gdb_etm.registers import coresight
from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, members, ones, reserved, word

# TRCDEVARCH.ARCHID of every ETMv4.
ARCHID = 0x4A13

# TRCOSLSR.{OSLM_1, OSLM_0} of a unit that has the OS Lock.
OSLM_IMPLEMENTED = 0b10

TRCIDR8 = Register("TRCIDR8", 0x180, "RO", word("MAXSPEC"))
TRCIDR9 = Register("TRCIDR9", 0x184, "RO", word("NUMP0KEY"))
TRCIDR10 = Register("TRCIDR10", 0x188, "RO", word("NUMP1KEY"))
TRCIDR11 = Register("TRCIDR11", 0x18C, "RO", word("NUMP1SPC"))
TRCIDR12 = Register("TRCIDR12", 0x190, "RO", word("NUMCONDKEY"))
TRCIDR13 = Register("TRCIDR13", 0x194, "RO", word("NUMCONDSPC"))

TRCIMSPEC0 = Register("TRCIMSPEC0", 0x1C0, "RW", BitStruct(
    reserved(24),
    "EN" / bits(4),
    "SUPPORT" / bits(4, is_status=True)))

TRCIMSPEC = RegisterArray("TRCIMSPEC%d", 0x1C0, "RW", word("IMSPEC"), 4, range(1, 8), Remarks(is_own=True))

TRCIDR0 = Register("TRCIDR0", 0x1E0, "RO", BitStruct(
    reserved(2),
    "COMMOPT" / bits(1),
    "TSSIZE" / bits(5, {0: "none", 6: "48 bits", 8: "64 bits"}),
    "TSMARK" / bits(1, since=(4, 6)),
    reserved(3),
    "BF" / bits(2, since=(4, 5)),
    "TRCEXDATA" / bits(1),
    "QSUPP" / bits(2, {0: "none", 1: "with counts only", 2: "without counts only", 3: "both"}),
    "QFILT" / bits(1),
    "CONDTYPE" / bits(2, {0: "passed or failed", 1: "APSR flags"}),
    "NUMEVENT" / bits(2, note="less one"),
    "RETSTACK" / bits(1),
    reserved(1),
    "TRCCCI" / bits(1),
    "TRCCOND" / bits(1),
    "TRCBB" / bits(1),
    "TRCDATA" / bits(2, {0: "none", 3: "addresses and values"}),
    "INSTP0" / bits(2, {0: "none", 3: "loads and stores"}),
    ones(1)))

TRCIDR1 = Register("TRCIDR1", 0x1E4, "RO", BitStruct(
    "DESIGNER" / bits(8),
    reserved(8),
    ones(4),
    "TRCARCHMAJ" / bits(4),
    "TRCARCHMIN" / bits(4),
    "REVISION" / bits(4)))

TRCIDR2 = Register("TRCIDR2", 0x1E8, "RO", BitStruct(
    "WFXMODE" / bits(1, since=(4, 3)),
    "VMIDOPT" / bits(2, since=(4, 1)),
    "CCSIZE" / bits(4, note="bits of the cycle counter less 12"),
    "DVSIZE" / bits(5, note="bytes"),
    "DASIZE" / bits(5, note="bytes"),
    "VMIDSIZE" / bits(5, note="bytes"),
    "CIDSIZE" / bits(5, note="bytes"),
    "IASIZE" / bits(5, note="bytes")))

TRCIDR3 = Register("TRCIDR3", 0x1EC, "RO", BitStruct(
    "NOOVERFLOW" / bits(1),
    "NUMPROC_LOW" / bits(3, note="NUMPROC[2:0], processors less one"),
    "SYSSTALL" / bits(1),
    "STALLCTL" / bits(1),
    "SYNCPR" / bits(1, {0: "TRCSYNCPR can be written", 1: "TRCSYNCPR is read-only"}),
    "TRCERR" / bits(1),
    "EXLEVEL_NS" / bits(4, members("level")),
    "EXLEVEL_S" / bits(4, members("level")),
    reserved(2),
    "NUMPROC_HIGH" / bits(2, note="NUMPROC[4:3]", since=(4, 2)),
    "CCITMIN" / bits(12)))

TRCIDR4 = Register("TRCIDR4", 0x1F0, "RO", BitStruct(
    "NUMVMIDC" / bits(4),
    "NUMCIDC" / bits(4),
    "NUMSSCC" / bits(4),
    "NUMRSPAIR" / bits(4, note="less one; since v4.3 0 means none"),
    "NUMPC" / bits(4),
    reserved(3),
    "SUPPDAC" / bits(1),
    "NUMDVC" / bits(4),
    "NUMACPAIRS" / bits(4)))

TRCIDR5 = Register("TRCIDR5", 0x1F4, "RO", BitStruct(
    "REDFUNCNTR" / bits(1),
    "NUMCNTR" / bits(3),
    "NUMSEQSTATE" / bits(3),
    reserved(1),
    "LPOVERRIDE" / bits(1),
    "ATBTRIG" / bits(1),
    "TRACEIDSIZE" / bits(6),
    reserved(4),
    "NUMEXTINSEL" / bits(3),
    "NUMEXTIN" / bits(9)))

TRCIDR6 = Register("TRCIDR6", 0x1F8, "RO", BitStruct(reserved(32)))
TRCIDR7 = Register("TRCIDR7", 0x1FC, "RO", BitStruct(reserved(32)))

TRCOSLAR = Register("TRCOSLAR", 0x300, "WO", BitStruct(
    reserved(31),
    "OSLK" / bits(1, {0: "unlocks", 1: "locks"})))

TRCOSLSR = Register("TRCOSLSR", 0x304, "RO", BitStruct(
    reserved(28),
    "OSLM_1" / bits(1),
    "nTT" / bits(1),
    "OSLK" / bits(1, {0: "unlocked", 1: "locked"}),
    "OSLM_0" / bits(1)))

TRCPDCR = Register("TRCPDCR", 0x310, "RW", BitStruct(
    reserved(28),
    "PU" / bits(1, note="power is requested"),
    reserved(3)))

TRCPDSR = Register("TRCPDSR", 0x314, "RO", BitStruct(
    reserved(26),
    "OSLK" / bits(1, {0: "unlocked", 1: "locked"}),
    reserved(3),
    "STICKYPD" / bits(1, {0: "", 1: "power was lost"}),
    "POWER" / bits(1, {0: "off", 1: "on"})), Remarks(reading="clears STICKYPD"))

TRCITCTRL = Register("TRCITCTRL", 0xF00, "RW", BitStruct(
    reserved(31),
    "IME" / bits(1)))

TRCCLAIMSET = Register("TRCCLAIMSET", 0xFA0, "RW", BitStruct(
    reserved(24),
    "SET" / bits(8, note="reads as the tags that there are")))

TRCCLAIMCLR = Register("TRCCLAIMCLR", 0xFA4, "RW", BitStruct(
    reserved(24),
    "CLR" / bits(8, note="reads as the tags that are set")))

TRCDEVAFF0 = Register("TRCDEVAFF0", 0xFA8, "RO", word("MPIDR_LOW"))
TRCDEVAFF1 = Register("TRCDEVAFF1", 0xFAC, "RO", word("MPIDR_HIGH"))
TRCLAR = Register("TRCLAR", 0xFB0, "WO", word("KEY"))

TRCLSR = Register("TRCLSR", 0xFB4, "RO", BitStruct(
    reserved(29),
    "nTT" / bits(1),
    "SLK" / bits(1),
    "SLI" / bits(1)))

TRCAUTHSTATUS = Register("TRCAUTHSTATUS", 0xFB8, "RO", BitStruct(
    reserved(20),
    "HNID" / bits(2, coresight.ALLOWED),
    "HID" / bits(2, coresight.ALLOWED),
    "SNID" / bits(2, coresight.ALLOWED),
    "SID" / bits(2, coresight.ALLOWED),
    "NSNID" / bits(2, coresight.ALLOWED),
    "NSID" / bits(2, coresight.ALLOWED)))

TRCDEVARCH = Register("TRCDEVARCH", 0xFBC, "RO", BitStruct(
    "ARCHITECT" / bits(11),     # 0x23B
    "PRESENT" / bits(1),
    "REVISION" / bits(4, note="minor version"),
    "ARCHID" / bits(16)))

TRCDEVID = Register("TRCDEVID", 0xFC8, "RO", word("DEVID"))

TRCDEVTYPE = Register("TRCDEVTYPE", 0xFCC, "RO", BitStruct(
    reserved(24),
    "SUB" / bits(4),        # 1
    "MAJOR" / bits(4)))     # 3
