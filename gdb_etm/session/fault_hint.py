"""The line that a halt within a fault's handler has."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional

from gdb_etm.diagnosis.causes import FAULTS
from gdb_etm.program.modes import status_name
from gdb_etm.protocols.profile import LOCKUP_ADDRESSES
from gdb_etm.session.anchor import Anchor

# The setting that turns it off.
FAULT_HINT = "fault-hint"

_IPSR = 0x1FF
# What an A-profile core handles in the mode that has a status register of that name (DDI 0406C, B1.3.1).
_ABORTS = {"spsr_abt": "Abort mode (a prefetch or data abort)", "spsr_und": "Undefined mode (an undefined instruction)"}


def fault_of(registers: Mapping[str, int]) -> Optional[int]:
    """Give the number of the fault that a halted core handles.

    :param registers: Of a core of M-profile, which alone has an xpsr; that tells it.
    :returns: None outside of all handlers, and in another one.
    """
    number = registers.get("xpsr", 0) & _IPSR
    return number if number in FAULTS else None


def hint_lines(halt: Optional[Anchor], settings: Mapping[str, str]) -> Iterator[str]:
    """Give the line for a halt at a fault, or in lockup.

    :param halt: The core; its registers hold the fault status, if it has any.
    :returns: Nothing outside of a fault's handler.
    """
    if halt is None or settings.get(FAULT_HINT) == "off":
        return
    abort = _ABORTS.get(status_name(halt.registers.get("cpsr", 0)) or "")
    if abort is not None:
        yield 'etm: %s. "etm fault" says why' % abort
    exception = fault_of(halt.registers)
    if exception is not None or "xpsr" in halt.registers and halt.pc in LOCKUP_ADDRESSES:
        # Importing pages of registers takes a while, and most halts need none.
        from gdb_etm.diagnosis.status import fault_status

        yield 'etm: %s. "etm fault" says why' % fault_status(halt.registers, exception).brief
