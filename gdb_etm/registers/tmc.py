"""Trace Memory Controller, as ETB, ETF or ETR.

Arm CoreSight Trace Memory Controller Technical Reference Manual (DDI 0461B), 3.2.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Page, Register, Remarks, bits, reserved, word

MODE_CIRCULAR = 0
MODE_SOFTWARE_FIFO = 1
MODE_HARDWARE_FIFO = 2

CONFIG_ETB = 0
CONFIG_ETR = 1
CONFIG_ETF = 2

PSCOUNT_LEAST = 7
PSCOUNT_MOST = 27

# What RRD reads when there is no trace left; no formatter frame holds such a word.
EMPTY = 0xFFFFFFFF


def _period_words(value: int) -> str:
    return "every %d bytes" % (1 << value) if value else "never"


RSZ = Register("RSZ", 0x004, "RW", word("RSZ", note="32-bit words"))     # RO but on an ETR

STS = Register("STS", 0x00C, "RO", BitStruct(
    reserved(26),
    "MemErr" / bits(1),
    "Empty" / bits(1),
    "FtEmpty" / bits(1),
    "TMCReady" / bits(1, {0: "not ready", 1: "ready"}),
    "Triggered" / bits(1),
    "Full" / bits(1, {0: "", 1: "wrapped"})))      # in circular buffer mode

RRD = Register("RRD", 0x010, "RO", word("RRD"), Remarks(reading="takes a word out of the buffer"))
RRP = Register("RRP", 0x014, "RW", word("RRP", note="byte address in the trace memory", moves=True))
RWP = Register("RWP", 0x018, "RW", word("RWP", note="byte address in the trace memory", moves=True))
TRG = Register("TRG", 0x01C, "RW", word("TRG", note="words still stored after a trigger"))

CTL = Register("CTL", 0x020, "RW", BitStruct(
    reserved(31),
    "TraceCaptEn" / bits(1, {0: "stopped", 1: "capturing"})))

RWD = Register("RWD", 0x024, "WO", word("RWD"))

MODE = Register("MODE", 0x028, "RW", BitStruct(
    reserved(30),
    "MODE" / bits(2, {
        MODE_CIRCULAR: "circular", MODE_SOFTWARE_FIFO: "software FIFO", MODE_HARDWARE_FIFO: "hardware FIFO"})))

LBUFLEVEL = Register("LBUFLEVEL", 0x02C, "RO", word("LBUFLEVEL"), Remarks(
    reading="forgets the highest level that the buffer had"))
CBUFLEVEL = Register("CBUFLEVEL", 0x030, "RO", word("CBUFLEVEL"))
BUFWM = Register("BUFWM", 0x034, "RW", word("BUFWM"))

FFSR = Register("FFSR", 0x300, "RO", BitStruct(
    reserved(30),
    "FtStopped" / bits(1),
    "FlInProg" / bits(1)))

FFCR = Register("FFCR", 0x304, "RW", BitStruct(
    reserved(17),
    "DrainBuffer" / bits(1),
    "StopOnTrigEvt" / bits(1),
    "StopOnFl" / bits(1),
    reserved(1),
    "TrigOnFl" / bits(1),
    "TrigOnTrigEvt" / bits(1),
    "TrigOnTrigIn" / bits(1),
    reserved(1),
    "FlushMan" / bits(1),
    "FOnTrigEvt" / bits(1),
    "FOnFlIn" / bits(1),
    reserved(2),
    "EnTI" / bits(1),
    "EnFt" / bits(1)))

PSCR = Register("PSCR", 0x308, "RW", BitStruct(
    reserved(27),
    "PSCount" / bits(5, _period_words)))     # 0, or 7 to 27

DEVID = Register("DEVID", 0xFC8, "RO", BitStruct(
    reserved(18),
    "WBUF_DEPTH" / bits(3),
    "MEMWIDTH" / bits(3, {2: "32 bits", 3: "64 bits", 4: "128 bits", 5: "256 bits"}),
    "CONFIGTYPE" / bits(2, {CONFIG_ETB: "ETB", CONFIG_ETR: "ETR", CONFIG_ETF: "ETF"}),
    "CLK_SCHEME" / bits(1),
    "ATBINPORTCOUNT" / bits(5)))

PAGE = Page("Trace Memory Controller", globals())
