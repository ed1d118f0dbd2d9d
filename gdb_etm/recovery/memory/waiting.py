"""Loads, and words at the end, that wait for other stores."""

from __future__ import annotations

from bisect import bisect_left
from typing import Collection, Dict, Final, FrozenSet, Iterator, Sequence, Set

_NOBODY: Final[FrozenSet[int]] = frozenset()


class WaitingBytes:
    """Loads, and ~word for the end, whose bytes are not linked yet."""

    def __init__(self) -> None:
        # By barrier.
        self._waiting: Dict[int, Set[int]] = {}
        # Which of their bytes may be those of several stores, a bit for each.
        self.hidden: Dict[int, int] = {}
        # From which access on these were weighed; those that are due are not there.
        self._weighed: Dict[int, int] = {}

    def copy(self) -> "WaitingBytes":
        """Copy it, to be changed on its own."""
        made = WaitingBytes()
        made._waiting = {barrier: set(waiting) for barrier, waiting in self._waiting.items()}
        made.hidden, made._weighed = dict(self.hidden), dict(self._weighed)
        return made

    def wait(self, barrier: int, what: int) -> None:
        """Let a load or word wait for a barrier."""
        self._waiting.setdefault(barrier, set()).add(what)

    def barriers(self) -> Collection[int]:
        """Give the barriers that anything waits for."""
        return self._waiting.keys()

    def take(self, barrier: int) -> Collection[int]:
        """Give what waits for a barrier, and forget that it does."""
        return self._waiting.pop(barrier, _NOBODY)

    def hide(self, what: int, bytes_: int) -> None:
        """Note which bytes may be those of several stores."""
        if bytes_ != self.hidden.get(what, 0):
            self.has_news(what)
        if bytes_:
            self.hidden[what] = bytes_
        else:
            self.hidden.pop(what, None)

    def has_news(self, what: int) -> None:
        """Let a load's or word's bytes be weighed again."""
        self._weighed.pop(what, None)

    def weighed(self, what: int, since: int) -> None:
        """Note that bytes were weighed.

        :param since: The oldest access that had a part in it.
        """
        self._weighed[what] = since

    def due(self, told: Collection[int], changed: Sequence[int], last: int) -> Iterator[int]:
        """Give what to weigh: what is new, or has changes in between.

        :param told: Loads whose data have changed.
        :param changed: Stores of which more is known, oldest first.
        :param last: How many accesses there are.
        """
        for what in sorted(self.hidden):
            since = self._weighed.get(what)
            if since is not None and what not in told:
                at = bisect_left(changed, since)
                if at == len(changed) or changed[at] >= (what if what >= 0 else last):
                    continue
            yield what

    def all_have_news(self) -> None:
        """Let everything be weighed again."""
        self._weighed.clear()
