"""Models of the cores as data: what programs and debuggers can distinguish."""

from __future__ import annotations

from typing import Callable, FrozenSet, Mapping, NamedTuple, Optional, Type

from gdb_etm.board.dwt import Armv7Comparator, Armv8Comparator, DwtComparator
from gdb_etm.board.identity import CLASS_GENERIC, PART_CORTEX_M33, identification
from gdb_etm.board.t32 import T32Instruction


class CoreModel(NamedTuple):
    """One kind of Cortex-M."""

    name: str
    # The end of Unicorn's name for it.
    unicorn: str
    # EXC_RETURN for Handler mode and an extended frame: the bits that say the same in every value.
    exc_return: int
    # The values of EXC_RETURN that are legal.
    exc_returns: FrozenSet[int]
    # Whether a return to Thread mode is illegal from all but the last active exception (Armv7-M, B1.5.8).
    counts_nesting: bool
    # Whether there are MSPLIM and PSPLIM (Armv8-M).
    has_stack_limits: bool
    # Bits of CONTROL that are set while there is one: FPCA, and SFPA, since Unicorn's cores are in Secure state.
    floating_point_context: int
    # What the PC shows in lockup.
    lockup_address: int
    # Read-only registers of the System Control Space, by offset.
    scs: Mapping[int, int]
    # Identification registers of the DWT.
    dwt: Mapping[int, int]
    # Identification registers of the breakpoint unit.
    fpb: Mapping[int, int]
    dwt_kind: Type[DwtComparator] = Armv7Comparator
    dwt_comparators: int = 4
    fpb_version: int = 2
    fpb_comparators: int = 8
    # Whether ACTLR has DISDEFWBUF.
    has_write_buffer_control: bool = False
    # Whether it is an Armv6-M or an Armv8-M Baseline: every fault is HardFault,
    # and nothing says why.
    is_baseline: bool = False
    # Tells what instructions it lacks of those that Unicorn's core runs; None: none.
    lacks: Optional[Callable[[T32Instruction], bool]] = None
    # Whether all unaligned accesses fault (Armv6-M ARM, A3.2.1; Armv8-M ARM, B5.2).
    traps_unaligned: bool = False
    # The implemented bits of a priority.
    priority_mask: int = 0xF0


def _exc_returns(base: int, process_handler: bool) -> FrozenSet[int]:
    # Bit 4: no floating-point registers in the frame.  Bits 3 and 2: to Thread mode, from the process stack.
    modes = (0, 8, 12, 4) if process_handler else (0, 8, 12)
    return frozenset(base | no_floating_point | mode for no_floating_point in (0, 16) for mode in modes)


# Read-only registers of the System Control Space that all have.
_FEATURES = {
    0x004: 0x00000000,  # ICTR: 32 interrupts
    0xD40: 0x00000030,  # ID_PFR0
    0xD44: 0x00000200,  # ID_PFR1
    0xD58: 0x01000000,  # ID_MMFR2
    0xD60: 0x01101110,  # ID_ISAR0
    0xD6C: 0x01111131,  # ID_ISAR3
    0xD70: 0x01310132,  # ID_ISAR4
}
_ARMV7M_FEATURES = {
    **_FEATURES,
    0xD14: 0x00000200,  # CCR: STKALIGN
    0xD48: 0x00100000,  # ID_DFR0
    0xD50: 0x00100030,  # ID_MMFR0
    0xD64: 0x02112000,  # ID_ISAR1
    **identification(0x00C, component_class=CLASS_GENERIC),
}

# EXC_RETURN without the Security Extension (DDI 0553, D1.2.95): DCRS is 1, S and ES are 0.
CORTEX_M33 = CoreModel(
    name="Cortex-M33",
    unicorn="CORTEX_M33",
    exc_return=0xFFFFFFA0,
    exc_returns=_exc_returns(0xFFFFFFA0, True),
    counts_nesting=False,
    has_stack_limits=True,
    floating_point_context=4 | 8,
    lockup_address=0xEFFFFFFE,
    # r0p4 with DSP and single-precision floating point, and without Security Extension and caches.
    scs={
        **_FEATURES,
        0xD00: 0x410FD214,  # CPUID
        0xD14: 0x00000201,  # CCR
        0xD48: 0x00200000,  # ID_DFR0
        0xD50: 0x00101F40,  # ID_MMFR0
        0xD64: 0x02212000,  # ID_ISAR1
        0xD68: 0x20232232,  # ID_ISAR2
        0xD7C: 0x8000C000,  # CTR
        0xF40: 0x10110021,  # MVFR0
        0xF44: 0x11000011,  # MVFR1
        0xF48: 0x00000040,  # MVFR2
        **identification(PART_CORTEX_M33, devarch=0x47702A04),
    },
    dwt=identification(PART_CORTEX_M33, devarch=0x47701A02),
    dwt_kind=Armv8Comparator,
    fpb=identification(PART_CORTEX_M33, devarch=0x47701A03),
)

# EXC_RETURN of Armv7-M with floating point (DDI 0403, table B1-9).
CORTEX_M7 = CoreModel(
    name="Cortex-M7",
    unicorn="CORTEX_M7",
    exc_return=0xFFFFFFE1,
    exc_returns=_exc_returns(0xFFFFFFE1, False),
    counts_nesting=True,
    has_stack_limits=False,
    floating_point_context=4 | 8,
    lockup_address=0xFFFFFFFE,
    # r1p2 with double-precision floating point, and without caches.
    scs={
        **_ARMV7M_FEATURES,
        0xD00: 0x411FC272,  # CPUID
        0xD68: 0x20232231,  # ID_ISAR2
        0xD7C: 0x8000C000,  # CTR
        0xF40: 0x10110221,  # MVFR0: single and double precision
        0xF44: 0x12000011,  # MVFR1
        0xF48: 0x00000040,  # MVFR2
    },
    dwt=identification(0x002, component_class=CLASS_GENERIC),
    fpb=identification(0x00E, component_class=CLASS_GENERIC),
)

CORTEX_M4 = CORTEX_M7._replace(
    name="Cortex-M4",
    unicorn="CORTEX_M4",
    # r0p1 with single-precision floating point (Cortex-M4 TRM, DDI 0439B, table 4-1).
    scs={
        **_ARMV7M_FEATURES,
        0xD00: 0x410FC241,  # CPUID
        0xD68: 0x21232231,  # ID_ISAR2
        0xF40: 0x10110021,  # MVFR0: single precision
        0xF44: 0x11000011,  # MVFR1
    },
    fpb=identification(0x003, component_class=CLASS_GENERIC),
    fpb_version=1,
    fpb_comparators=6,
    has_write_buffer_control=True,
)
