"""ETMv4 trace unit: control and filtering registers (blocks 0 to 6).

Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064), chapter 7.
Comparators are in etmv4_comparators.py, identification and management in etmv4_id.py; PAGE in
etmv4_page.py has all three.  Comments give what a field depends on.
"""

from __future__ import annotations

from typing import Any

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, members, ones, reserved, word

# Event selectors, 8 bits: TYPE[7] (1: pair), SEL[4:0]; selector 0 is always FALSE, 1 always TRUE (4.4.2).
EVENT_FALSE = 0x00
EVENT_TRUE = 0x01


def event_words(value: int) -> str:
    """Describe the resources of an event selector (4.4.2)."""
    if value >> 7:
        return "selector pair %d" % (value & 0x1F)
    return {EVENT_FALSE: "never", EVENT_TRUE: "always"}.get(value & 0x1F, "selector %d" % (value & 0x1F))


def event() -> Any:
    """Declare an event selector."""
    return bits(8, event_words)


def levels() -> Any:
    """Declare exclusion bits, one for each exception level."""
    return bits(4, members("not level"))


def _period_words(value: int) -> str:
    return "every %d bytes" % (1 << value) if value else "never"


_LOADS_STORES = {0: "none", 1: "loads", 2: "stores", 3: "loads and stores"}
_GROUPS = {
    0: "external inputs", 1: "processor comparators", 2: "counters at zero, sequencer states",
    3: "single-shot controls", 4: "address comparators", 5: "address ranges", 6: "Context ID comparators",
    7: "VMID comparators"}

TRCPRGCTLR = Register("TRCPRGCTLR", 0x004, "RW", BitStruct(
    reserved(31),
    "EN" / bits(1, {0: "disabled", 1: "enabled"})))

TRCPROCSELR = Register("TRCPROCSELR", 0x008, "RW", BitStruct(
    reserved(27),
    "PROCSEL" / bits(5, note="the processor that is traced")), Remarks(needs="TRCIDR3.NUMPROC_LOW"))

TRCSTATR = Register("TRCSTATR", 0x00C, "RO", BitStruct(
    reserved(30),
    "PMSTABLE" / bits(1, {0: "may change", 1: "stable"}),     # while disabled
    "IDLE" / bits(1, {0: "not idle", 1: "idle"})))

TRCCONFIGR = Register("TRCCONFIGR", 0x010, "RW", BitStruct(
    reserved(14),
    "DV" / bits(1, note="data values"),
    "DA" / bits(1, note="data addresses"),
    "VMIDOPT" / bits(1, {0: "VTTBR_EL2.VMID", 1: "CONTEXTIDR_EL2"}, since=(4, 1)),
    "QE" / bits(2, {0: "off", 1: "with counts", 3: "with and without counts"}, note="Q elements"),
    "RS" / bits(1, note="return stack"),
    "TS" / bits(1, note="timestamps"),
    "COND" / bits(3, {0: "off", 1: "loads", 2: "stores", 3: "loads and stores", 7: "all"}, note="conditionals"),
    "VMID" / bits(1, note="virtual contexts"),
    "CID" / bits(1, note="Context IDs"),
    reserved(1),
    "CCI" / bits(1, note="cycle counts"),
    "BB" / bits(1, note="branch broadcast"),
    "INSTP0" / bits(2, _LOADS_STORES, note="P0 elements beside branches"),
    ones(1)))

TRCAUXCTLR = Register("TRCAUXCTLR", 0x018, "RW", word("AUXCTLR"))

TRCEVENTCTL0R = Register("TRCEVENTCTL0R", 0x020, "RW", BitStruct(   # until v4.2 always
    "EVENT3" / event(),
    "EVENT2" / event(),
    "EVENT1" / event(),
    "EVENT0" / event()), Remarks(needs="TRCIDR4.NUMRSPAIR"))

TRCEVENTCTL1R = Register("TRCEVENTCTL1R", 0x024, "RW", BitStruct(
    reserved(19),
    "LPOVERRIDE" / bits(1, {0: "trace stops in low power", 1: "trace goes on in low power"}),
    "ATB" / bits(1, note="event 0 is a trigger on the trace bus"),
    reserved(6),
    "DATAEN" / bits(1, note="event 0 in the data stream"),
    "INSTEN" / bits(4, members("event"))))

