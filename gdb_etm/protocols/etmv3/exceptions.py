"""Exceptions by name: ARMv7-M's, and those of the old encoding.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.3.5; Cortex-M3 Technical
Reference Manual (DDI 0337G), table 14-8.
"""

from __future__ import annotations

from typing import Dict, Final, Optional, Tuple

from gdb_etm.protocols.armv7 import exceptions

# Today's exception type for each that a fifth address byte with bit 7 set can hold; 2 and 3 are reserved.
LEGACY: Final = (8, 14, 6, 7, 5, 15, 4, 1)

# Types are not the architectural exception numbers; the second value is that number (IPSR).
_M_PROFILE: Final[Dict[int, Tuple[str, Optional[int]]]] = {
    9: ("UsageFault", 6),
    10: ("NMI", 2),
    11: ("SVCall", 11),
    12: ("DebugMonitor", 12),
    13: ("MemManage", 4),
    14: ("PendSV", 14),
    15: ("SysTick", 15),
    17: ("Reset", 1),
    19: ("HardFault", 3),
    21: ("BusFault", 5),
}


def exception_name(number: int, m_profile: bool) -> Tuple[str, Optional[int]]:
    """Name an exception type.

    :param number: From the packet, 1 to 0x1FF.
    :param m_profile: Which profile's table applies.
    :returns: The name, and on M-profile the architectural exception number when it has one.
    """
    if not m_profile:
        return exceptions.exception_name(number), None
    interrupt = None
    if 1 <= number <= 8:
        interrupt = number & 7  # 8 stands for IRQ0
    elif number >= 24:
        interrupt = number - 16
    if interrupt is not None:
        return "IRQ%d" % interrupt, 16 + interrupt
    return _M_PROFILE.get(number, ("exception type 0x%02x" % number, None))
