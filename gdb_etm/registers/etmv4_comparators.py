"""ETMv4 trace unit: address, data value, Context ID and VMID comparators (blocks 8 to 13).

IHI 0064, chapter 7.  The 64-bit registers are two adjacent words, the low one first.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, bits, reserved

TRCACVR = RegisterArray("TRCACVR%d", 0x400, "RW", BitStruct(            # 2 * TRCIDR4.NUMACPAIRS
    "ADDRESS" / bits(64)), 8, range(16))

TRCACATR = RegisterArray("TRCACATR%d", 0x480, "RW", BitStruct(          # 2 * TRCIDR4.NUMACPAIRS; high word RES0
    reserved(10),
    "DTBM" / bits(1),
    "DATARANGE" / bits(1),
    "DATASIZE" / bits(2),
    "DATAMATCH" / bits(2),
    "EXLEVEL_NS" / bits(4),     # 1: do not compare at this level
    "EXLEVEL_S" / bits(4),
    reserved(1),
    "CONTEXT" / bits(3),
    "CONTEXTTYPE" / bits(2),    # 0 none, 1 Context ID, 2 VMID, 3 both
    "TYPE" / bits(2)), 8, range(16))    # 0 instruction, 1 load, 2 store, 3 load or store

TRCDVCVR = RegisterArray("TRCDVCVR%d", 0x500, "RW", BitStruct(          # TRCIDR4.NUMDVC
    "VALUE" / bits(64)), 0x10, range(8))

TRCDVCMR = RegisterArray("TRCDVCMR%d", 0x580, "RW", BitStruct(          # TRCIDR4.NUMDVC
    "MASK" / bits(64)), 0x10, range(8))

TRCCIDCVR = RegisterArray("TRCCIDCVR%d", 0x600, "RW", BitStruct(        # TRCIDR4.NUMCIDC
    "VALUE" / bits(64)), 8, range(8))

TRCVMIDCVR = RegisterArray("TRCVMIDCVR%d", 0x640, "RW", BitStruct(      # TRCIDR4.NUMVMIDC
    "VALUE" / bits(64)), 8, range(8))

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

TRCCIDCCTLR0 = Register("TRCCIDCCTLR0", 0x680, "RW", _BYTE_MASKS_0_TO_3)    # TRCIDR4.NUMCIDC > 0
TRCCIDCCTLR1 = Register("TRCCIDCCTLR1", 0x684, "RW", _BYTE_MASKS_4_TO_7)    # TRCIDR4.NUMCIDC > 4
TRCVMIDCCTLR0 = Register("TRCVMIDCCTLR0", 0x688, "RW", _BYTE_MASKS_0_TO_3)  # NUMVMIDC > 0, VMIDSIZE > 1 byte
TRCVMIDCCTLR1 = Register("TRCVMIDCCTLR1", 0x68C, "RW", _BYTE_MASKS_4_TO_7)  # NUMVMIDC > 4, VMIDSIZE > 1 byte
