"""Single bits of the fault status registers."""

from __future__ import annotations

from typing import Mapping


def is_reported(registers: Mapping[str, int], field: str) -> bool:
    """Check a bit of CFSR.

    :param registers: By their lower-case names; without ``cfsr`` no bit is set.
    :param field: Its name (Armv8-M ARM, D1.2).
    """
    return _field(registers, field)


def is_reported_alone(registers: Mapping[str, int], field: str) -> bool:
    """Check that no other bit of CFSR tells of a fault.

    :param registers: By their lower-case names; without ``cfsr`` no bit is set.
    :param field: Its name.
    """
    # MMARVALID and BFARVALID tell of addresses.
    return _field(registers, field) and bin(registers.get("cfsr", 0) & ~0x8080).count("1") == 1


def _field(registers: Mapping[str, int], field: str) -> bool:
    # Pages of registers take a while to import, and most sessions need none of them.
    from gdb_etm.registers.cortex_m import CFSR

    return bool(CFSR.get(registers.get("cfsr", 0), field))
