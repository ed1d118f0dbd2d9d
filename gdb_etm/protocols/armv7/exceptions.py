"""Exceptions of ARMv7-A and ARMv7-R processors by name.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.3.5; CoreSight Program
Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.4.
"""

from __future__ import annotations

from typing import Final

from gdb_etm.protocols.elements import DEBUG_HALT

_NAMES: Final = {
    1: DEBUG_HALT,
    2: "SMC",
    3: "Hyp",
    4: "Asynchronous data abort",
    5: "Jazelle or ThumbEE",
    8: "Reset",
    9: "Undefined Instruction",
    10: "SVC",
    11: "Prefetch abort",
    12: "Data abort",
    13: "Generic",
    14: "IRQ",
    15: "FIQ",
}


def exception_name(number: int) -> str:
    """Name an exception type, 1 to 0x1FF."""
    return _NAMES.get(number, "exception type 0x%02x" % number)
