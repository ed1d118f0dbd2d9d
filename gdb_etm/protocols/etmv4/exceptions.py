"""Exception types by name.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.5,
the tables of exception TYPE values for each profile.
"""

from __future__ import annotations

from typing import Dict, Final, Optional, Tuple

from gdb_etm.protocols.elements import DEBUG_HALT

# M-profile: the core pushes floating-point state and then continues where it was.
LAZY_FP_PUSH: Final = 0x19

_A_PROFILE: Final[Dict[int, str]] = {
    0x00: "PE reset",
    0x01: DEBUG_HALT,
    0x02: "Call",
    0x03: "Trap",
    0x04: "System error",
    0x06: "Inst debug",
    0x07: "Data debug",
    0x0A: "Alignment",
    0x0B: "Inst fault",
    0x0C: "Data fault",
    0x0E: "IRQ",
    0x0F: "FIQ",
}

# M-profile types are not the architectural exception numbers; the second value is that number (IPSR).
_M_PROFILE: Final[Dict[int, Tuple[str, Optional[int]]]] = {
    0x01: ("PE reset", 1),
    0x02: ("NMI", 2),
    0x03: ("HardFault", 3),
    0x04: ("MemManage", 4),
    0x05: ("BusFault", 5),
    0x06: ("UsageFault", 6),
    0x07: ("SecureFault", 7),
    0x0B: ("SVCall", 11),
    0x0C: ("DebugMonitor", 12),
    0x0E: ("PendSV", 14),
    0x0F: ("SysTick", 15),
    0x18: (DEBUG_HALT, None),
    0x19: ("Lazy FP push", None),
    0x1A: ("Lockup", None),
}

_A_IMPLEMENTATION_DEFINED: Final = range(0x10, 0x18)
_M_IMPLEMENTATION_DEFINED: Final = range(0x20, 0x30)


def may_go_on(number: int, m_profile: bool) -> bool:
    """Return whether execution may continue without an Address (5.2.7, 5.2.9).

    :param number: TYPE from the packet, 0 to 0x3FF.
    """
    if m_profile:
        return number == LAZY_FP_PUSH or number in _M_IMPLEMENTATION_DEFINED
    return number in _A_IMPLEMENTATION_DEFINED


def exception_name(number: int, m_profile: bool) -> Tuple[str, Optional[int]]:
    """Name an exception type.

    :param number: TYPE from the packet, 0 to 0x3FF.
    :param m_profile: Which profile's table applies.
    :returns: The name, and on M-profile the architectural exception number when it has one.
    """
    if not m_profile:
        return _A_PROFILE.get(number, "exception type 0x%02x" % number), None
    if 0x10 <= number <= 0x17:
        return "IRQ%d" % (number - 0x10), number
    if 0x208 <= number <= 0x3EF:
        return "IRQ%d" % (number - 0x200), number - 0x200 + 16
    return _M_PROFILE.get(number, ("exception type 0x%02x" % number, None))


def reset(m_profile: bool) -> int:
    """Give the type of a PE reset (5.2.7)."""
    return 0x01 if m_profile else 0x00
