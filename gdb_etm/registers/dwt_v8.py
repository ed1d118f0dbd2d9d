"""Data Watchpoint and Trace unit of an Armv8-M processor.

Its comparators are the trace unit's PE comparator inputs.

Armv8-M Architecture Reference Manual (DDI 0553), D1.2.
"""

from __future__ import annotations

from gdb_etm.registers.dwt import DWT_COMP, DWT_CTRL
from gdb_etm.registers.page import BitStruct, Page, RegisterArray, Remarks, bits, reserved

MATCH_CYCLES, MATCH_INSTRUCTION = 0b0001, 0b0010
MATCH_ACCESS, MATCH_STORE, MATCH_LOAD = 0b0100, 0b0101, 0b0110
_MATCHES = {0: "not used", MATCH_CYCLES: "cycle count",
            MATCH_INSTRUCTION: "instruction address", 3: "instruction address limit",
            MATCH_ACCESS: "data address", MATCH_STORE: "data address, stores", MATCH_LOAD: "data address, loads",
            7: "data address limit", 8: "data value", 9: "data value, stores", 10: "data value, loads",
            11: "linked data value"}

# DWT_FUNCTION.ACTION.
ACTION_HALT = 1

# DWT_FUNCTION.ID, which an Armv7-M has not: the comparator can compare CYCCNT, or instruction addresses.
ID_CYCLES, ID_INSTRUCTION = 0b00001, 0b00010

DWT_FUNCTION = RegisterArray("DWT_FUNCTION%d", 0x028, "RW", BitStruct(
    "ID" / bits(5, is_status=True),
    reserved(2),
    "MATCHED" / bits(1, moves=True, is_status=True),
    reserved(12),
    "DATAVSIZE" / bits(2, {0: "1 byte", 1: "2 bytes", 2: "4 bytes"}),
    reserved(4),
    "ACTION" / bits(2, {0: "trigger only", 1: "debug event", 2: "trace a match"}),
    "MATCH" / bits(4, _MATCHES)), 16, range(15), Remarks(reading="clears MATCHED"))

PAGE = Page("Data Watchpoint and Trace unit", {
    "DWT_CTRL": DWT_CTRL, "DWT_COMP": DWT_COMP, "DWT_FUNCTION": DWT_FUNCTION})
