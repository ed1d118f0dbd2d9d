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
    # The field of ``power_control`` that asks for power.
    power_request: str
    # Reading it clears ``power_loss``.
    power_status: Register
    # The field of ``power_status`` that shows power.
    power: str
    # The field of ``power_status`` that shows a loss of power.
    power_loss: str
    # The OS Lock, which 0 opens.
    lock_access: Register
    # What closes it.
    lock_key: int
    lock_status: Register
    # The field of ``lock_status`` that shows whether it is closed.
    locked: str
    # The fields of ``lock_status`` that are all 0 where there is no OS Lock.
    lock_models: Tuple[str, ...]
    integration: Register
    claim_set: Register
    claim_clear: Register
    authentication: Register
    # Names of the registers by which a session holds a unit.
    held_by: FrozenSet[str]
