"""P0 elements, and what an analyzer knows around each."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple, Union

from tests.protocols.etmv4.differential.case import Setting
from tests.protocols.etmv4.differential.code import Instruction, Spot

NO_EXECUTION = 0xFFFFFFFE
ON = "trace on"
EXCEPTION_RETURN = "exception return"

# An instruction and the context that it ran in.
Executed = Tuple[Spot, Setting]
# An executed instruction, an exception (its type and return address), or an event.
Fact = Union[Executed, Tuple[str, int, int], str]


class Known(NamedTuple):
    """What an analyzer knows of where the execution is."""

    # The next instruction; None when it has to be told.
    place: Optional[Spot] = None
    setting: Optional[Setting] = None
    # The unit's return stack, its top last; entries that the unit has forgotten are in the analyzer's only.
    stack: Tuple[Spot, ...] = ()
    # Whether the last P0 element is a taken indirect branch, whose target the return stack may tell.
    branched: bool = False
    # What it did tell.
    popped: Optional[Spot] = None

    def whole_stack(self) -> Tuple[Spot, ...]:
        """Give the return stack when something tells the place after all."""
        return self.stack if self.popped is None else self.stack + (self.popped,)


class Element:
    """A P0 element."""

    def __init__(self, facts: List[Fact], before: Known, insn: Optional[Instruction], taken: bool) -> None:
        self.facts = facts
        # What is known just before it.
        self.before = before
        # For an Atom the branch; None for others.
        self.insn = insn
        self.taken = taken
        # Its direction when it was first traced: that decides about the return stack (5.3).
        self.first_taken = taken
