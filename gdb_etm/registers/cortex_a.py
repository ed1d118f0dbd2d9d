"""Debug registers of an Armv7-A or Armv7-R core.

Arm Architecture Reference Manual, Armv7-A and Armv7-R edition (DDI 0406C), C11.11.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, Remarks, bits, reserved, word

DBGDIDR = Register("DBGDIDR", 0x000, "RO", BitStruct(
    "WRPs" / bits(4, lambda value: "%d watchpoints" % (value + 1)),
    "BRPs" / bits(4, lambda value: "%d breakpoints" % (value + 1)),
    "CTX_CMPs" / bits(4),
    "Version" / bits(4, {1: "v6", 2: "v6.1", 3: "v7", 4: "v7", 5: "v7.1", 6: "v8"}),
    "DEVID_imp" / bits(1),
    "nSUHD_imp" / bits(1),
    "PCSR_imp" / bits(1),
    "SE_imp" / bits(1),
    reserved(4),
    "Variant" / bits(4),
    "Revision" / bits(4)))

# A vector's bit: Secure ones from bit 0 on, Non-secure ones from bit 24 on.
DBGVCR = Register("DBGVCR", 0x01C, "RW", word("VCR"))

DBGDTRRX = Register("DBGDTRRX", 0x080, "RW", word("DTRRX"))
DBGITR = Register("DBGITR", 0x084, "WO", word("ITR"))

DBGDSCR = Register("DBGDSCR", 0x088, "RW", BitStruct(
    reserved(1),
    "RXfull" / bits(1),
    "TXfull" / bits(1),
    reserved(1),
    "RXfull_l" / bits(1),
    "TXfull_l" / bits(1),
    "PipeAdv" / bits(1),
    "InstrCompl_l" / bits(1),
    reserved(2),
    "ExtDCCmode" / bits(2, {0: "non-blocking", 1: "stall", 2: "fast"}),
    "ADAdiscard" / bits(1),
    "NS" / bits(1),
    "SPNIDdis" / bits(1),
    "SPIDdis" / bits(1),
    "MDBGen" / bits(1),
    "HDBGen" / bits(1),
    "ITRen" / bits(1),
    "UDCCdis" / bits(1),
    "INTdis" / bits(1),
    "DBGack" / bits(1),
    "FS" / bits(1),
    "UND_l" / bits(1),
    "ADABORT_l" / bits(1),
    "SDABORT_l" / bits(1),
    "MOE" / bits(4, {0: "halt request", 1: "breakpoint", 2: "watchpoint", 3: "BKPT", 4: "external request",
                     5: "vector catch", 8: "OS unlock", 10: "synchronous watchpoint"}),
    "RESTARTED" / bits(1),
    "HALTED" / bits(1)))

DBGDTRTX = Register("DBGDTRTX", 0x08C, "RW", word("DTRTX"), Remarks(reading="takes the word that the core sent"))

DBGDRCR = Register("DBGDRCR", 0x090, "WO", BitStruct(
    reserved(27),
    "CBRRQ" / bits(1),
    "CSPA" / bits(1),
    "CSE" / bits(1),
    "RRQ" / bits(1),
    "HRQ" / bits(1)))

DBGBVR0 = Register("DBGBVR0", 0x100, "RW", word("BVR"))

DBGBCR0 = Register("DBGBCR0", 0x140, "RW", BitStruct(
    reserved(3),
    "MASK" / bits(5),
    reserved(1),
    "BT" / bits(3, {0: "address match", 4: "address mismatch"}),
    "LBN" / bits(4),
    "SSC" / bits(2),
    "HMC" / bits(1),
    reserved(4),
    "BAS" / bits(4),
    reserved(2),
    "PMC" / bits(2, {3: "any mode"}),
    "E" / bits(1)))

PAGE = Page("Armv7 core debug", globals())
