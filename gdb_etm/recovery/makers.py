"""Places of values, and what puts a value there."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Tuple, Union

from gdb_etm.recovery.values import Tier


class RegisterPlace(NamedTuple):
    """A register before an instruction."""

    number: int
    # Lower-case.
    name: str


class MemoryPlace(NamedTuple):
    """Bytes of memory before an instruction."""

    number: int
    address: int
    # In bytes.
    size: int


Place = Union[RegisterPlace, MemoryPlace]


class MakerKind(Enum):
    """What put a value into its place."""

    # An instruction computed it from registers, or loads and registers.
    COMPUTED = "computed"
    # An instruction copied a register.
    COPIED = "copied"
    # An instruction loaded it.
    LOADED = "loaded"
    # It stands in the program.
    CONSTANT = "constant"
    # An instruction stored it.
    STORED = "stored"
    # An exception pushed it.
    PUSHED = "pushed"
    # An instruction has set it if its condition held, which is not known; the first source is the register before.
    SELECTED = "selected"
    # Several stores made its bytes.
    MERGED = "merged"
    # A call or handler has kept it, or a thread switch.
    KEPT = "kept"
    # Nobody wrote it since an instruction that is the first that is known.
    BEFORE = "before"
    # A store whose address, or whose condition, is not known may have made it.
    HIDDEN = "hidden"
    # A device, or memory that others write.
    DEVICE = "device"
    # An exception, or an instruction without a model.
    OUTSIDE = "outside"


class Maker(NamedTuple):
    """What put a value into its place."""

    kind: MakerKind
    # The instruction's; of what an exception pushed that of the instruction before; of BEFORE the first that is known.
    number: int
    # What it was made from.
    sources: Tuple[Place, ...] = ()
    # What the address was made from that the instruction accessed.
    address: Tuple[RegisterPlace, ...] = ()
    # The accessed bytes, if their address is known.
    accessed: Optional[MemoryPlace] = None
    # The worst that this step rests on.
    tier: Tier = Tier.EXACT


class KnownAccess(NamedTuple):
    """A load or store that ran."""

    store: bool
    # None where it is not known.
    address: Optional[int]
    # In bytes.
    size: int
    # What the address rests on.
    tier: Tier
