"""Programmable trace funnel.

Arm CoreSight SoC-400 Technical Reference Manual (DDI 0480G), 3.7 "ATB funnel register summary"; the
SoC-600 funnel (100806) has the same two control registers.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, bits, members, reserved

FUNNELCONTROL = Register("FUNNELCONTROL", 0x000, "RW", BitStruct(
    reserved(20),
    "HT" / bits(4, note="least hold time in transactions, less one"),     # at most 0xE
    "ENS" / bits(8, members("port"))))

PRIORITYCONTROL = Register("PRIORITYCONTROL", 0x004, "RW", BitStruct(
    reserved(8),
    "PRIPORT7" / bits(3),
    "PRIPORT6" / bits(3),
    "PRIPORT5" / bits(3),
    "PRIPORT4" / bits(3),
    "PRIPORT3" / bits(3),
    "PRIPORT2" / bits(3),
    "PRIPORT1" / bits(3),
    "PRIPORT0" / bits(3)))

DEVID = Register("DEVID", 0xFC8, "RO", BitStruct(
    reserved(24),
    "SCHEME" / bits(4),
    "PORTCOUNT" / bits(4)))

PAGE = Page("trace funnel", globals())
