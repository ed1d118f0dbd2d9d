"""Data Watchpoint and Trace unit of an Armv7-M processor.

Its comparators drive the trace unit's watchpoint inputs.

Armv7-M Architecture Reference Manual (DDI 0403E), C1.8.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, RegisterArray, Remarks, bits, reserved, word

# DWT_FUNCTION.FUNCTION of a comparator of instruction addresses that does no more than signal the trace unit.
FUNCTION_INSTRUCTION = 0b1000
# The same of addresses of loads, of stores, of both.
FUNCTION_LOAD, FUNCTION_STORE, FUNCTION_ACCESS = 0b1001, 0b1010, 0b1011
# With CYCMATCH, which the first comparator alone can have: halts the core when CYCCNT is what it holds.
FUNCTION_HALT = 0b0100

DWT_CTRL = Register("DWT_CTRL", 0x000, "RW", BitStruct(
    "NUMCOMP" / bits(4),
    "NOTRCPKT" / bits(1),
    "NOEXTTRIG" / bits(1),
    "NOCYCCNT" / bits(1),
    "NOPRFCNT" / bits(1),
    reserved(23),
    "CYCCNTENA" / bits(1)))

DWT_CYCCNT = Register("DWT_CYCCNT", 0x004, "RW", word("CYCCNT"))

DWT_COMP = RegisterArray("DWT_COMP%d", 0x020, "RW", word("COMP"), 16, range(15))

DWT_MASK = RegisterArray("DWT_MASK%d", 0x024, "RW", BitStruct(
    reserved(27),
    "MASK" / bits(5)), 16, range(15))   # how many low bits of the address are not compared; the most is not stated

DWT_FUNCTION = RegisterArray("DWT_FUNCTION%d", 0x028, "RW", BitStruct(
    reserved(7),
    "MATCHED" / bits(1),
    reserved(4),
    "DATAVADDR1" / bits(4),
    "DATAVADDR0" / bits(4),
    "DATAVSIZE" / bits(2),
    "LNK1ENA" / bits(1),
    "DATAVMATCH" / bits(1),
    "CYCMATCH" / bits(1),
    reserved(1),
    "EMITRANGE" / bits(1),
    reserved(1),
    "FUNCTION" / bits(4, {0: "not used"})), 16, range(15), Remarks(reading="clears MATCHED"))

PAGE = Page("Data Watchpoint and Trace unit", globals())
