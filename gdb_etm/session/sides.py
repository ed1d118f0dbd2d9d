"""One of two executions that are compared."""

from __future__ import annotations

from typing import NamedTuple

from gdb_etm.session.decoded import Decoded
from gdb_etm.session.session import DebugSession


class Side(NamedTuple):
    """One of two executions."""

    # What the user calls it.
    name: str
    session: DebugSession
    decoded: Decoded
    # Numbers of the first and the last instruction that count.
    first: int
    last: int
