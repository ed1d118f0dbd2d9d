"""Values with which an instruction could not go on."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from gdb_etm.recovery.makers import Place

NO_MEMORY = "no memory is there"
NOT_WRITABLE = "not writable"
FAR_AWAY = "far beyond all memory that was used before"


class Bad(NamedTuple):
    """A value with which an instruction could not go on."""

    # In words, such as ``"the load's address"``.
    what: str
    value: Optional[int]
    # What is wrong with it; empty where that is not known.
    why: str
    # Where it is, and what it is made from: the most implausible first.
    places: Tuple[Place, ...]
    # "load" or "store"; empty of what is no access's address.
    access: str = ""
    # What it should have been a multiple of; 0 where that is not what is wrong.
    unit: int = 0
