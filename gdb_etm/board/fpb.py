"""The Flash Patch and Breakpoint unit.

Instruction address comparators (DDI 0553, B13; DDI 0403E, C1.11).

Version 2 compares any address, version 1 words of code below 0x20000000 and which of their halfwords.  Patching is left
out, and so are the literal comparators of version 1.
"""

from __future__ import annotations

from typing import Callable, List, Mapping, Sequence

_FP_CTRL = 0x000
_FP_COMP0 = 0x008
_KEY = 1 << 1
_ENABLE = 1 << 0
_REVISION_2 = 1 << 28
_CODE = 0x1FFFFFFC


class Fpb:
    """The breakpoint unit.

    :param changed: Takes the addresses at which to stop.
    :param identity: Its identification registers by offset.
    :param version: 1 or 2.
    :param comparators: How many it has.
    """

    base = 0xE0002000
    size = 0x1000

    def __init__(
        self, changed: Callable[[Sequence[int]], None], identity: Mapping[int, int], version: int, comparators: int
    ) -> None:
        self._changed = changed
        self._version = version
        self._enabled = False
        self._comparators: List[int] = [0] * comparators
        self._identity = identity

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _FP_CTRL:
            return (_REVISION_2 if self._version == 2 else 0) | len(self._comparators) << 4 | self._enabled
        if _FP_COMP0 <= offset < _FP_COMP0 + 4 * len(self._comparators):
            return self._comparators[(offset - _FP_COMP0) // 4]
        return self._identity.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if offset == _FP_CTRL and value & _KEY:
            self._enabled = bool(value & _ENABLE)
        elif _FP_COMP0 <= offset < _FP_COMP0 + 4 * len(self._comparators):
            self._comparators[(offset - _FP_COMP0) // 4] = value
        else:
            return
        self._changed(self._addresses())

    def _addresses(self) -> List[int]:
        enabled = [value for value in self._comparators if self._enabled and value & _ENABLE]
        if self._version == 2:
            return [value & ~1 for value in enabled]
        # Bits 31:30 say which halfwords of the word: 1 the lower, 2 the upper, 3 both.
        halves = [(value & _CODE, value >> 30) for value in enabled]
        return [word + 2 * upper for word, which in halves for upper in (0, 1) if which >> upper & 1]
