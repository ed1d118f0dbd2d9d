"""The boards by name: which core and trace unit each has, and what is where.

The memory map is the same on all of them, so that one linker script serves.  This file is read for every pyOCD command,
which lists the boards, so it needs neither Unicorn nor the parts themselves.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

from gdb_etm.board.models import CORTEX_M7, CORTEX_M33, CoreModel
from gdb_etm.board.units import ETM_M7, ETM_M33, UnitModel

SCS = 0xE000E000
DWT = 0xE0001000
FPB = 0xE0002000

_PPB_ROM_TABLE = 0xE00FF000
_M7_ROM_TABLE = 0xE00FE000


class Table(NamedTuple):
    """A ROM table."""

    base: int
    part: int
    components: Tuple[int, ...]
    """Addresses of what it lists, in order."""


class Variant(NamedTuple):
    """One kind of board."""

    name: str
    core: CoreModel
    unit: UnitModel
    etm: int
    """Address of the trace unit's registers, and of the next two theirs."""
    funnel: int
    etf: int
    tables: Tuple[Table, ...]
    """The ROM tables; the access port points to the first."""


_M33 = Variant(
    name="m33",
    core=CORTEX_M33,
    unit=ETM_M33,
    etm=0xE0041000,
    funnel=0xE0042000,
    etf=0xE0043000,
    tables=(Table(_PPB_ROM_TABLE, 0x4C9, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0043000)),),
)

# A Cortex-M7 has a table for its private peripherals and one around that for the rest.
_M7 = Variant(
    name="m7",
    core=CORTEX_M7,
    unit=ETM_M7,
    etm=0xE0041000,
    funnel=0xE0042000,
    etf=0xE0043000,
    tables=(
        Table(_M7_ROM_TABLE, 0x4C8, (_PPB_ROM_TABLE, 0xE0041000, 0xE0042000, 0xE0043000)),
        Table(_PPB_ROM_TABLE, 0x4C7, (SCS, DWT, FPB)),
    ),
)

VARIANTS: Dict[str, Variant] = {variant.name: variant for variant in (_M33, _M7)}

CORTEX_A = "a9"
"""The board with a Cortex-A, whose parts are in ``cortex_a_board.py``."""

NAMES: Tuple[str, ...] = (*VARIANTS, CORTEX_A)
"""All boards."""
