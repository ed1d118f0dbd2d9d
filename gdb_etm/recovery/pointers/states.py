"""What is known before each block, and what of that is new."""

from __future__ import annotations

from typing import Dict, Final, Optional, Sequence, Set

from gdb_etm.recovery.lift.operations import TEMPORARY
from gdb_etm.recovery.pointers.provenance import UNKNOWN, Lattice, Provenance

# What registers and words of the frame may be made from; of those that are not in it, nothing is known.
State = Dict[int, Provenance]
# Any word of the frame, among slots.
ANY_WORD: Final = -1


class BlockStates:
    """What is known before blocks, by their first addresses.

    Most of it just goes through a block that does not use it: such a block need not be followed again.

    :param lattice: Joins what is known where ways meet.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self.states: Dict[int, State] = {}
        # The slots of which more has become known since the block was looked at, and those that it used or wrote then.
        self._changed: Dict[int, Set[int]] = {}
        self._touched: Dict[int, Set[int]] = {}

    def begin_again(self) -> None:
        """Let each block be followed again, with what is known so far."""
        self._touched.clear()

    def take(self, head: int) -> Optional[Set[int]]:
        """Give the slots of which there is something new before a block.

        None when it was not followed yet: all of them.
        """
        return self._changed.pop(head, set()) if head in self._touched else None

    def is_used(self, head: int, changed: Set[int]) -> bool:
        """Check whether a block uses or writes any of some slots."""
        touched = self._touched[head]
        return not touched.isdisjoint(changed) or ANY_WORD in touched and max(changed, default=0) >= TEMPORARY

    def followed(self, head: int, touched: Set[int], state: State, changed: Optional[Set[int]]) -> Optional[Set[int]]:
        """Note that a block was followed; gives what may be new then.

        :param touched: What it used or wrote.
        :param state: After it.
        :param changed: What was new before it; None for all.
        """
        self._changed.pop(head, None)
        self._touched[head] = touched
        if changed is None:
            return None
        return changed.union(touched, [slot for slot in state if slot >= TEMPORARY] if ANY_WORD in touched else ())

    def meet(self, heads: Sequence[int], state: State, changed: Optional[Set[int]]) -> Sequence[int]:
        """Join what is known after a block with that before others.

        :param changed: The slots that may be new; None for all.
        :returns: Those before which there is something new.
        """
        return [head for head in heads if self._meet(head, state, changed)]

    def _meet(self, head: int, state: State, slots: Optional[Set[int]]) -> bool:
        known = self.states.get(head)
        if known is None:
            self.states[head] = dict(state)
            return True
        changed: State = {}
        if slots is None:
            slots = {slot for slot, other in state.items() if known.get(slot) is not other}
            slots.update(known.keys() - state.keys())
        for slot in slots:
            one, other = known.get(slot, UNKNOWN), state.get(slot, UNKNOWN)
            if one is not other:
                met = self._lattice.join(one, other)
                if met is not one:
                    changed[slot] = met
        if changed:
            known.update(changed)
            self._changed.setdefault(head, set()).update(changed)
        return bool(changed)
