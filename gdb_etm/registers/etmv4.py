"""ETMv4 trace unit: control and filtering registers (blocks 0 to 6).

Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064), chapter 7.
Comparators are in etmv4_comparators.py, identification and management in etmv4_id.py; PAGE in
etmv4_page.py has all three.  Comments give what a register or field depends on.
"""

from __future__ import annotations

from gdb_etm.registers.page import BitStruct, Register, RegisterArray, bits, ones, reserved, word

# Event selectors, 8 bits: TYPE[7] (1: pair), SEL[4:0]; selector 0 is always FALSE, 1 always TRUE (4.4.2).
EVENT_FALSE = 0x00
EVENT_TRUE = 0x01

TRCPRGCTLR = Register("TRCPRGCTLR", 0x004, "RW", BitStruct(
    reserved(31),
    "EN" / bits(1)))

TRCPROCSELR = Register("TRCPROCSELR", 0x008, "RW", BitStruct(   # TRCIDR3.NUMPROC > 0
    reserved(27),
    "PROCSEL" / bits(5)))

TRCSTATR = Register("TRCSTATR", 0x00C, "RO", BitStruct(
    reserved(30),
    "PMSTABLE" / bits(1),   # valid only while disabled
    "IDLE" / bits(1)))

TRCCONFIGR = Register("TRCCONFIGR", 0x010, "RW", BitStruct(
    reserved(14),
    "DV" / bits(1),
    "DA" / bits(1),
    "VMIDOPT" / bits(1),    # since v4.1
    "QE" / bits(2),         # 0 off, 1 with counts, 3 with and without
    "RS" / bits(1),
    "TS" / bits(1),
    "COND" / bits(3),       # 0 off, 1 loads, 2 stores, 3 both, 7 all
    "VMID" / bits(1),
    "CID" / bits(1),
    reserved(1),
    "CCI" / bits(1),
    "BB" / bits(1),
    "INSTP0" / bits(2),     # 0 none, 1 loads, 2 stores, 3 both
    ones(1)))

TRCAUXCTLR = Register("TRCAUXCTLR", 0x018, "RW", word("AUXCTLR"))

TRCEVENTCTL0R = Register("TRCEVENTCTL0R", 0x020, "RW", BitStruct(   # since v4.3 only if TRCIDR4.NUMRSPAIR > 0
    "EVENT3" / bits(8),
    "EVENT2" / bits(8),
    "EVENT1" / bits(8),
    "EVENT0" / bits(8)))

TRCEVENTCTL1R = Register("TRCEVENTCTL1R", 0x024, "RW", BitStruct(
    reserved(19),
    "LPOVERRIDE" / bits(1),
    "ATB" / bits(1),
    reserved(6),
    "DATAEN" / bits(1),
    "INSTEN" / bits(4)))

TRCSTALLCTLR = Register("TRCSTALLCTLR", 0x02C, "RW", BitStruct(     # TRCIDR3.STALLCTL
    reserved(18),
    "NOOVERFLOW" / bits(1),
    "DATADISCARD" / bits(2),
    "INSTPRIORITY" / bits(1),
    "DSTALL" / bits(1),
    "ISTALL" / bits(1),
    reserved(4),
    "LEVEL" / bits(4)))     # low bits may be missing

TRCTSCTLR = Register("TRCTSCTLR", 0x030, "RW", BitStruct(           # TRCIDR0.TSSIZE > 0
    reserved(24),
    "EVENT" / bits(8)))

TRCSYNCPR = Register("TRCSYNCPR", 0x034, "RW", BitStruct(           # RO if TRCIDR3.SYNCPR
    reserved(27),
    "PERIOD" / bits(5)))    # 0 off, 8 to 20: 2**PERIOD bytes

TRCCCCTLR = Register("TRCCCCTLR", 0x038, "RW", BitStruct(           # TRCIDR0.TRCCCI
    reserved(20),
    "THRESHOLD" / bits(12)))

TRCBBCTLR = Register("TRCBBCTLR", 0x03C, "RW", BitStruct(           # TRCIDR0.TRCBB and TRCIDR4.NUMACPAIRS > 0
    reserved(23),
    "MODE" / bits(1),       # 0 exclude, 1 include
    "RANGE" / bits(8)))

TRCTRACEIDR = Register("TRCTRACEIDR", 0x040, "RW", BitStruct(
    reserved(17),
    "TRACEDATAID" / bits(7),    # since v4.5, with data trace
    reserved(1),
    "TRACEID" / bits(7)))

TRCQCTLR = Register("TRCQCTLR", 0x044, "RW", BitStruct(             # TRCIDR0.QFILT
    reserved(23),
    "MODE" / bits(1),
    "RANGE" / bits(8)))

TRCVICTLR = Register("TRCVICTLR", 0x080, "RW", BitStruct(
    reserved(8),
    "EXLEVEL_NS" / bits(4),     # 1: do not trace this level
    "EXLEVEL_S" / bits(4),
    reserved(4),
    "TRCERR" / bits(1),
    "TRCRESET" / bits(1),
    "SSSTATUS" / bits(1),
    reserved(1),
    "EVENT" / bits(8)))

