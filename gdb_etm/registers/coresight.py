"""Registers at the top of every CoreSight component's 4 KiB block.

Arm CoreSight Architecture Specification v3.0 (IHI 0029E), B2; ROM tables: the same, D5 (class 0x1)
and D7 (class 0x9).
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, bits, reserved, word

# Unlocks the software lock when written to LAR; anything else locks (B2.3.10).
LAR_KEY = 0xC5ACCE55

# Claim tag by which an external debugger says that a component is in use (CoreSight convention, not architecture).
CLAIM_EXTERNAL = 0b01

# Words for the fields of AUTHSTATUS.
ALLOWED = {0: "not implemented", 2: "disabled", 3: "enabled"}

ITCTRL = Register("ITCTRL", 0xF00, "RW", BitStruct(
    reserved(31),
    "IME" / bits(1)))

CLAIMSET = Register("CLAIMSET", 0xFA0, "RW", word("SET"))
CLAIMCLR = Register("CLAIMCLR", 0xFA4, "RW", word("CLR"))
DEVAFF0 = Register("DEVAFF0", 0xFA8, "RO", word("AFFINITY"))
DEVAFF1 = Register("DEVAFF1", 0xFAC, "RO", word("AFFINITY"))
LAR = Register("LAR", 0xFB0, "WO", word("KEY"))

LSR = Register("LSR", 0xFB4, "RO", BitStruct(
    reserved(29),
    "nTT" / bits(1),
    "SLK" / bits(1),
    "SLI" / bits(1)))

AUTHSTATUS = Register("AUTHSTATUS", 0xFB8, "RO", BitStruct(
    reserved(20),
    "HNID" / bits(2, ALLOWED),
    "HID" / bits(2, ALLOWED),
    "SNID" / bits(2, ALLOWED),
    "SID" / bits(2, ALLOWED),
    "NSNID" / bits(2, ALLOWED),
    "NSID" / bits(2, ALLOWED)))

DEVARCH = Register("DEVARCH", 0xFBC, "RO", BitStruct(
    "ARCHITECT" / bits(11),
    "PRESENT" / bits(1),
    "REVISION" / bits(4),
    "ARCHID" / bits(16)))

DEVID = Register("DEVID", 0xFC8, "RO", word("DEVID"))

DEVTYPE = Register("DEVTYPE", 0xFCC, "RO", BitStruct(
    reserved(24),
    "SUB" / bits(4),
    "MAJOR" / bits(4)))

PIDR4 = Register("PIDR4", 0xFD0, "RO", BitStruct(
    reserved(24),
    "SIZE" / bits(4),
    "DES_2" / bits(4)))

PIDR0 = Register("PIDR0", 0xFE0, "RO", BitStruct(
    reserved(24),
    "PART_0" / bits(8)))

PIDR1 = Register("PIDR1", 0xFE4, "RO", BitStruct(
    reserved(24),
    "DES_0" / bits(4),
    "PART_1" / bits(4)))

PIDR2 = Register("PIDR2", 0xFE8, "RO", BitStruct(
    reserved(24),
    "REVISION" / bits(4),
    "JEDEC" / bits(1),
    "DES_1" / bits(3)))

PIDR3 = Register("PIDR3", 0xFEC, "RO", BitStruct(
    reserved(24),
    "REVAND" / bits(4),
    "CMOD" / bits(4)))

CIDR0 = Register("CIDR0", 0xFF0, "RO", BitStruct(
    reserved(24),
    "PRMBL_0" / bits(8)))   # 0x0D

CIDR1 = Register("CIDR1", 0xFF4, "RO", BitStruct(
    reserved(24),
    "CLASS" / bits(4),      # 0x1 ROM table, 0x9 CoreSight, 0xE generic IP, 0xF no standard layout
    "PRMBL_1" / bits(4)))   # 0x0

CIDR2 = Register("CIDR2", 0xFF8, "RO", BitStruct(
    reserved(24),
    "PRMBL_2" / bits(8)))   # 0x05

CIDR3 = Register("CIDR3", 0xFFC, "RO", BitStruct(
    reserved(24),
    "PRMBL_3" / bits(8)))   # 0xB1

PAGE = Page("CoreSight component", globals())

# A ROM table's entries stand outside the page: they are the table's own registers, one a word from offset 0.

# Most entries of a class 0x1 ROM table.
ROM_ENTRIES = 960

ROM_ENTRY = Register("ROMENTRY", 0x000, "RO", BitStruct(    # class 0x1 (D5.2.1)
    "OFFSET" / bits(20),
    reserved(3),
    "POWERID" / bits(5),
    reserved(1),
    "POWERIDVALID" / bits(1),
    "FORMAT" / bits(1),     # 1: 32-bit entry, the only form in use
    "PRESENT" / bits(1)))

# Most entries of a class 0x9 ROM table; half as many if they are 64 bits wide.
ROM9_ENTRIES = 512

ROM9_ENTRY = Register("ROMENTRY", 0x000, "RO", BitStruct(   # class 0x9, low word (D7.5.17)
    "OFFSET" / bits(20),
    reserved(3),
    "POWERID" / bits(5),
    reserved(1),
    "POWERIDVALID" / bits(1),
    "PRESENT" / bits(2)))   # 0 end of table, 2 not present, 3 present

ROM9_DEVID = Register("DEVID", 0xFC8, "RO", BitStruct(
    reserved(26),
    "PRR" / bits(1),
    "SYSMEM" / bits(1),
    "FORMAT" / bits(4)))    # 0: 32-bit entries, 1: 64-bit entries
