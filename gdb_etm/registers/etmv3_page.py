"""All ETMv3 registers, by name and by offset (IHI 0014Q, table 3.3)."""

from __future__ import annotations

from gdb_etm.registers import coresight, etmv3, etmv3_comparators, etmv3_id
from gdb_etm.registers.page import Page

_PERIPHERAL_IDS = {"ETM" + r.name: r.renamed("ETM" + r.name) for r in coresight.PAGE if r.offset >= 0xFD0}

PAGE = Page("ETMv3 trace unit", {**vars(etmv3), **vars(etmv3_comparators), **vars(etmv3_id), **_PERIPHERAL_IDS})
