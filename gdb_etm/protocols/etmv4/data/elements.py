"""Elements of a data stream.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 5.4.  Offsets are byte
offsets in the capture's buffer of the packet that an element comes from.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

from gdb_etm.protocols.elements import Gap, TraceEvent
from gdb_etm.protocols.etmv4.log import Marker, Time


class P1(NamedTuple):
    """A data transfer, with its address where that was traced."""

    offset: int
    # Key of the P0 element that it belongs to.
    left: int
    # Key that its P2 element will name.
    right: int
    # Transfer index: which transfer of the instruction or exception it is (F.2.1).
    transfer: int
    address: Optional[int]
    # None where the address is.
    big_endian: Optional[bool]


class P2(NamedTuple):
    """The value of a data transfer."""

    offset: int
    # Right key of the P1 element that it belongs to.
    key: int
    # As in the register; its size follows from the instruction.
    value: int


class Suppression(NamedTuple):
    """Transfers are left out from here on, to prevent an overflow."""

    offset: int


# An Overflow and a Discard are gaps, as bytes that cannot be read are.
DataElement = Union[P1, P2, Marker, Time, TraceEvent, Suppression, Gap]
