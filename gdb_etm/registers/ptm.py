"""Program Trace Macrocell registers.

Declared here are those whose fields differ from an ETMv3's; all of them are listed by name.

CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 3.16 and table 3.16.
"""

from __future__ import annotations

from typing import Tuple

from gdb_etm.registers import coresight, etmv3, etmv3_comparators, etmv3_id
from gdb_etm.registers.page import BitStruct, Page, Register, RegisterArray, Remarks, bits, members, reserved

ETMCR = Register("ETMCR", 0x000, "RW", BitStruct(
    reserved(1),
    "VMID" / bits(1, since=(1, 1)),   # ETMCCER.Virtualization
    "ReturnStack" / bits(1, note="return stack"),     # ETMCCER.ReturnStack
    "Timestamp" / bits(1, note="timestamps"),
    "ProcSel" / bits(3),            # ETMSCR.NumProcs
    "InstrResAC" / bits(1),
    "SWWriteDisable" / bits(1),
    "DebugWriteDisable" / bits(1),
    reserved(6),
    "ContextIDSize" / etmv3.CONTEXT_ID_SIZE,
    reserved(1),
    "CycleAccurate" / bits(1, note="cycle counts"),
    reserved(1),
    "Prog" / bits(1, {0: "enabled", 1: "disabled"}),      # 1: registers may be written
    "DbgRq" / bits(1),
    "BranchBroadcast" / bits(1, note="branch broadcast"),
    "Stall" / bits(1),              # ETMCCR.FIFOFULL and ETMSCR.FIFOFULL
    reserved(6),
    "PowerDown" / bits(1, {0: "clocks on", 1: "clocks off"})))    # 1: other bits and registers may not take writes

ETMCCR = Register("ETMCCR", 0x004, "RO", BitStruct(
    "IDR" / bits(1),
    reserved(3),
    "SoftwareAccess" / bits(1),
    "StartStop" / bits(1),
    "CIDComps" / bits(2),
    "FIFOFULL" / bits(1),
    "ExtOut" / bits(3),
    "ExtIn" / bits(3),
    "Sequencer" / bits(1),
    "Counters" / bits(3),
    reserved(9),
    "AddrPairs" / bits(4)))

ETMSCR = Register("ETMSCR", 0x014, "RO", BitStruct(
    reserved(17),
    "NumProcs" / bits(3),           # less one
    reserved(3),
    "FIFOFULL" / bits(1),           # the processor can be stalled
    reserved(8)))

ETMTECR1 = Register("ETMTECR1", 0x024, "RW", BitStruct(
    reserved(6),
    "StartStop" / bits(1),
    "Exclude" / etmv3.EXCLUDES,
    reserved(16),
    "Ranges" / bits(8, members("range", 1))))

ETMACTR = RegisterArray("ETMACTR%d", 0x07C, "RW", BitStruct(        # 2 * ETMCCR.AddrPairs
    reserved(16),
    "VMID" / bits(1, since=(1, 1)),   # ETMCCER.Virtualization
    "Hyp" / bits(1, since=(1, 1)),    # as above
    "State" / bits(4),
    "CIDComp" / bits(2, {0: "any Context ID"}, note="Context ID comparator"),
    reserved(5),
    "Type" / etmv3_comparators.TYPE), 4, range(1, 17), Remarks(needs="ETMCCR.AddrPairs"))     # 1 execute, the only one

ETMCCER = Register("ETMCCER", 0x1E8, "RO", BitStruct(
    reserved(2),
    "Timestamp64" / bits(1),        # since v1.1 from here: timestamps have 64 bits, not 48
    "TimestampBinary" / bits(1),    # natural binary, not Gray code
    "ReducedCounter" / bits(1),     # counter 1 has a reload value only
    "Virtualization" / bits(1),
    "BarrierTimestamp" / bits(1),
    "BarrierWaypoint" / bits(1),
    "ReturnStack" / bits(1),
    "Timestamp" / bits(1),          # 0 in a Cortex-A9's, which has them
    "EIBCR" / bits(1),
    "WatchStartStop" / bits(1),
    "WatchInputs" / bits(4),
    "Instrumentation" / bits(3),
    reserved(1),
    "Readable" / bits(1),
    "ExtInBus" / bits(8),
    "ExtInSel" / bits(3)))

_OF_AN_ETM_ONLY: Tuple[str, ...] = (
    "ETMASICCR", "ETMTECR2", "ETMFFRR", "ETMVDEVR", "ETMVDCR1", "ETMVDCR2", "ETMVDCR3", "ETMDCVR", "ETMDCMR", "ETMIDR2")

_DECLARED = {name: value for module in (etmv3, etmv3_comparators, etmv3_id) for name, value in vars(module).items()
             if name not in _OF_AN_ETM_ONLY}
_PERIPHERAL_IDS = {"ETM" + r.name: r.renamed("ETM" + r.name) for r in coresight.PAGE if r.offset >= 0xFD0}

PAGE = Page("Program Trace Macrocell", {
    **_DECLARED, "ETMCR": ETMCR, "ETMCCR": ETMCCR, "ETMSCR": ETMSCR, "ETMTECR1": ETMTECR1, "ETMACTR": ETMACTR,
    "ETMCCER": ETMCCER, **_PERIPHERAL_IDS})
