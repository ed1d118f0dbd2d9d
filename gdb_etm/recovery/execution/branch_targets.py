"""What branches computed, learned from where execution went on."""

from __future__ import annotations

from typing import Callable, Final, List, NamedTuple, Optional

from gdb_etm.program.isa import Isa
from gdb_etm.protocols.profile import nothing_ran
from gdb_etm.recovery.constraints.graph import INPUT, Premise
from gdb_etm.recovery.functions.calls import CallMatcher
from gdb_etm.recovery.functions.functions import Functions
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

_BIT: Final = 0xFFFFFFFE


class Arrival(NamedTuple):
    """Where a branch leads.

    With a T bit of 0 nothing runs there but a fault (INVSTATE).
    """

    address: int
    # Variable of the T bit.
    thumb: int


class PendingBranch(NamedTuple):
    """A computed branch, or a possible return, until the next instruction runs."""

    # Variable of that address, if it is computed.
    target: Optional[int]
    # Bits of what it computes that do not matter.
    ignored: int
    interworks: bool
    call: bool
    # Whether it has the form of a return.
    returns: bool
    number: int
    # Variable of the T bit that an exception return loads.
    thumb: Optional[int] = None
    # Of an exception return, the branch that had not arrived yet when it was interrupted.
    arrives: Optional[Arrival] = None


class BranchTargets:
    """Ties a branch's computed target to the instruction that ran next.

    :param ssa: The segment's variables.
    :param calls: The open calls of the same segment.
    :param functions: Facts about functions, if there is call frame information.
    :param address: Gives the address of an instruction by its number.
    """

    def __init__(
        self, ssa: TraceSsa, calls: CallMatcher, functions: Optional[Functions], address: Callable[[int], int]
    ) -> None:
        self._ssa = ssa
        self._calls = calls
        self._functions = functions
        self._address = address
        # The last branch, until it is known where it led.
        self.pending: Optional[PendingBranch] = None
        # Whether an instruction has run since a handler was entered.
        self.has_run = True

    def follow(self, address: int, isa: Isa, current: List[int]) -> bool:
        """Learn where the pending branch led.

        The result is whether it may have left its function's frame.

        :param isa: The instruction set there.
        :param current: The variable of each slot.
        """
        branch, self.pending = self.pending, None
        if branch is None:
            return False
        if branch.target is not None:
            bits = address | int(isa is Isa.T32) if branch.interworks else address & ~branch.ignored
            self._ssa.learn(branch.target, MASK & ~branch.ignored, bits, Premise.TARGET)
        if branch.thumb is not None:
            self._ssa.learn(branch.thumb, 1, 1, Premise.MODE)
        if branch.arrives is not None and branch.arrives.address == address:
            self._ssa.learn(branch.arrives.thumb, 1, 1, Premise.MODE)
        return self._arrive(branch, address, current)

    def _arrive(self, branch: PendingBranch, address: int, current: List[int]) -> bool:
        if branch.call:
            return False
        stays, pad = False, None
        if self._functions is not None:
            start = self._address(branch.number)
            if branch.returns:
                pad = self._functions.landing(start, address)
            else:
                stays = self._functions.stays(start, address)
        self._calls.arrive(branch.number, address, stays, current, pad)
        return True

    def stop(self, address: Optional[int], current: List[int]) -> Optional[int]:
        """Learn that an exception was taken where the pending branch led.

        Nothing ran there.

        :param address: Where it led, if known.
        :param current: The variable of each slot.
        :returns: Variable of the T bit; None when that is 1.
        """
        ssa = self._ssa
        branch, self.pending = self.pending, None
        if branch is None:
            return None if self.has_run else ssa.new(INPUT, _BIT)
        if branch.target is not None and address is not None and not nothing_ran(address):
            ssa.learn(branch.target, _BIT & ~branch.ignored, address, Premise.TARGET)
            self._arrive(branch, address, current)
        if branch.thumb is not None or not branch.interworks:
            return branch.thumb
        if branch.target is None:
            return ssa.new(INPUT, _BIT)
        return ssa.bit(branch.target, 0)