TRCSTALLCTLR = Register("TRCSTALLCTLR", 0x02C, "RW", BitStruct(
    reserved(18),
    "NOOVERFLOW" / bits(1, note="prevent overflow"),
    "DATADISCARD" / bits(2, _LOADS_STORES, note="discarded rather than overflow"),
    "INSTPRIORITY" / bits(1, note="instruction trace before data trace"),
    "DSTALL" / bits(1, note="stall for data trace"),
    "ISTALL" / bits(1, note="stall for instruction trace"),
    reserved(4),
    # Its low bits may be missing.
    "LEVEL" / bits(4, note="0 least to 15 most invasive")), Remarks(needs="TRCIDR3.STALLCTL"))

TRCTSCTLR = Register("TRCTSCTLR", 0x030, "RW", BitStruct(
    reserved(24),
    "EVENT" / event()), Remarks(needs="TRCIDR0.TSSIZE"))

TRCSYNCPR = Register("TRCSYNCPR", 0x034, "RW", BitStruct(           # RO if TRCIDR3.SYNCPR
    reserved(27),
    "PERIOD" / bits(5, _period_words)))

TRCCCCTLR = Register("TRCCCCTLR", 0x038, "RW", BitStruct(
    reserved(20),
    "THRESHOLD" / bits(12, note="least cycles between two counts")), Remarks(needs="TRCIDR0.TRCCCI"))

TRCBBCTLR = Register("TRCBBCTLR", 0x03C, "RW", BitStruct(
    reserved(23),
    "MODE" / bits(1, {0: "exclude", 1: "include"}),
    "RANGE" / bits(8, members("range"))), Remarks(needs="TRCIDR0.TRCBB TRCIDR4.NUMACPAIRS"))

TRCTRACEIDR = Register("TRCTRACEIDR", 0x040, "RW", BitStruct(
    reserved(17),
    "TRACEDATAID" / bits(7, since=(4, 5)),    # with data trace
    reserved(1),
    "TRACEID" / bits(7)))

TRCQCTLR = Register("TRCQCTLR", 0x044, "RW", BitStruct(
    reserved(23),
    "MODE" / bits(1, {0: "exclude", 1: "include"}),
    "RANGE" / bits(8, members("range"))), Remarks(needs="TRCIDR0.QFILT"))

TRCVICTLR = Register("TRCVICTLR", 0x080, "RW", BitStruct(
    reserved(8),
    "EXLEVEL_NS" / levels(),
    "EXLEVEL_S" / levels(),
    reserved(4),
    "TRCERR" / bits(1, note="always trace system errors"),
    "TRCRESET" / bits(1, note="always trace resets"),
    "SSSTATUS" / bits(1, {0: "stopped", 1: "started"}, moves=True),
    reserved(1),
    "EVENT" / event()))

TRCVIIECTLR = Register("TRCVIIECTLR", 0x084, "RW", BitStruct(
    reserved(8),
    "EXCLUDE" / bits(8, members("range")),
    reserved(8),
    "INCLUDE" / bits(8, members("range"))), Remarks(needs="TRCIDR4.NUMACPAIRS"))

TRCVISSCTLR = Register("TRCVISSCTLR", 0x088, "RW", BitStruct(
    "STOP" / bits(16, members("comparator")),
    "START" / bits(16, members("comparator"))), Remarks(needs="TRCIDR4.NUMACPAIRS"))

TRCVIPCSSCTLR = Register("TRCVIPCSSCTLR", 0x08C, "RW", BitStruct(
    reserved(8),
    "STOP" / bits(8, members("processor comparator")),
    reserved(8),
    "START" / bits(8, members("processor comparator"))), Remarks(needs="TRCIDR4.NUMPC"))

TRCVDCTLR = Register("TRCVDCTLR", 0x0A0, "RW", BitStruct(
    reserved(19),
    "TRCEXDATA" / bits(1, note="loads and stores of exceptions"),
    "TBI" / bits(1, {0: "sign-extend bit 55", 1: "keep the tag"}),
    "PCREL" / bits(1, {0: "traced", 1: "not traced"}, note="PC-relative transfers"),
    "SPREL" / bits(2, {0: "traced", 2: "no addresses", 3: "not traced"}, note="SP-relative transfers"),
    "EVENT" / event()), Remarks(needs="TRCIDR0.TRCDATA"))

TRCVDSACCTLR = Register("TRCVDSACCTLR", 0x0A4, "RW", BitStruct(
    "EXCLUDE" / bits(16, members("comparator")),
    "INCLUDE" / bits(16, members("comparator"))), Remarks(needs="TRCIDR0.TRCDATA TRCIDR4.NUMACPAIRS"))

