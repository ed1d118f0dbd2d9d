"""Base of runs whose content is worked out when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Sequence, Tuple

from gdb_etm.protocols.recorder import Content, Foreseen, Leg, Run


class LazyRun(Run, ABC):
    """A run whose content is worked out when it is asked for.

    Its length and number of instructions are known.
    """

    __slots__ = ()

    @abstractmethod
    def content(self) -> Content:
        """Work out positions, legs and foreseen events."""

    @property
    def foreseen(self) -> Tuple[Foreseen, ...]:
        """Events between the legs, in order."""
        return tuple(self.content()[2])

    @property
    def positions(self) -> Sequence[int]:
        """Each leg's distance in bytes from the run's first byte."""
        return self.content()[0]

    @property
    def legs(self) -> Sequence[Leg]:
        """The ranges that its packets executed."""
        return self.content()[1]
