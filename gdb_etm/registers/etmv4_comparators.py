"""ETMv4 comparators: addresses, data values, Context IDs, VMIDs (blocks 8 to 13).

IHI 0064, chapter 7.  The 64-bit registers are two adjacent words, the low one first.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, members, reserved

TRCACVR = RegisterArray("TRCACVR%d", 0x400, "RW", BitStruct(            # 2 * NUMACPAIRS
    "ADDRESS" / bits(64)), 8, range(16), Remarks(needs="TRCIDR4.NUMACPAIRS"))

TRCACATR = RegisterArray("TRCACATR%d", 0x480, "RW", BitStruct(          # 2 * NUMACPAIRS; high word RES0
    reserved(10),
    "DTBM" / bits(1),
    "DATARANGE" / bits(1, {0: "single", 1: "range"}),
    "DATASIZE" / bits(2, {0: "byte", 1: "halfword", 2: "word", 3: "doubleword"}),
    "DATAMATCH" / bits(2, {0: "not compared", 1: "equal", 3: "not equal"}),
    "EXLEVEL_NS" / bits(4, members("not level")),
    "EXLEVEL_S" / bits(4, members("not level")),
    reserved(1),
    "CONTEXT" / bits(3),
    "CONTEXTTYPE" / bits(2, {0: "any context", 1: "Context ID", 2: "VMID", 3: "Context ID and VMID"}),
    "TYPE" / bits(2, {0: "instruction", 1: "load", 2: "store", 3: "load or store"})), 8, range(16),
    Remarks(needs="TRCIDR4.NUMACPAIRS"))

TRCDVCVR = RegisterArray("TRCDVCVR%d", 0x500, "RW", BitStruct(
    "VALUE" / bits(64)), 0x10, range(8), Remarks(needs="TRCIDR4.NUMDVC"))

TRCDVCMR = RegisterArray("TRCDVCMR%d", 0x580, "RW", BitStruct(
    "MASK" / bits(64)), 0x10, range(8), Remarks(needs="TRCIDR4.NUMDVC"))

TRCCIDCVR = RegisterArray("TRCCIDCVR%d", 0x600, "RW", BitStruct(
    "VALUE" / bits(64)), 8, range(8), Remarks(needs="TRCIDR4.NUMCIDC"))

TRCVMIDCVR = RegisterArray("TRCVMIDCVR%d", 0x640, "RW", BitStruct(
    "VALUE" / bits(64)), 8, range(8), Remarks(needs="TRCIDR4.NUMVMIDC"))

_BYTE_MASKS_0_TO_3 = BitStruct(     # one bit per byte of the value, 1: ignore
    "COMP3" / bits(8),
    "COMP2" / bits(8),
    "COMP1" / bits(8),
    "COMP0" / bits(8))

_BYTE_MASKS_4_TO_7 = BitStruct(
    "COMP7" / bits(8),
    "COMP6" / bits(8),
    "COMP5" / bits(8),
    "COMP4" / bits(8))

_VMID_MASKS = Remarks(needs="TRCIDR4.NUMVMIDC TRCIDR2.VMIDSIZE")     # of more than one byte

TRCCIDCCTLR0 = Register("TRCCIDCCTLR0", 0x680, "RW", _BYTE_MASKS_0_TO_3, Remarks(needs="TRCIDR4.NUMCIDC"))
TRCCIDCCTLR1 = Register("TRCCIDCCTLR1", 0x684, "RW", _BYTE_MASKS_4_TO_7, Remarks(needs="TRCIDR4.NUMCIDC"))
TRCVMIDCCTLR0 = Register("TRCVMIDCCTLR0", 0x688, "RW", _BYTE_MASKS_0_TO_3, _VMID_MASKS)
TRCVMIDCCTLR1 = Register("TRCVMIDCCTLR1", 0x68C, "RW", _BYTE_MASKS_4_TO_7, _VMID_MASKS)
