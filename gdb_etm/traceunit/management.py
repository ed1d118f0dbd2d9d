"""The registers by which any trace unit is powered, unlocked and claimed.

They are where CoreSight has them, or where all architectures have them, and mean the same; each architecture has names
of its own for them and for their fields.  IHI 0014Q, 3.5; IHI 0035B, 3.16; IHI 0064, 7.3.
"""

from __future__ import annotations

from typing import FrozenSet, NamedTuple, Tuple

from gdb_etm.registers.page import Register


class Management(NamedTuple):
    """An architecture's own registers and fields."""

    power_control: Register
    power_request: str
    """The field of ``power_control`` that asks for power."""
    power_status: Register
    """Reading it clears ``power_loss``."""
    power: str
    """The field of ``power_status`` that tells of power."""
    power_loss: str
    """The field of ``power_status`` that tells of a loss of power."""
    lock_access: Register
    """The OS Lock, which 0 opens."""
    lock_key: int
    """What closes it."""
    lock_status: Register
    locked: str
    """The field of ``lock_status`` that tells whether it is closed."""
    lock_models: Tuple[str, ...]
    """The fields of ``lock_status`` that are all 0 where there is no OS Lock."""
    integration: Register
    claim_set: Register
    claim_clear: Register
    authentication: Register
    held_by: FrozenSet[str]
    """Names of the registers by which a session holds a unit."""