TRCVIIECTLR = Register("TRCVIIECTLR", 0x084, "RW", BitStruct(       # TRCIDR4.NUMACPAIRS > 0
    reserved(8),
    "EXCLUDE" / bits(8),
    reserved(8),
    "INCLUDE" / bits(8)))

TRCVISSCTLR = Register("TRCVISSCTLR", 0x088, "RW", BitStruct(       # TRCIDR4.NUMACPAIRS > 0
    "STOP" / bits(16),
    "START" / bits(16)))

TRCVIPCSSCTLR = Register("TRCVIPCSSCTLR", 0x08C, "RW", BitStruct(   # TRCIDR4.NUMPC > 0
    reserved(8),
    "STOP" / bits(8),
    reserved(8),
    "START" / bits(8)))

TRCVDCTLR = Register("TRCVDCTLR", 0x0A0, "RW", BitStruct(           # TRCIDR0.TRCDATA
    reserved(19),
    "TRCEXDATA" / bits(1),
    "TBI" / bits(1),
    "PCREL" / bits(1),
    "SPREL" / bits(2),
    "EVENT" / bits(8)))

TRCVDSACCTLR = Register("TRCVDSACCTLR", 0x0A4, "RW", BitStruct(     # TRCIDR0.TRCDATA and TRCIDR4.NUMACPAIRS > 0
    "EXCLUDE" / bits(16),
    "INCLUDE" / bits(16)))

TRCVDARCCTLR = Register("TRCVDARCCTLR", 0x0A8, "RW", BitStruct(     # TRCIDR0.TRCDATA and TRCIDR4.NUMACPAIRS > 0
    reserved(8),
    "EXCLUDE" / bits(8),
    reserved(8),
    "INCLUDE" / bits(8)))

TRCSEQEVR = RegisterArray("TRCSEQEVR%d", 0x100, "RW", BitStruct(    # TRCIDR5.NUMSEQSTATE > 0
    reserved(16),
    "B" / bits(8),
    "F" / bits(8)), 4, range(3))

TRCSEQRSTEVR = Register("TRCSEQRSTEVR", 0x118, "RW", BitStruct(     # TRCIDR5.NUMSEQSTATE > 0
    reserved(24),
    "RST" / bits(8)))

TRCSEQSTR = Register("TRCSEQSTR", 0x11C, "RW", BitStruct(           # TRCIDR5.NUMSEQSTATE > 0
    reserved(30),
    "STATE" / bits(2)))

TRCEXTINSELR = Register("TRCEXTINSELR", 0x120, "RW", BitStruct(     # TRCIDR5.NUMEXTINSEL > 0
    "SEL3" / bits(8),
    "SEL2" / bits(8),
    "SEL1" / bits(8),
    "SEL0" / bits(8)))

TRCCNTRLDVR = RegisterArray("TRCCNTRLDVR%d", 0x140, "RW", BitStruct(    # TRCIDR5.NUMCNTR
    reserved(16),
    "VALUE" / bits(16)), 4, range(4))

TRCCNTCTLR = RegisterArray("TRCCNTCTLR%d", 0x150, "RW", BitStruct(      # as above; not 0 if TRCIDR5.REDFUNCNTR
    reserved(14),
    "CNTCHAIN" / bits(1),   # counters 1 and 3
    "RLDSELF" / bits(1),
    "RLDEVENT" / bits(8),
    "CNTEVENT" / bits(8)), 4, range(4))

TRCCNTVR = RegisterArray("TRCCNTVR%d", 0x160, "RW", BitStruct(          # as above; not 0 if TRCIDR5.REDFUNCNTR
    reserved(16),
    "VALUE" / bits(16)), 4, range(4))

TRCRSCTLR = RegisterArray("TRCRSCTLR%d", 0x200, "RW", BitStruct(        # TRCIDR4.NUMRSPAIR; 0 and 1 do not exist
    reserved(10),
    "PAIRINV" / bits(1),    # even registers
    "INV" / bits(1),
    "GROUP" / bits(4),
    "SELECT" / bits(16)), 4, range(2, 32))

TRCSSCCR = RegisterArray("TRCSSCCR%d", 0x280, "RW", BitStruct(          # TRCIDR4.NUMSSCC
    reserved(7),
    "RST" / bits(1),
    "ARC" / bits(8),
    "SAC" / bits(16)), 4, range(8))

TRCSSCSR = RegisterArray("TRCSSCSR%d", 0x2A0, "RW", BitStruct(          # TRCIDR4.NUMSSCC
    "STATUS" / bits(1),
    reserved(27),
    "PC" / bits(1),         # RO from here
    "DV" / bits(1),
    "DA" / bits(1),
    "INST" / bits(1)), 4, range(8))

TRCSSPCICR = RegisterArray("TRCSSPCICR%d", 0x2C0, "RW", BitStruct(      # TRCSSCSRn.PC
    reserved(24),
    "PC" / bits(8)), 4, range(8))
