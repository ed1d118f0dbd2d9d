"""Loads and stores that the core refuses though the bus would make them: unaligned ones that trap, protected memory.

Hooks see each access before it is made, on demand, for they slow every run down.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.stops import Stop

Refusal = Callable[[int, int, bool], Optional[Stop]]
"""Tells by address, size and whether it is a store why an access is refused; None when it is not."""

_IT_BITS = 0x0600FC00


class AccessGuard:
    """Stops a run at the first access that is refused.

    :param uc: Unicorn.
    :param stop: Called with the reason and the address.
    """

    def __init__(self, uc: Any, stop: Callable[[Stop, int], None]) -> None:
        self._uc = uc
        self._stop = stop
        self._hooks: List[Any] = []
        self.refusal: Refusal = lambda address, size, store: None
        self.wanted = False
        """Whether to look from the next run on."""

    def begin(self) -> bool:
        """Begin a run; return whether translated code is of no use any more, for it knows whether it is looked at."""
        if self.wanted == bool(self._hooks):
            return False
        for hook in self._hooks:
            self._uc.hook_del(hook)
        kinds = (const.UC_HOOK_MEM_READ, const.UC_HOOK_MEM_WRITE) if self.wanted else ()
        self._hooks = [self._uc.hook_add(kind, self._on_access) for kind in kinds]
        return True

    def _on_access(self, uc: Any, kind: int, address: int, size: int, value: int, _data: Any) -> None:
        found = self.refusal(address, size, kind == const.UC_MEM_WRITE)
        if found is not None:
            self._stop(found, address)
        # The hook leaves IT state behind, and what comes after the IT block would run as if conditional.
        xpsr = int(uc.reg_read(arm_const.UC_ARM_REG_XPSR))
        if xpsr & _IT_BITS:
            uc.reg_write(arm_const.UC_ARM_REG_XPSR_NZCVQG, xpsr & ~_IT_BITS)