TRCVDARCCTLR = Register("TRCVDARCCTLR", 0x0A8, "RW", BitStruct(
    reserved(8),
    "EXCLUDE" / bits(8, members("range")),
    reserved(8),
    "INCLUDE" / bits(8, members("range"))), Remarks(needs="TRCIDR0.TRCDATA TRCIDR4.NUMACPAIRS"))

TRCSEQEVR = RegisterArray("TRCSEQEVR%d", 0x100, "RW", BitStruct(
    reserved(16),
    "B" / event(),
    "F" / event()), 4, range(3), Remarks(needs="TRCIDR5.NUMSEQSTATE"))

TRCSEQRSTEVR = Register("TRCSEQRSTEVR", 0x118, "RW", BitStruct(
    reserved(24),
    "RST" / event()), Remarks(needs="TRCIDR5.NUMSEQSTATE"))

TRCSEQSTR = Register("TRCSEQSTR", 0x11C, "RW", BitStruct(
    reserved(30),
    "STATE" / bits(2, moves=True)), Remarks(needs="TRCIDR5.NUMSEQSTATE"))

TRCEXTINSELR = Register("TRCEXTINSELR", 0x120, "RW", BitStruct(
    "SEL3" / bits(8),
    "SEL2" / bits(8),
    "SEL1" / bits(8),
    "SEL0" / bits(8)), Remarks(needs="TRCIDR5.NUMEXTINSEL"))

TRCCNTRLDVR = RegisterArray("TRCCNTRLDVR%d", 0x140, "RW", BitStruct(
    reserved(16),
    "VALUE" / bits(16)), 4, range(4), Remarks(needs="TRCIDR5.NUMCNTR"))

TRCCNTCTLR = RegisterArray("TRCCNTCTLR%d", 0x150, "RW", BitStruct(      # not 0 if REDFUNCNTR
    reserved(14),
    "CNTCHAIN" / bits(1),   # counters 1 and 3
    "RLDSELF" / bits(1, note="reload at zero"),
    "RLDEVENT" / event(),
    "CNTEVENT" / event()), 4, range(4), Remarks(needs="TRCIDR5.NUMCNTR TRCIDR5.REDFUNCNTR"))

TRCCNTVR = RegisterArray("TRCCNTVR%d", 0x160, "RW", BitStruct(      # not 0 if REDFUNCNTR
    reserved(16),
    "VALUE" / bits(16, moves=True)), 4, range(4), Remarks(needs="TRCIDR5.NUMCNTR TRCIDR5.REDFUNCNTR"))

TRCRSCTLR = RegisterArray("TRCRSCTLR%d", 0x200, "RW", BitStruct(        # TRCIDR4.NUMRSPAIR; 0 and 1 do not exist
    reserved(10),
    "PAIRINV" / bits(1, note="the pair is inverted"),      # even registers
    "INV" / bits(1, note="this one is inverted"),
    "GROUP" / bits(4, _GROUPS),
    "SELECT" / bits(16, members("member"))), 4, range(2, 32), Remarks(needs="TRCIDR4.NUMRSPAIR"))

TRCSSCCR = RegisterArray("TRCSSCCR%d", 0x280, "RW", BitStruct(
    reserved(7),
    "RST" / bits(1, {0: "once", 1: "again after each"}),
    "ARC" / bits(8, members("range")),
    "SAC" / bits(16, members("comparator"))), 4, range(8), Remarks(needs="TRCIDR4.NUMSSCC"))

TRCSSCSR = RegisterArray("TRCSSCSR%d", 0x2A0, "RW", BitStruct(
    "STATUS" / bits(1, {0: "has not fired", 1: "has fired"}, moves=True),
    reserved(27),
    "PC" / bits(1, note="can use processor comparators", is_status=True),
    "DV" / bits(1, note="can use data values", is_status=True),
    "DA" / bits(1, note="can use data addresses", is_status=True),
    "INST" / bits(1, note="can use instruction addresses", is_status=True)), 4, range(8),
    Remarks(needs="TRCIDR4.NUMSSCC"))

TRCSSPCICR = RegisterArray("TRCSSPCICR%d", 0x2C0, "RW", BitStruct(
    reserved(24),
    "PC" / bits(8, members("processor comparator"))), 4, range(8), Remarks(needs="TRCIDR4.NUMSSCC TRCIDR4.NUMPC"))
