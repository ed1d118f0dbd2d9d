"""Debug registers of a Cortex-M, as offsets from 0xE000E000.

Armv8-M Architecture Reference Manual (DDI 0553B), D1.2; Armv7-M (DDI 0403E), B3.2 and C1.6.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, Remarks, bits, reserved, word

# Address of the System Control Space in every Cortex-M's memory.
SCS_BASE = 0xE000E000

# Where a Cortex-M's own ROM table lies, unless its access port says otherwise.
ROM_TABLE_BASE = 0xE00FF000

# The Cortex-M7's table around that one: it lists the trace unit (Cortex-M7 TRM, "Debug", processor ROM table).
ROM_TABLE_BASE_M7 = 0xE00FE000

# CPUID.PARTNO of a Cortex-M7.
PART_M7 = 0xC27

# Must be written to DHCSR[31:16] for the rest of the write to count.
DBGKEY = 0xA05F

ICTR = Register("ICTR", 0x004, "RO", BitStruct(
    reserved(28),
    "INTLINESNUM" / bits(4, lambda value: "%d interrupts at most" % (32 * value + 32))))

CPUID = Register("CPUID", 0xD00, "RO", BitStruct(
    "IMPLEMENTER" / bits(8),
    "VARIANT" / bits(4),
    "ARCHITECTURE" / bits(4),
    "PARTNO" / bits(12),
    "REVISION" / bits(4)))

VTOR = Register("VTOR", 0xD08, "RW", word("TBLOFF"))

# IC: Cortex-M7 and later cores with caches.
CCR = Register("CCR", 0xD14, "RW", BitStruct(
    reserved(14),
    "IC" / bits(1),
    "DC" / bits(1),
    reserved(6),
    "STKALIGN" / bits(1),
    "BFHFNMIGN" / bits(1),
    reserved(3),
    "DIV_0_TRP" / bits(1),
    "UNALIGN_TRP" / bits(1),
    reserved(1),
    "USERSETMPEND" / bits(1),
    "NONBASETHRDENA" / bits(1)))

# SECUREFAULT*, HARDFAULT* and NMIACT: Armv8-M alone.
VTOR = Register("VTOR", 0xD08, "RW", word("TBLOFF"))

SHCSR = Register("SHCSR", 0xD24, "RW", BitStruct(
    reserved(10),
    "HARDFAULTPENDED" / bits(1),
    "SECUREFAULTPENDED" / bits(1),
    "SECUREFAULTENA" / bits(1),
    "USGFAULTENA" / bits(1),
    "BUSFAULTENA" / bits(1),
    "MEMFAULTENA" / bits(1),
    "SVCALLPENDED" / bits(1),
    "BUSFAULTPENDED" / bits(1),
    "MEMFAULTPENDED" / bits(1),
    "USGFAULTPENDED" / bits(1),
    "SYSTICKACT" / bits(1),
    "PENDSVACT" / bits(1),
    reserved(1),
    "MONITORACT" / bits(1),
    "SVCALLACT" / bits(1),
    reserved(1),
    "NMIACT" / bits(1),
    "SECUREFAULTACT" / bits(1),
    "USGFAULTACT" / bits(1),
    "HARDFAULTACT" / bits(1),
    "BUSFAULTACT" / bits(1),
    "MEMFAULTACT" / bits(1)))

CFSR = Register("CFSR", 0xD28, "RW", BitStruct(
    reserved(6),
    "DIVBYZERO" / bits(1),
    "UNALIGNED" / bits(1),
    reserved(3),
    "STKOF" / bits(1),
    "NOCP" / bits(1),
    "INVPC" / bits(1),
    "INVSTATE" / bits(1),
    "UNDEFINSTR" / bits(1),
    "BFARVALID" / bits(1),
    reserved(1),
    "LSPERR" / bits(1),
    "STKERR" / bits(1),
    "UNSTKERR" / bits(1),
    "IMPRECISERR" / bits(1),
    "PRECISERR" / bits(1),
    "IBUSERR" / bits(1),
    "MMARVALID" / bits(1),
    reserved(1),
    "MLSPERR" / bits(1),
    "MSTKERR" / bits(1),
    "MUNSTKERR" / bits(1),
    reserved(1),
    "DACCVIOL" / bits(1),
    "IACCVIOL" / bits(1)))

HFSR = Register("HFSR", 0xD2C, "RW", BitStruct(
    "DEBUGEVT" / bits(1),
    "FORCED" / bits(1),
    reserved(28),
    "VECTTBL" / bits(1),
    reserved(1)))

DFSR = Register("DFSR", 0xD30, "RW", BitStruct(
    reserved(26),
    "PMU" / bits(1),
    "EXTERNAL" / bits(1),
    "VCATCH" / bits(1),
    "DWTTRAP" / bits(1),
    "BKPT" / bits(1),
    "HALTED" / bits(1)))

MMFAR = Register("MMFAR", 0xD34, "RW", word("ADDRESS"))

BFAR = Register("BFAR", 0xD38, "RW", word("ADDRESS"))

ID_PFR1 = Register("ID_PFR1", 0xD44, "RO", BitStruct(
    reserved(20),
    "MPROGMOD" / bits(4),
    "SECURITY" / bits(4),
    reserved(4)))

MPU_CTRL = Register("MPU_CTRL", 0xD94, "RW", BitStruct(
    reserved(29),
    "PRIVDEFENA" / bits(1),
    "HFNMIENA" / bits(1),
    "ENABLE" / bits(1)))

# With the Security Extension alone, like SFAR.
SFSR = Register("SFSR", 0xDE4, "RW", BitStruct(
    reserved(24),
    "LSERR" / bits(1),
    "SFARVALID" / bits(1),
    "LSPERR" / bits(1),
    "INVTRAN" / bits(1),
    "AUVIOL" / bits(1),
    "INVER" / bits(1),
    "INVIS" / bits(1),
    "INVEP" / bits(1)))

SFAR = Register("SFAR", 0xDE8, "RW", word("ADDRESS"))

DHCSR = Register("DHCSR", 0xDF0, "RW", BitStruct(
    reserved(5),
    "S_RESTART_ST" / bits(1),
    "S_RESET_ST" / bits(1),
    "S_RETIRE_ST" / bits(1),
    reserved(3),
    "S_SDE" / bits(1),
    "S_LOCKUP" / bits(1),
    "S_SLEEP" / bits(1),
    "S_HALT" / bits(1),
    "S_REGRDY" / bits(1),
    reserved(10),
    "C_SNAPSTALL" / bits(1),
    reserved(1),
    "C_MASKINTS" / bits(1),
    "C_STEP" / bits(1),
    "C_HALT" / bits(1),
    "C_DEBUGEN" / bits(1)), Remarks(reading="clears S_RESET_ST and S_RETIRE_ST"))

DCRSR = Register("DCRSR", 0xDF4, "WO", BitStruct(
    reserved(15),
    "REGWnR" / bits(1),
    reserved(9),
    "REGSEL" / bits(7)))

DCRDR = Register("DCRDR", 0xDF8, "RW", word("VALUE"))

DEMCR = Register("DEMCR", 0xDFC, "RW", BitStruct(
    reserved(7),
    "TRCENA" / bits(1),
    reserved(3),
    "SDME" / bits(1),
    "MON_REQ" / bits(1),
    "MON_STEP" / bits(1),
    "MON_PEND" / bits(1),
    "MON_EN" / bits(1),
    reserved(4),
    "VC_SFERR" / bits(1),
    "VC_HARDERR" / bits(1),
    "VC_INTERR" / bits(1),
    "VC_BUSERR" / bits(1),
    "VC_STATERR" / bits(1),
    "VC_CHKERR" / bits(1),
    "VC_NOCPERR" / bits(1),
    "VC_MMERR" / bits(1),
    reserved(3),
    "VC_CORERESET" / bits(1)))

# Without floating point these are 0.
FPCCR = Register("FPCCR", 0xF34, "RW", BitStruct(
    "ASPEN" / bits(1),
    "LSPEN" / bits(1),
    reserved(30)))

MVFR0 = Register("MVFR0", 0xF40, "RO", word("FEATURES"))

ICIALLU = Register("ICIALLU", 0xF50, "WO", word("IGNORED"))

DAUTHSTATUS = Register("DAUTHSTATUS", 0xFB8, "RO", BitStruct(
    reserved(24),
    "SNID" / bits(2),
    "SID" / bits(2),
    "NSNID" / bits(2),
    "NSID" / bits(2)))

DDEVARCH = Register("DDEVARCH", 0xFBC, "RO", BitStruct(
    "ARCHITECT" / bits(11),
    "PRESENT" / bits(1),
    "REVISION" / bits(4),
    "ARCHID" / bits(16)))

# DDEVARCH.ARCHID of Armv8-M.
ARCHID_V8M = 0x2A04

PAGE = Page("System Control Space", globals())
