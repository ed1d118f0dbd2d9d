"""Single bits of the fault status registers."""

from __future__ import annotations

from typing import Mapping


def is_reported(registers: Mapping[str, int], field: str) -> bool:
    """Check a bit of CFSR.

    :param registers: By their lower-case names; without ``cfsr`` no bit is set.
    :param field: Its name (Armv8-M ARM, D1.2).
    """
    # Pages of registers take a while to import, and most sessions need none of them.
    from gdb_etm.registers.cortex_m import CFSR

    return bool(CFSR.get(registers.get("cfsr", 0), field))
