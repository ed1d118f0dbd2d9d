"""Unicorn's hook on every instruction, on demand: it slows every run down."""

from __future__ import annotations

from typing import Any

from unicorn import unicorn_const as const


class InstructionWatch:
    """Watches the instructions of a run, if that is wanted when it begins.

    :param uc: Unicorn.
    """

    def __init__(self, uc: Any) -> None:
        self._uc = uc
        self._hook: Any = None
        self.wanted = False
        """Whether to watch from the next run on."""

    def begin(self) -> bool:
        """Begin a run; return whether translated code is of no use any more, for it knows whether it is watched."""
        if self.wanted == (self._hook is not None):
            return False
        if self._hook is not None:
            self._uc.hook_del(self._hook)
            self._hook = None
        else:
            self._hook = self._uc.hook_add(const.UC_HOOK_CODE, self._on_instruction)
        return True

    def _on_instruction(self, uc: Any, address: int, size: int, data: Any) -> None:
        raise NotImplementedError
