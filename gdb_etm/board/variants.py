"""The boards by name: core, trace unit, addresses.

The memory map is the same on all of them, so that one linker script serves.  This file is read for every pyOCD command,
which lists the boards, so it needs neither Unicorn nor the parts themselves.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple, Union

from gdb_etm.board.models import CORTEX_M4, CORTEX_M7, CORTEX_M33, CoreModel
from gdb_etm.board.models_baseline import CORTEX_M0P, CORTEX_M23
from gdb_etm.board.units import ETM_M7, ETM_M33, UnitModel
from gdb_etm.board.units_armv7 import ETM_DATA, ETM_M4, Armv7Model
from gdb_etm.board.units_mtb import MTB_M0P, MTB_M23, MTB_M33, MtbModel

SCS = 0xE000E000
DWT = 0xE0001000
FPB = 0xE0002000

_PPB_ROM_TABLE = 0xE00FF000
_M7_ROM_TABLE = 0xE00FE000


class Table(NamedTuple):
    """A ROM table."""

    base: int
    part: int
    # Addresses of what it lists, in order.
    components: Tuple[int, ...]


class Variant(NamedTuple):
    """One kind of board."""

    name: str
    core: CoreModel
    # The ROM tables; the access port points to the first.
    tables: Tuple[Table, ...]
    # The trace unit beside the core; None where there is none.
    unit: Optional[Union[UnitModel, Armv7Model]] = None
    # Address of the trace unit's registers, and of the next two theirs.
    etm: int = 0
    funnel: int = 0
    buffer: int = 0
    # The Micro Trace Buffer, and where its registers are; None where there is none.
    mtb: Optional[MtbModel] = None
    mtb_base: int = 0
    # Whether the buffer is a TMC, and not an older ETB.
    has_etf: bool = True
    buffer_size: int = 4096
    # The unit that can be put in place of the other.
    data_unit: Optional[Armv7Model] = None
    # Whether the access port's address increments wrap at 1 KiB, and not at 4.
    wraps_early: bool = False
    # The core's Cross Trigger Interface, and that of the trace buffer; 0 where there is none.
    core_cti: int = 0
    buffer_cti: int = 0


# As a chip that has nothing more.
PLAIN_M33 = Variant(
    name="m33",
    core=CORTEX_M33,
    unit=ETM_M33,
    etm=0xE0041000,
    funnel=0xE0042000,
    buffer=0xE0043000,
    tables=(Table(_PPB_ROM_TABLE, 0x4C9, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0043000)),),
)

# FULL of the buffer is trigger input 2 of its interface, and ACQCOMP 3: so it is on Arm's development boards with a
# CoreSight trace subsystem (Linux, juno-cs-r1r2.dtsi and juno-base.dtsi: sys_cti_0).
M33 = PLAIN_M33._replace(
    tables=(Table(_PPB_ROM_TABLE, 0x4C9, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0043000, 0xE0046000, 0xE0048000)),),
    core_cti=0xE0046000,
    buffer_cti=0xE0048000,
)

# A Cortex-M7 has a table for its private peripherals and one around that for the rest.
M7 = PLAIN_M33._replace(
    name="m7",
    core=CORTEX_M7,
    unit=ETM_M7,
    tables=(
        Table(_M7_ROM_TABLE, 0x4C8, (_PPB_ROM_TABLE, 0xE0041000, 0xE0042000, 0xE0043000)),
        Table(_PPB_ROM_TABLE, 0x4C7, (SCS, DWT, FPB)),
    ),
    wraps_early=True,
)

# Trace unit, ETB and funnel are where pyOCD finds them on Cortex-M4 chips that have an ETB (Kinetis K22, SAM D5x).
M4 = PLAIN_M33._replace(
    name="m4",
    core=CORTEX_M4,
    unit=ETM_M4,
    buffer=0xE0042000,
    funnel=0xE0043000,
    tables=(Table(_PPB_ROM_TABLE, 0x4C4, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0043000)),),
    has_etf=False,
    buffer_size=2048,
    data_unit=ETM_DATA,
)

# The same with a Micro Trace Buffer beside the trace unit; on chips it is where this board has its ETF.
_M33_MTB = PLAIN_M33._replace(
    name="m33,mtb",
    tables=(Table(_PPB_ROM_TABLE, 0x4C9, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0043000, 0xE0047000)),),
    mtb=MTB_M33,
    mtb_base=0xE0047000,
)

# No trace but that of its Micro Trace Buffer, whose registers are where those of a SAM D21 are.
_M0 = Variant(
    name="m0",
    core=CORTEX_M0P,
    tables=(Table(_PPB_ROM_TABLE, 0x4C0, (SCS, DWT, FPB, 0x41006000)),),
    mtb=MTB_M0P,
    mtb_base=0x41006000,
)

_M23 = _M0._replace(
    name="m23",
    core=CORTEX_M23,
    tables=(Table(_PPB_ROM_TABLE, 0x4CB, (SCS, DWT, FPB, 0xE0043000)),),
    mtb=MTB_M23,
    mtb_base=0xE0043000,
)

VARIANTS: Dict[str, Variant] = {variant.name: variant for variant in (M33, M7, M4, _M0, _M23, _M33_MTB)}

# The board with a Cortex-A, whose parts are in ``cortex_a_board.py``.
CORTEX_A = "a9"
