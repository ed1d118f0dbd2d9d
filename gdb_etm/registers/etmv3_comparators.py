"""ETMv3 trace unit: address, data value, Context ID and VMID comparators.

IHI 0014Q, 3.5.  They are numbered from 1; the pairs (1, 2), (3, 4) and so on compare ranges, from the
first one's address up to, but not including, the second one's (2.7.10).
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, reserved, word

# ETMACTR.Type of an instruction that was executed.
TYPE_EXECUTE = 1
# ETMACTR.Type of a load or store.
TYPE_TRANSFER = 4

SIZE_BYTE = 0
# ETMACTR.Size of Thumb instructions: bit 0 of the address is not compared.
SIZE_HALFWORD = 1
# ETMACTR.Size of ARM instructions: bits 1:0 of the address are not compared.
SIZE_WORD = 3

TYPE = bits(3, {0: "fetched", TYPE_EXECUTE: "executed", 2: "condition passed", 3: "condition failed",
                TYPE_TRANSFER: "load or store", 5: "load", 6: "store"})

ETMACVR = RegisterArray("ETMACVR%d", 0x03C, "RW", word("Address"), 4, range(1, 17), Remarks(needs="ETMCCR.AddrPairs"))

ETMACTR = RegisterArray("ETMACTR%d", 0x07C, "RW", BitStruct(        # 2 * AddrPairs
    reserved(16),
    "VMID" / bits(1, since=(3, 5)),       # ETMCCER.Virtualization
    "Hyp" / bits(1, since=(3, 5)),        # as above
    "State" / bits(4),          # bits 11:10 are the security level until v3.4
    "CIDComp" / bits(2, {0: "any Context ID"}, note="Context ID comparator"),
    "Exact" / bits(1),
    "DataMatch" / bits(2, {0: "not compared", 1: "equal", 3: "not equal"}),
    "Size" / bits(2, {SIZE_BYTE: "any byte", SIZE_HALFWORD: "Thumb or halfword", SIZE_WORD: "ARM or word"}),
    "Type" / TYPE), 4, range(1, 17), Remarks(needs="ETMCCR.AddrPairs"))

ETMDCVR = RegisterArray("ETMDCVR%d", 0x0B8, "RW", word("Value"), 8, range(1, 9), Remarks(needs="ETMCCR.DataComps"))
ETMDCMR = RegisterArray("ETMDCMR%d", 0x0F8, "RW", word("Mask", note="1: not compared"), 8, range(1, 9), Remarks(
    needs="ETMCCR.DataComps"))

ETMCIDCVR = RegisterArray("ETMCIDCVR%d", 0x1AC, "RW", word("Value"), 4, range(1, 4), Remarks(needs="ETMCCR.CIDComps"))
ETMCIDCMR = Register("ETMCIDCMR", 0x1BC, "RW", word("Mask", note="1: not compared"), Remarks(needs="ETMCCR.CIDComps"))

ETMVMIDCVR = Register("ETMVMIDCVR", 0x240, "RW", BitStruct(
    reserved(24),
    "Value" / bits(8)), Remarks(needs="ETMCCER.Virtualization", since=(3, 5)))
