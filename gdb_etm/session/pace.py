"""How long until the trace buffer is nearly full."""

from __future__ import annotations

# What part of the buffer a piece is to fill, and may fill at first.
_AIM = 0.75
# The most that a piece grows by, and what is left of it when the buffer wrapped.
_GROWTH, _CUT = 2.0, 0.25
# How much of a higher rate is remembered from piece to piece.
_MEMORY = 0.9


class Pace:
    """The length of the next piece, by those before.

    :param first: Length of the first piece, in whatever unit.
    :param size: Of the buffer, in bytes.
    """

    def __init__(self, first: float, size: int) -> None:
        self.next = first
        self._size = size
        # Bytes in a unit of length: of the fastest piece, which is forgotten little by little.
        self._rate = 0.0

    def observe(self, length: float, size: int, is_wrapped: bool) -> None:
        """Note how much trace a piece made.

        :param length: How long it was.
        :param size: Bytes of its trace.
        :param is_wrapped: Whether there was more.
        """
        if is_wrapped:
            self._rate = 0.0
            self.next = min(self.next, length) * _CUT
        elif length > 0:
            self._rate = max(size / length, self._rate * _MEMORY)
            wanted = self._size * _AIM / self._rate if self._rate else self.next * _GROWTH
            self.next = min(wanted, self.next * _GROWTH)
