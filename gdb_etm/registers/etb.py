"""Embedded Trace Buffer of CoreSight SoC-400 and before.

Arm CoreSight Components Technical Reference Manual (DDI 0314H), chapter 9; SoC-400 (DDI 0480G), 3.12.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, Remarks, bits, reserved, word

RDP = Register("RDP", 0x004, "RO", word("RDP", note="32-bit words"))

STS = Register("STS", 0x00C, "RO", BitStruct(
    reserved(28),
    "FtEmpty" / bits(1, note="formatter empty"),
    "AcqComp" / bits(1, note="capture complete"),
    "Triggered" / bits(1),
    "Full" / bits(1, {0: "", 1: "wrapped"})))

RRD = Register("RRD", 0x010, "RO", word("RRD"), Remarks(reading="takes a word out of the buffer"))   # RRP moves on
RRP = Register("RRP", 0x014, "RW", word("RRP", note="word index", moves=True))
RWP = Register("RWP", 0x018, "RW", word("RWP", note="word index", moves=True))
TRG = Register("TRG", 0x01C, "RW", word("TRG", note="words still stored after a trigger"))

CTL = Register("CTL", 0x020, "RW", BitStruct(
    reserved(31),
    "TraceCaptEn" / bits(1, {0: "stopped", 1: "capturing"})))

RWD = Register("RWD", 0x024, "WO", word("RWD"))

FFSR = Register("FFSR", 0x300, "RO", BitStruct(
    reserved(30),
    "FtStopped" / bits(1),
    "FlInProg" / bits(1)))

FFCR = Register("FFCR", 0x304, "RW", BitStruct(
    reserved(18),
    "StopTrig" / bits(1),
    "StopFl" / bits(1),
    reserved(1),
    "TrigFl" / bits(1),
    "TrigEvt" / bits(1),
    "TrigIn" / bits(1),
    reserved(1),
    "FOnMan" / bits(1),
    "FOnTrig" / bits(1),
    "FOnFlIn" / bits(1),
    reserved(2),
    "EnFCont" / bits(1),
    "EnFTC" / bits(1)))

PAGE = Page("Embedded Trace Buffer", globals())
