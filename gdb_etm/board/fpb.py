"""The Flash Patch and Breakpoint unit, version 2: eight instruction address comparators (DDI 0553, B13)."""

from __future__ import annotations

from typing import Callable, List, Mapping, Sequence

_COMPARATORS = 8
_FP_CTRL = 0x000
_FP_COMP0 = 0x008
_KEY = 1 << 1
_ENABLE = 1 << 0
_REVISION_2 = 1 << 28


class Fpb:
    """The breakpoint unit.

    :param changed: Takes the addresses at which to stop.
    :param identity: Its identification registers by offset.
    """

    base = 0xE0002000
    size = 0x1000

    def __init__(self, changed: Callable[[Sequence[int]], None], identity: Mapping[int, int]) -> None:
        self._changed = changed
        self._enabled = False
        self._comparators: List[int] = [0] * _COMPARATORS
        self._identity = identity

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _FP_CTRL:
            return _REVISION_2 | _COMPARATORS << 4 | self._enabled
        if _FP_COMP0 <= offset < _FP_COMP0 + 4 * _COMPARATORS:
            return self._comparators[(offset - _FP_COMP0) // 4]
        return self._identity.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if offset == _FP_CTRL and value & _KEY:
            self._enabled = bool(value & _ENABLE)
        elif _FP_COMP0 <= offset < _FP_COMP0 + 4 * _COMPARATORS:
            self._comparators[(offset - _FP_COMP0) // 4] = value
        else:
            return
        self._changed(self._addresses())

    def _addresses(self) -> List[int]:
        if not self._enabled:
            return []
        return [value & ~1 for value in self._comparators if value & _ENABLE]
