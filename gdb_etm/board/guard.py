"""Loads and stores that the core refuses though the bus would make them: unaligned ones that trap, protected memory.

Hooks see each access before it is made, on demand, for they slow every run down.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from unicorn import unicorn_const as const

from gdb_etm.board.hooks import ACCESSES, Hooks, end_it
from gdb_etm.board.stops import RunEnd

# Tells by address, size and whether it is a store why an access is refused; None when it is not.
Refusal = Callable[[int, int, bool], Optional[RunEnd]]


class AccessGuard(Hooks):
    """Stops a run at the first access that is refused.

    :param uc: Unicorn.
    :param stop: Called with the reason and the address.
    """

    def __init__(self, uc: Any, stop: Callable[[RunEnd, int], None]) -> None:
        super().__init__(uc, ACCESSES, self._on_access)
        self._stop = stop
        self.refusal: Refusal = lambda address, size, store: None

    def _on_access(self, uc: Any, kind: int, address: int, size: int, value: int, _data: Any) -> None:
        found = self.refusal(address, size, kind == const.UC_MEM_WRITE)
        if found is not None:
            self._stop(found, address)
        end_it(uc)
