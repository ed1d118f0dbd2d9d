"""Micro Trace Buffer of a Cortex-M0+, M23 or M33.

CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), chapter 3; for TSTART, TSTOP and SECURE CoreSight MTB-M33
(100231) and chapter 3 of CoreSight MTB-M23 (DDI 0564).
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, Remarks, bits, members, reserved, word

# The smallest buffer, that of MASK 0.
SMALLEST = 16
# Its whole size is 16 bytes shifted by this at most.
LARGEST_MASK = 31

POSITION = Register("MTB_POSITION", 0x000, "RW", BitStruct(
    "POINTER" / bits(29, note="packets of 8 bytes from BASE", moves=True),
    "WRAP" / bits(1, {0: "", 1: "wrapped"}, moves=True),
    reserved(2)))

MASTER = Register("MTB_MASTER", 0x004, "RW", BitStruct(
    "EN" / bits(1, {0: "not tracing", 1: "tracing"}, moves=True),
    "NSEN" / bits(1, note="Non-secure trace enable"),
    reserved(20),
    "HALTREQ" / bits(1, moves=True),
    "RAMPRIV" / bits(1),
    "SFRWPRIV" / bits(1),
    "TSTOPEN" / bits(1),
    "TSTARTEN" / bits(1),
    "MASK" / bits(5, lambda value: "%d bytes" % (SMALLEST << value))))

FLOW = Register("MTB_FLOW", 0x008, "RW", BitStruct(
    "WATERMARK" / bits(29, note="packets of 8 bytes from BASE"),
    reserved(1),
    "AUTOHALT" / bits(1),
    "AUTOSTOP" / bits(1)))

# Where the RAM begins that POINTER counts from; an LPC8xx reads 0 whatever it is.
BASE = Register("MTB_BASE", 0x00C, "RO", word("BASE"))

_INPUTS = members("comparator")
_OWN = Remarks(is_own=True)
TSTART = Register("MTB_TSTART", 0x010, "RW", BitStruct(
    reserved(28),
    "CMPMATCH" / bits(4, _INPUTS)), _OWN)
TSTOP = Register("MTB_TSTOP", 0x014, "RW", BitStruct(
    reserved(28),
    "CMPMATCH" / bits(4, _INPUTS)), _OWN)
SECURE = Register("MTB_SECURE", 0x020, "RW", BitStruct(
    "THRESHOLD" / bits(27),
    reserved(3),
    "NS" / bits(1),
    "THRSEN" / bits(1)), _OWN)

PAGE = Page("Micro Trace Buffer", globals())
