"""Which architecture profile a core has; no trace register says so."""

from __future__ import annotations

import re
from typing import Optional

from gdb_etm.capture import Core

# A product's name or an architecture's: Cortex-M33, STAR-MC1, ARMv7-M, ARMv7E-M, ARMv8.1-M.Main.
_M_PROFILE = re.compile(r"cortex-m|^star-mc|^armv[678](\.\d)?e?-m")
# What the PC of Armv8-M and of Armv7-M shows in lockup (Armv8-M ARM, B3.33; Armv7-M ARM, B1.5.15).
LOCKUP_ADDRESSES = (0xEFFFFFFE, 0xFFFFFFFE)
# No instruction can lie there.
_NO_EXECUTION_FROM = 0xFFFFFFF0


def is_m_profile(core: Optional[Core]) -> bool:
    """Tell whether a core has the M-profile exception model; False for one that is not known."""
    return core is not None and bool(_M_PROFILE.search(core.type.lower()))


def nothing_ran(return_address: int) -> bool:
    """Tell whether an M-profile return address says that nothing ran before the exception (IHI 0064, 5.2.7)."""
    return return_address >= _NO_EXECUTION_FROM or return_address in LOCKUP_ADDRESSES
