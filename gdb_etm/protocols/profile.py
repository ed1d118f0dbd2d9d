"""Registers and architecture profile that a capture's source states."""

from __future__ import annotations

import re
from typing import Final, Mapping, Optional, Sequence

from gdb_etm.capture import Core, TraceSource
from gdb_etm.errors import CaptureError

# A product's name or an architecture's: Cortex-M33, STAR-MC1, ARMv7-M, ARMv7E-M, ARMv8.1-M.Main.
_M_PROFILE: Final = re.compile(r"cortex-m|^star-mc|^armv[678](\.\d)?e?-m")
# What the PC of Armv8-M and of Armv7-M shows in lockup (Armv8-M ARM, B3.33; Armv7-M ARM, B1.5.15).
LOCKUP_ADDRESSES: Final = (0xEFFFFFFE, 0xFFFFFFFE)
# No instruction can lie there.
_NO_EXECUTION_FROM: Final = 0xFFFFFFF0


def needed_registers(source: TraceSource, names: Sequence[str]) -> Mapping[str, int]:
    """Give a source's registers, among them all that decoding needs.

    :raises CaptureError: When one of the names is missing.
    """
    missing = [name for name in names if name not in source.registers]
    if missing:
        words = "register %s is" if len(missing) == 1 else "registers %s are"
        raise CaptureError(("%s: " + words + " missing, which decoding needs") % (source.name, ", ".join(missing)))
    return source.registers


def is_m_profile(core: Optional[Core]) -> bool:
    """Return whether a core is known to be of M-profile."""
    return core is not None and bool(_M_PROFILE.search(core.type.lower()))


def nothing_ran(return_address: int) -> bool:
    """Return whether an M-profile return address means that nothing ran."""
    return return_address >= _NO_EXECUTION_FROM or return_address in LOCKUP_ADDRESSES
