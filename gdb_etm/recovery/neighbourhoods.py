"""Neighbourhoods: instructions around a place, worked out alone.

They give the first answer about a place that many instructions separate from the end.  What they know is true; what
follows from farther away is missing.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Protocol, Tuple

from gdb_etm.protocols.garbage import collect_suspended
from gdb_etm.recovery.border import Border
from gdb_etm.recovery.pieces import Piece, Pieces
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Step, Tier, Value

# Instructions on each side of the place: for the first answer, then for a better one.
REACHES = (1_000, 5_000)
# Neighbourhoods that are kept; one takes up to 10 MB.
_KEPT = 4

# Works a piece out alone; the border is where the next newer one begins, None where nothing is known.
WorkAlone = Callable[[Piece, Optional[Border], Pieces], Queries]


class Answers(Protocol):
    """Gives values of the past."""

    @property
    def rules(self) -> Rules:
        """What they may rest on."""

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction."""

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each."""

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first."""


class Neighbourhood:
    """The :class:`Answers` about some instructions, worked out alone.

    :param queries: On them.
    :param is_open: Whether more is to be known before the first, and after the last.
    """

    def __init__(self, queries: Queries, is_open: Tuple[bool, bool]) -> None:
        self._queries = queries
        self._is_open = is_open
        self.first = queries.solution.first
        self.last = queries.solution.last

    @property
    def rules(self) -> Rules:
        """What the values may rest on."""
        return self._queries.solution.rules

    def is_around(self, number: int, reach: int) -> bool:
        """Check whether at least so many instructions lie on both sides.

        Fewer do where nothing more is to be known.
        """
        begins = self.first + (reach if self._is_open[0] else 0)
        return begins <= number <= self.last + 1 - (reach if self._is_open[1] else 0)

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction."""
        return self._queries.register(number, name) if self.is_around(number, 0) else _OUTSIDE

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each."""
        return self._queries.memory(number, address, size) if self.is_around(number, 0) else (_OUTSIDE,) * size

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first."""
        return self._queries.why(number, name) if self.is_around(number, 0) else []

    def release(self) -> bool:
        """Let go of what was worked out; nothing more can be asked.

        :returns: Whether all of it is gone.
        """
        return self._queries.release()


class Neighbourhoods:
    """The newest neighbourhoods of a history.

    :param work: Works one out.
    """

    def __init__(self, work: WorkAlone) -> None:
        self._work = work
        # The one that was made last comes last.
        self._kept: List[Neighbourhood] = []

    def find(self, number: int, reach: int) -> Optional[Neighbourhood]:
        """Find the largest one that was made around an instruction.

        :param reach: How many instructions there are to be at least on both sides.
        """
        found = [one for one in self._kept if one.is_around(number, reach)]
        return max(found, key=lambda one: one.last - one.first, default=None)

    def make(self, pieces: Pieces, number: int, reach: int) -> Neighbourhood:
        """Work one out.

        :param pieces: Of the instruction's segment.
        :param reach: How many instructions there are to be on both sides.
        """
        piece, border = pieces.around(number, reach)
        segment = pieces.segment
        is_open = piece.first > segment.first, border is None and piece.last < segment.last
        made = Neighbourhood(self._work(piece, border, pieces), is_open)
        is_gone = all([old.release() for old in self._kept[: 1 - _KEPT]])
        self._kept = [*self._kept[1 - _KEPT :], made]
        if not is_gone:
            collect_suspended()
        return made


_OUTSIDE = Value(None, Tier.UNKNOWN, "outside of what was worked out")
