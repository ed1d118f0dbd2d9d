"""All ETMv4 registers, by name and by offset (IHI 0064, table 7-1)."""

from __future__ import annotations

from gdb_etm.registers import coresight, etmv4, etmv4_comparators, etmv4_id
from gdb_etm.registers.page import Page

_PERIPHERAL_IDS = {"TRC" + r.name: r.renamed("TRC" + r.name) for r in coresight.PAGE if r.offset >= 0xFD0}

PAGE = Page("ETMv4 trace unit", {
    **vars(etmv4), **vars(etmv4_comparators), **vars(etmv4_id), **_PERIPHERAL_IDS})
