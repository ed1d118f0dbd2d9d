"""Cross Trigger Interface.

Arm CoreSight Components Technical Reference Manual (DDI 0314H), 4.4; SoC-400 (DDI 0480G), 3.9.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, RegisterArray, bits, members, reserved, word

CONTROL = Register("CTICONTROL", 0x000, "RW", BitStruct(
    reserved(31),
    "GLBEN" / bits(1, {0: "no trigger becomes another", 1: "on"})))

INTACK = Register("CTIINTACK", 0x010, "WO", word("INTACK", note="one bit per trigger output"))
APPSET = Register("CTIAPPSET", 0x014, "RW", word("APPSET", note="one bit per channel"))
APPCLEAR = Register("CTIAPPCLEAR", 0x018, "WO", word("APPCLEAR", note="one bit per channel"))
APPPULSE = Register("CTIAPPPULSE", 0x01C, "WO", word("APPPULSE", note="one bit per channel"))
INEN = RegisterArray("CTIINEN%d", 0x020, "RW", word("CHANNELS", values=members("channel")), 4, range(32))
OUTEN = RegisterArray("CTIOUTEN%d", 0x0A0, "RW", word("CHANNELS", values=members("channel")), 4, range(32))
TRIGINSTATUS = Register("CTITRIGINSTATUS", 0x130, "RO", word("TRIGIN", values=members("trigger input")))
TRIGOUTSTATUS = Register("CTITRIGOUTSTATUS", 0x134, "RO", word("TRIGOUT", values=members("trigger output")))
CHINSTATUS = Register("CTICHINSTATUS", 0x138, "RO", word("CHIN", values=members("channel")))
CHOUTSTATUS = Register("CTICHOUTSTATUS", 0x13C, "RO", word("CHOUT", values=members("channel")))
GATE = Register("CTIGATE", 0x140, "RW", word("GATE", values=members("channel")))

DEVID = Register("DEVID", 0xFC8, "RO", BitStruct(
    reserved(12),
    "NUMCHAN" / bits(4),
    "NUMTRIG" / bits(8),
    reserved(3),
    "EXTMUXNUM" / bits(5)))

PAGE = Page("Cross Trigger Interface", globals())
