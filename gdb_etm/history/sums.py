"""Running sums of the instructions of a history's entries.

Every so many entries one is stored; those between are added up when somebody asks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import accumulate, islice
from typing import Optional, Sequence, Tuple

from gdb_etm.protocols.recorder import Run

# Entries from one stored sum to the next.
_SPACING = 64


class EntrySums:
    """How many instructions ran before each entry, and in all.

    :param order: Numbers of the runs in execution order: the entries.
    :param runs: All runs by number.
    :param known: The sums of the same entries when there were fewer.
    """

    def __init__(self, order: Sequence[int], runs: Sequence[Run], known: Optional[EntrySums] = None) -> None:
        self._order = order
        self._runs = runs
        self._known = known
        self._sums: Optional[array[int]] = None
        # The entry that was looked at last, and what ran before it: the next question is often about one soon after.
        self._last = (0, 0)

    @property
    def instructions(self) -> int:
        """Number of instructions in all entries."""
        return self._stored()[-1]

    def before(self, entry: int) -> int:
        """Count the instructions before an entry."""
        last, ran = self._last
        if not 0 <= entry - last < _SPACING:
            last = entry // _SPACING * _SPACING
            ran = self._stored()[entry // _SPACING]
        ran += sum([self._runs[number].instructions for number in self._order[last:entry]])
        self._last = entry, ran
        return ran

    def find(self, number: int) -> Tuple[int, int]:
        """Find an instruction's entry, and the first instruction of that entry.

        :param number: Of the instruction, 1 up to :attr:`instructions`.
        """
        sums = self._stored()
        block = min(bisect_left(sums, number) - 1, len(self._order) // _SPACING)
        entry, before = block * _SPACING, sums[block]
        while entry < len(self._order):
            after = before + self._runs[self._order[entry]].instructions
            if after >= number:
                break
            entry, before = entry + 1, after
        return entry, before + 1

    def _stored(self) -> array[int]:
        # Before the first entry of every block, and in all.
        if self._sums is None:
            found = self._known.blocks() if self._known is not None else array("Q", [0])
            new = self._order[(len(found) - 1) * _SPACING :]
            # Where most is new, all runs are looked up beforehand.
            lengths = [run.instructions for run in self._runs] if len(new) > len(self._runs) else None
            counts = [self._runs[at].instructions for at in new] if lengths is None else map(lengths.__getitem__, new)
            sums = list(accumulate(counts, initial=found[-1]))
            found.extend(islice(sums, _SPACING, None, _SPACING))
            found.append(sums[-1])
            # Whole at once: other threads may ask, too.
            self._sums, self._known = found, None
        return self._sums

    def blocks(self) -> array[int]:
        """Give the sums before the whole blocks, of which more may follow."""
        return self._stored()[:-1]
