"""Modes of an A-profile core, and what their banked registers are called.

Ref: DDI 0406C, B1.3.1.  The names are those of OpenOCD's target description.
"""

from __future__ import annotations

from typing import Dict, Final, Mapping, Optional, Tuple

_MODE: Final = 0x1F
# System mode has the registers of User mode.
_NAMES: Final[Dict[int, str]] = {
    0x10: "usr",
    0x11: "fiq",
    0x12: "irq",
    0x13: "svc",
    0x16: "mon",
    0x17: "abt",
    0x1B: "und",
    0x1F: "usr",
}
# Those in which aborts and undefined instructions are handled.
_FAULTS: Final = (0x17, 0x1B)


def status_name(cpsr: int) -> Optional[str]:
    """Name the register with the status that a fault's handler found.

    :param cpsr: In the handler.
    :returns: Such as ``"spsr_abt"``; None outside of the modes for faults.
    """
    mode = cpsr & _MODE
    return "spsr_" + _NAMES[mode] if mode in _FAULTS else None


def banked_names(status: int) -> Optional[Tuple[str, str]]:
    """Name SP and LR of the code that had a status.

    :returns: Such as ``("sp_svc", "lr_svc")``; None of a mode that has none of its own.
    """
    name = _NAMES.get(status & _MODE)
    return None if name is None else ("sp_" + name, "lr_" + name)


def failed(registers: Mapping[str, int]) -> Optional[Tuple[int, int]]:
    """Give SP and LR of the code whose fault is handled.

    :param registers: Of the core at its handler, lower-case.
    :returns: None where they are not known, and outside of such a handler.
    """
    status = registers.get(status_name(registers.get("cpsr", 0)) or "")
    names = None if status is None else banked_names(status)
    if names is None or names[0] not in registers or names[1] not in registers:
        return None
    return registers[names[0]], registers[names[1]]
