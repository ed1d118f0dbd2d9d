"""Which architecture profile a core has; no trace register says so."""

from __future__ import annotations

import re
from typing import Optional

from gdb_etm.capture import Core

# A product's name or an architecture's: Cortex-M33, STAR-MC1, ARMv7-M, ARMv7E-M, ARMv8.1-M.Main.
_M_PROFILE = re.compile(r"cortex-m|^star-mc|^armv[678](\.\d)?e?-m")


def is_m_profile(core: Optional[Core]) -> bool:
    """Tell whether a core has the M-profile exception model; False for one that is not known."""
    return core is not None and bool(_M_PROFILE.search(core.type.lower()))
