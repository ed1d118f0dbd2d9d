"""The base of grounds: why a store is assumed to miss."""

from __future__ import annotations


class Ground:
    """Why stores are assumed to miss.

    :param kind: The kind of the constraint that a link is for this reason.
    """

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def misses(self, number: int, byte: int) -> bool:
        """Check whether a store misses a byte for this reason.

        :param number: Of the access.
        """
        raise NotImplementedError
