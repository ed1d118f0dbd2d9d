"""Residences joined to threads: what is known to have come after each."""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence, Set, Tuple

from gdb_etm.recovery.ssa.exception_frames import Waiting
from gdb_etm.recovery.threads.chains import SOMEWHERE, Successor
from gdb_etm.recovery.threads.residences import Residence


class JoinedResidences:
    """What came after residences.

    :param residences: In the order in which they ran.
    :param successors: What may have come after each.
    """

    def __init__(self, residences: Sequence[Residence], successors: Mapping[int, Set[Successor]]) -> None:
        self._residences = residences
        # Addresses of frames with which threads may wait.
        self.frames = {after.frame for found in successors.values() for after in found} - {SOMEWHERE}
        # Whether several may have come after one.
        self.is_open = any([len(found) > 1 for found in successors.values()])
        self._known = {number: next(iter(found)) for number, found in successors.items() if len(found) == 1}

    def resumed(self) -> Dict[int, int]:
        """Give by each exception return the exception that left the thread.

        Both are indices.
        """
        found: Dict[int, int] = {}
        for number, after in self._known.items():
            left = self._residences[number].left
            resumed = None if after.residence is None else self._residences[after.residence].resumed
            if left is not None and resumed is not None:
                found[resumed] = left
        return found

    def waiting(self, frames: Mapping[int, Waiting]) -> List[Tuple[int, Waiting]]:
        """List the exceptions that left threads which wait, by index.

        :param frames: The frames, by their addresses.
        """
        lefts = [(self._residences[number].left, after.frame) for number, after in self._known.items()]
        return [(left, frames[frame]) for left, frame in lefts if left is not None and frame != SOMEWHERE]

    def ends(self) -> Dict[int, Tuple[int, int]]:
        """Give the end of each residence's thread, if known.

        That is its last residence, and the frame with which it waits, or SOMEWHERE.
        """
        found: Dict[int, Tuple[int, int]] = {}
        for number, after in sorted(self._known.items(), reverse=True):
            if after.residence is None:
                found[number] = number, after.frame
            elif after.residence in found:
                found[number] = found[after.residence]
        return found
