"""Unicorn's hooks for single runs: they slow every run down."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

from unicorn import arm_const
from unicorn import unicorn_const as const

INSTRUCTIONS = (const.UC_HOOK_CODE,)
ACCESSES = (const.UC_HOOK_MEM_READ, const.UC_HOOK_MEM_WRITE)

_IT_BITS = 0x0600FC00


class Hooks:
    """Hooks that come and go between runs.

    :param uc: Unicorn.
    :param kinds: :data:`INSTRUCTIONS` or :data:`ACCESSES`.
    :param call: What they call.
    """

    def __init__(self, uc: Any, kinds: Tuple[int, ...], call: Callable[..., None]) -> None:
        self._uc = uc
        self._kinds = kinds
        self._call = call
        self._hooks: List[Any] = []
        # Whether they are to be there from the next run on.
        self.wanted = False

    def begin(self) -> bool:
        """Begin a run; return whether translated code became useless."""
        if self.wanted == bool(self._hooks):
            return False
        for hook in self._hooks:
            self._uc.hook_del(hook)
        self._hooks = [self._uc.hook_add(kind, self._call) for kind in self._kinds] if self.wanted else []
        return True


def end_it(uc: Any) -> None:
    """Clear the IT state that a hook on accesses leaves.

    What comes after the block would be conditional.
    """
    xpsr = int(uc.reg_read(arm_const.UC_ARM_REG_XPSR))
    if xpsr & _IT_BITS:
        uc.reg_write(arm_const.UC_ARM_REG_XPSR_NZCVQG, xpsr & ~_IT_BITS)
