"""Models of the small cores: Armv6-M and Armv8-M Baseline."""

from __future__ import annotations

from gdb_etm.board.dwt import Armv8Comparator
from gdb_etm.board.identity import CLASS_GENERIC, identification
from gdb_etm.board.models import CORTEX_M7, CORTEX_M33, CoreModel
from gdb_etm.board.t32 import T32Instruction

# Cortex-M0+ TRM (DDI 0484C): table 4-1 for CPUID, tables 6-2 to 6-9 for the debug components.
CORTEX_M0P: CoreModel = CORTEX_M7._replace(
    name="Cortex-M0+",
    unicorn="CORTEX_M0",
    # Armv6-M ARM (DDI 0419), table B1-10.
    exc_return=0xFFFFFFE1,
    exc_returns=frozenset((0xFFFFFFF1, 0xFFFFFFF9, 0xFFFFFFFD)),
    floating_point_context=0,
    # r0p1.
    scs={
        0xD00: 0x410CC601,  # CPUID
        0xD14: 0x00000208,  # CCR: STKALIGN, UNALIGN_TRP
        **identification(0x008, component_class=CLASS_GENERIC),
    },
    dwt=identification(0x00A, component_class=CLASS_GENERIC),
    dwt_comparators=2,
    fpb=identification(0x00B, component_class=CLASS_GENERIC),
    fpb_version=1,
    fpb_comparators=4,
    is_baseline=True,
    lacks=T32Instruction.is_beyond_armv6,
    traps_unaligned=True,
    priority_mask=0xC0,
)

# Cortex-M23 r1p0 without Security Extension (TRM, DDI 0550, chapters 4 and 6), run by Unicorn's Cortex-M33, which
# is kept from what an Armv8-M Baseline has not.
_PART_CORTEX_M23 = 0xD20
CORTEX_M23: CoreModel = CORTEX_M33._replace(
    name="Cortex-M23",
    exc_return=0xFFFFFFA0,
    exc_returns=frozenset((0xFFFFFFB0, 0xFFFFFFB8, 0xFFFFFFBC, 0xFFFFFFB4)),
    has_stack_limits=False,
    floating_point_context=0,
    scs={
        0x004: 0x00000000,  # ICTR: 32 interrupts
        0xD00: 0x411CD200,  # CPUID
        0xD14: 0x00000209,  # CCR: UNALIGN_TRP is RAO
        **identification(_PART_CORTEX_M23, devarch=0x47702A04),
    },
    dwt=identification(_PART_CORTEX_M23, devarch=0x47701A02),
    dwt_kind=Armv8Comparator,
    dwt_comparators=2,
    fpb=identification(_PART_CORTEX_M23, devarch=0x47701A03),
    fpb_comparators=4,
    is_baseline=True,
    lacks=T32Instruction.is_mainline,
    traps_unaligned=True,
    priority_mask=0xC0,
)
