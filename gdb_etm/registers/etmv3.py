"""ETMv3 trace unit: control, filtering and resource registers.

Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 3.5.  A register's
number there is its offset here divided by 4.  Comparators are in etmv3_comparators.py, identification and
management in etmv3_id.py; PAGE in etmv3_page.py has all three.  Comments give what a register or field
depends on.  Before ETMv3.1, and where ETMCCER.Readable is 0, most registers can only be written.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, Remarks, bits, members, reserved, word

_FIXED_RESOURCES = {
    0x5B: "VMID comparator", 0x5F: "start/stop", 0x6D: "Non-secure state", 0x6E: "trace prohibited", 0x6F: "always"}
_RESOURCES = (
    (0x00, 16, "address comparator", 1), (0x10, 8, "address range", 1), (0x18, 4, "instrumentation resource", 1),
    (0x20, 8, "watchpoint input", 0), (0x30, 16, "memory map decoder", 1), (0x40, 4, "counter at zero", 1),
    (0x50, 3, "sequencer state", 1), (0x58, 3, "Context ID comparator", 1), (0x60, 4, "external input", 1),
    (0x68, 4, "selected external input", 1))


def resource_words(value: int) -> str:
    """Name a resource of an event ("Resource identification", 3.5)."""
    for first, count, noun, number in _RESOURCES:
        if first <= value < first + count:
            return "%s %d" % (noun, value - first + number)
    return _FIXED_RESOURCES.get(value, "reserved")


FUNCTION = bits(3, {0: "A", 1: "not A", 2: "A and B", 3: "not A, and B", 4: "neither", 5: "A or B", 6: "not A, or B",
                    7: "not both"})
RESOURCE = bits(7, resource_words)

# Event, 17 bits: two resources, 7 bits each, and a function of them ("Defining events").
EVENT = BitStruct(
    reserved(15),
    "Function" / FUNCTION,
    "B" / RESOURCE,
    "A" / RESOURCE)

FUNCTION_A = 0
FUNCTION_NOT_A = 1
FUNCTION_A_AND_B = 2
FUNCTION_NOT_A_AND_B = 3
FUNCTION_NEITHER = 4
FUNCTION_A_OR_B = 5
FUNCTION_NOT_A_OR_B = 6
FUNCTION_NOT_BOTH = 7

# The first of 8 pairs of address comparators; single ones are numbered from 0.
RESOURCE_RANGE = 0x10
# The first of 8 EmbeddedICE watchpoint inputs: on an M-profile processor the DWT's comparators.
RESOURCE_WATCHPOINT = 0x20
# The first of 4 counters, at zero.
RESOURCE_COUNTER = 0x40
# The first of the sequencer's 3 states.
RESOURCE_STATE = 0x50
# The first of 3 Context ID comparators.
RESOURCE_CONTEXT = 0x58
RESOURCE_VMID = 0x5B
# The first of 4 external inputs.
RESOURCE_INPUT = 0x60
# The first of 4 that ETMEXTINSELR selects.
RESOURCE_SELECTED_INPUT = 0x68
# The processor is in Non-secure state.
RESOURCE_NONSECURE = 0x6D
RESOURCE_TRUE = 0x6F

EVENT_TRUE = 0x0006F
# Not TRUE; what unused events are set to.
EVENT_FALSE = 0x0406F

CONTEXT_ID_SIZE = bits(2, {0: "none", 1: "8 bits", 2: "16 bits", 3: "32 bits"})
EXCLUDES = bits(1, {0: "included is what follows", 1: "excluded is what follows"})

ETMCR = Register("ETMCR", 0x000, "RW", BitStruct(
    reserved(1),
    "VMID" / bits(1, since=(3, 5)),               # ETMCCER.Virtualization
    reserved(1),
    "Timestamp" / bits(1, since=(3, 5)),          # ETMCCER.Timestamp
    "ProcSel" / bits(3),            # ETMSCR.NumProcs
    "InstrResAC" / bits(1, since=(3, 3)),
    "SWWriteDisable" / bits(1),
    "DebugWriteDisable" / bits(1),
    "PortSize3" / bits(1),          # the top bit of PortSize
    "DataOnly" / bits(1, since=(3, 1)),
    "FilterCPRT" / bits(1),
    "SuppressData" / bits(1),
    "PortMode" / bits(2),
    "ContextIDSize" / CONTEXT_ID_SIZE,
    "PortMode2" / bits(1),          # the top bit of PortMode
    "CycleAccurate" / bits(1, note="cycle counts"),
    "ETMEN" / bits(1),              # trace port selected
    "Prog" / bits(1, {0: "enabled", 1: "disabled"}),      # 1: registers may be written
    "DbgRq" / bits(1),
    "BranchBroadcast" / bits(1, note="branch broadcast"),
    "Stall" / bits(1),              # ETMCCR.FIFOFULL and ETMSCR.FIFOFULL
    "PortSize" / bits(3),
    "DataAddress" / bits(1, note="data addresses"),
    "DataValue" / bits(1, note="data values"),
    "MonitorCPRT" / bits(1),
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
    "MMDs" / bits(5),
    "DataComps" / bits(4),
    "AddrPairs" / bits(4)))

ETMTRIGGER = Register("ETMTRIGGER", 0x008, "RW", EVENT)
ETMASICCR = Register("ETMASICCR", 0x00C, "RW", BitStruct(reserved(24), "Control" / bits(8)))

ETMSR = Register("ETMSR", 0x010, "RW", BitStruct(
    reserved(28),
    "Triggered" / bits(1, since=(3, 1), moves=True),
    "StartStop" / bits(1, {0: "stopped", 1: "started"}, since=(3, 1), moves=True),    # writable while Prog is 1
    "Prog" / bits(1, moves=True, is_status=True),     # ETMCR.Prog has taken effect, and all trace has left the unit
    "Overflow" / bits(1, moves=True, is_status=True)))

ETMSCR = Register("ETMSCR", 0x014, "RO", BitStruct(
    reserved(14),
    "NoFetchComp" / bits(1),
    reserved(2),
    "NumProcs" / bits(3),       # less one
    "PortModeOK" / bits(1),
    "PortSizeOK" / bits(1),
    "MaxPortSize3" / bits(1),
    "FIFOFULL" / bits(1),       # the processor can be stalled
    reserved(5),
    "MaxPortSize" / bits(3)))

ETMTSSCR = Register("ETMTSSCR", 0x018, "RW", BitStruct(
    "Stop" / bits(16, members("comparator", 1)),
    "Start" / bits(16, members("comparator", 1))), Remarks(needs="ETMCCR.StartStop ETMCCR.AddrPairs"))

ETMTECR2 = Register("ETMTECR2", 0x01C, "RW", BitStruct(
    reserved(16),
    "Addresses" / bits(16, members("comparator", 1))), Remarks(needs="ETMCCR.AddrPairs"))

ETMTEEVR = Register("ETMTEEVR", 0x020, "RW", EVENT)

ETMTECR1 = Register("ETMTECR1", 0x024, "RW", BitStruct(
    reserved(6),
    "StartStop" / bits(1),      # ETMCCR.StartStop
    "Exclude" / EXCLUDES,
    "MMDs" / bits(16, members("memory map decoder", 1)),
    "Ranges" / bits(8, members("range", 1))))

ETMFFRR = Register("ETMFFRR", 0x028, "RW", BitStruct(
    reserved(7),
    "Exclude" / EXCLUDES,
    "MMDs" / bits(16, members("memory map decoder", 1)),
    "Ranges" / bits(8, members("range", 1))), Remarks(needs="ETMCCR.FIFOFULL ETMCCR.AddrPairs"))

ETMFFLR = Register("ETMFFLR", 0x02C, "RW", BitStruct(
    reserved(24),
    "Level" / bits(8, note="free bytes")), Remarks(needs="ETMCCR.FIFOFULL"))   # never more than it has

# ViewData: only where the unit traces data.
ETMVDEVR = Register("ETMVDEVR", 0x030, "RW", EVENT, Remarks(needs="ETMCR.DataAddress ETMCR.DataValue"))

ETMVDCR1 = Register("ETMVDCR1", 0x034, "RW", BitStruct(     # a bit for each address comparator
    "Exclude" / bits(16),
    "Include" / bits(16)), Remarks(needs="ETMCR.DataAddress ETMCR.DataValue"))

ETMVDCR2 = Register("ETMVDCR2", 0x038, "RW", BitStruct(     # a bit for each memory map decoder
    "Exclude" / bits(16),
    "Include" / bits(16)), Remarks(needs="ETMCR.DataAddress ETMCR.DataValue"))

ETMVDCR3 = Register("ETMVDCR3", 0x03C, "RW", BitStruct(     # a bit for each pair of address comparators
    reserved(15),
    "ExcludeOnly" / bits(1),
    "Exclude" / bits(8, members("range", 1)),
    "Include" / bits(8, members("range", 1))), Remarks(needs="ETMCR.DataAddress ETMCR.DataValue"))

ETMCNTRLDVR = RegisterArray("ETMCNTRLDVR%d", 0x13C, "RW", BitStruct(
    reserved(16),
    "Value" / bits(16)), 4, range(1, 5), Remarks(needs="ETMCCR.Counters"))

ETMCNTENR = RegisterArray("ETMCNTENR%d", 0x14C, "RW", BitStruct(
    reserved(14),
    "Source" / bits(1),         # RAO in later units: the event, and not every cycle, makes it count
    "Function" / FUNCTION,
    "B" / RESOURCE,
    "A" / RESOURCE), 4, range(1, 5), Remarks(needs="ETMCCR.Counters ETMCCER.ReducedCounter"))

ETMCNTRLDEVR = RegisterArray("ETMCNTRLDEVR%d", 0x15C, "RW", EVENT, 4, range(1, 5), Remarks(
    needs="ETMCCR.Counters ETMCCER.ReducedCounter"))

ETMCNTVR = RegisterArray("ETMCNTVR%d", 0x16C, "RW", BitStruct(          # RO before v3.1
    reserved(16),
    "Value" / bits(16, moves=True)), 4, range(1, 5), Remarks(needs="ETMCCR.Counters ETMCCER.ReducedCounter"))

# The sequencer: the event that takes it from one of its three states to another.
ETMSQ12EVR = Register("ETMSQ12EVR", 0x180, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))
ETMSQ21EVR = Register("ETMSQ21EVR", 0x184, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))
ETMSQ23EVR = Register("ETMSQ23EVR", 0x188, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))
ETMSQ31EVR = Register("ETMSQ31EVR", 0x18C, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))
ETMSQ32EVR = Register("ETMSQ32EVR", 0x190, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))
ETMSQ13EVR = Register("ETMSQ13EVR", 0x194, "RW", EVENT, Remarks(needs="ETMCCR.Sequencer"))

ETMSQR = Register("ETMSQR", 0x19C, "RW", BitStruct(
    reserved(30),
    "State" / bits(2, note="less one", moves=True)), Remarks(needs="ETMCCR.Sequencer"))      # RO before v3.1

ETMEXTOUTEVR = RegisterArray("ETMEXTOUTEVR%d", 0x19C, "RW", EVENT, 4, range(1, 5), Remarks(needs="ETMCCR.ExtOut"))

ETMSYNCFR = Register("ETMSYNCFR", 0x1E0, "RW", BitStruct(   # may be RO
    reserved(20),
    "Frequency" / bits(12, note="bytes")))    # bytes of trace; since v3.5 0: never.  The lowest bits may be missing.

ETMEXTINSELR = Register("ETMEXTINSELR", 0x1EC, "RW", BitStruct(
    "Input4" / bits(8),
    "Input3" / bits(8),
    "Input2" / bits(8),
    "Input1" / bits(8)), Remarks(needs="ETMCCER.ExtInSel"))

ETMTESSEICR = Register("ETMTESSEICR", 0x1F0, "RW", BitStruct(
    reserved(8),
    "Stop" / bits(8, members("watchpoint input")),
    reserved(8),
    "Start" / bits(8, members("watchpoint input"))), Remarks(needs="ETMCCER.WatchStartStop", since=(3, 4)))

ETMEIBCR = Register("ETMEIBCR", 0x1F4, "RW", BitStruct(
    reserved(24),
    "Behavior" / bits(8)), Remarks(needs="ETMCCER.EIBCR", since=(3, 4)))      # a bit for each watchpoint input

ETMTSEVR = Register("ETMTSEVR", 0x1F8, "RW", EVENT, Remarks(needs="ETMCCER.Timestamp", since=(3, 5)))
ETMAUXCR = Register("ETMAUXCR", 0x1FC, "RW", word("AUXCR"))

ETMTRACEIDR = Register("ETMTRACEIDR", 0x200, "RW", BitStruct(
    reserved(25),
    "TraceID" / bits(7)))
