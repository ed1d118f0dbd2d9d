"""Pieces of a segment, worked out on demand, the newest first.

A whole long history would take minutes and gigabytes.  So the newest instructions are worked out first, and older ones
from what is known then of the moment where the newer ones begin.  Each piece begins a little before what it is asked
about: there it has to find out what there is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.garbage import collect_suspended
from gdb_etm.recovery.border import Border
from gdb_etm.recovery.distrust import Distrust
from gdb_etm.recovery.handover import border_of
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.segments import SsaSegment
from gdb_etm.recovery.values import Finding

# Pieces that are kept; one takes 50 MB, and can be worked out again.
_KEPT: Final = 4
# This part of a piece comes before what it is asked about.
_LEAD: Final = 16


class Piece(NamedTuple):
    """Part of a segment, by numbers of instructions."""

    # The first that is worked on.
    first: int
    # The first that is asked about.
    since: int
    last: int


# Works a piece out; the border is where the next newer one begins, None at the end of the segment.
Work = Callable[[Piece, Optional[Border]], Queries]


class Pieces:
    """The pieces of one segment.

    :param history: The executed instructions.
    :param segment: The segment that is cut into pieces.
    :param rules: Say how many are worked out at once, and at most.
    :param work: Works a piece out.
    """

    def __init__(self, history: ExecutionHistory, segment: SsaSegment, rules: Rules, work: Work) -> None:
        self._history = history
        self._work = work
        self._size = rules.window
        self.segment = segment
        most = segment.last - segment.first + 1 if rules.most is None else rules.most
        # The first instruction that may be asked about.
        self.first = self._begin(segment.last - most + 1, segment.last)
        # What the user should know of the pieces that were worked out.
        self.findings: Dict[int, Tuple[Finding, ...]] = {}
        # Newest first.
        self._cut: List[Piece] = []
        # Where each of them ends.
        self._borders: List[Optional[Border]] = [None]
        self._kept: "OrderedDict[int, Queries]" = OrderedDict()

    def index(self, number: int) -> int:
        """Give the index of an instruction's piece, from 0 for the newest."""
        while not self._cut or number < self._cut[-1].since:
            last = self._cut[-1].since - 1 if self._cut else self.segment.last
            self._cut.append(self._piece(last))
        return next(index for index, piece in enumerate(self._cut) if piece.since <= number)

    def piece(self, index: int) -> Piece:
        """Give a piece by its index."""
        return self._cut[index]

    def pending(self, number: int) -> List[Piece]:
        """List the pieces to work out before an instruction's, newest first."""
        index = self.index(number)
        done = len(self._borders) - 1
        # Of what was worked out and is not kept its own piece alone.
        return [self._cut[at] for at in range(min(index, done), index + 1) if at not in self._kept]

    @property
    def since(self) -> Optional[int]:
        """The first instruction of the pieces that were worked out, if any."""
        return self._cut[max(self.findings)].since if self.findings else None

    @property
    def distrust(self) -> Distrust:
        """What the pieces that were worked out have found not to hold."""
        border = self._borders[-1]
        return Distrust() if border is None else border.distrust

    def around(self, number: int, reach: int) -> Tuple[Piece, Optional[Border]]:
        """Give a piece around an instruction, beside those that are cut.

        :param reach: How many instructions there are to be on both sides, unless less is left.
        :returns: It, and what is known where it ends, if that is where a newer piece begins.
        """
        last, border = self.segment.last, None
        index = self.index(number) if number >= self.first else len(self._borders) + 1
        if index == len(self._borders) and index - 1 in self._kept:
            self._add_border()
        if index < len(self._borders):
            last, border = self._cut[index].last, self._borders[index]
        if number + reach < last:
            last, border = self._begin(number + reach, last) - 1, None
        first = self._begin(number - reach, min(number, last))
        return Piece(first, first, last), border

    def queries(self, index: int) -> Queries:
        """Work out a piece, and the newer ones where that is due."""
        while len(self._borders) <= index:
            self._add_border()
        return self._solved(index)

    def _add_border(self) -> None:
        at = len(self._borders) - 1
        self._borders.append(border_of(self._solved(at), self._cut[at].since))

    def _solved(self, index: int) -> Queries:
        if index not in self._kept:
            queries = self._work(self._cut[index], self._borders[index])
            self.findings[index] = tuple(queries.solution.findings)
            self._kept[index] = queries
            if len(self._kept) > _KEPT:
                if not self._kept.popitem(last=False)[1].release():
                    collect_suspended()
        self._kept.move_to_end(index)
        return self._kept[index]

    def _piece(self, last: int) -> Piece:
        first = self._begin(last - self._size + 1, last)
        lead = self._size // _LEAD
        if first <= self.first + lead:
            return Piece(self.first, self.first, last)
        return Piece(first, self._begin(first + lead, last) if lead else first, last)

    def _begin(self, number: int, last: int) -> int:
        # Where a piece may begin: with a range, so that it is in no IT block.
        if number <= self.segment.first:
            return self.segment.first
        for item in self._history.spans(number, last):
            if isinstance(item, Span) and item.number > number:
                return item.number
        return number
