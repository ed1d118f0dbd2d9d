"""The accesses of a Cortex-A's instruction, for its watchpoints."""

from __future__ import annotations

from typing import Any, List, NamedTuple

from unicorn import unicorn_const as const

from gdb_etm.board.hooks import ACCESSES, Hooks

WATCHPOINTS = 4


class WatchedAccess(NamedTuple):
    """One access."""

    is_store: bool
    address: int
    size: int


class AccessNotes(Hooks):
    """Notes the accesses of a run, while that is wanted.

    :param uc: Unicorn.
    """

    def __init__(self, uc: Any) -> None:
        super().__init__(uc, ACCESSES, self._on_access)
        self.found: List[WatchedAccess] = []

    def _on_access(self, _uc: Any, kind: int, address: int, size: int, _value: int, _data: Any) -> None:
        self.found.append(WatchedAccess(kind == const.UC_MEM_WRITE, address, size))
