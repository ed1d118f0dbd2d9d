"""Watching which instructions of IT blocks pass their condition, on demand: it slows every run down.

Unicorn's hook on instructions is silent for those whose condition fails.
"""

from __future__ import annotations

from typing import Any, Collection, FrozenSet, List, Sequence

from unicorn import unicorn_const as const

NONE_FAILED: Collection[int] = frozenset()


class ConditionWatch:
    """Collects the instructions of a run that do something.

    :param uc: Unicorn.
    """

    def __init__(self, uc: Any) -> None:
        self._uc = uc
        self._hook: Any = None
        self._passed: List[int] = []
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

    def clear(self) -> None:
        """Forget what was collected."""
        self._passed.clear()

    def failed(self, executed: Sequence[int]) -> FrozenSet[int]:
        """Return the indices of the executed instructions whose condition failed."""
        if self._hook is None:
            return frozenset()
        passed = self._passed
        found: List[int] = []
        at = 0
        for index, address in enumerate(executed):
            if at < len(passed) and passed[at] == address:
                at += 1
            else:
                found.append(index)
        return frozenset(found)

    def _on_instruction(self, _uc: Any, address: int, _size: int, _data: Any) -> None:
        self._passed.append(address)
