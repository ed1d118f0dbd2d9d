"""Facts from traced loads and stores: their addresses and values."""

from __future__ import annotations

from typing import Union

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Transfer
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa


class TracedTransfers:
    """Matches accesses with the transfers that the trace has of them.

    :param ssa: Its variables learn the facts.
    :param history: With traced transfers.
    """

    def __init__(self, ssa: TraceSsa, history: ExecutionHistory) -> None:
        self._ssa = ssa
        self._history = history

    def take(self, number: int, first: int) -> None:
        """Take an instruction's transfers if they fit its accesses one by one.

        There are as many, of the same sizes and directions.

        :param first: Index of its first access.
        """
        accesses = self._ssa.accesses[first:]
        transfers = self._history.transfers(number)
        traced = [one for one in transfers if one.certain and one.role is TransferRole.DATA]
        if len(traced) != len(accesses):
            return
        pairs = list(zip(traced, accesses))
        if any(one.store is not access.store or one.size != access.size for one, access in pairs):
            return
        for one, access in pairs:
            self._learn(access, one)

    def take_frame(self, event: Union[Exception_, ExceptionReturn], first: int) -> None:
        """Take what an exception pushed or popped, where addresses are traced.

        :param first: Index of the first access to the frame.
        """
        accesses = self._ssa.accesses[first : first + 8]
        transfers = self._history.event_transfers(event)
        known = [one for one in transfers if one.certain and one.address is not None and one.size == 4]
        if len(accesses) < 8 or len(known) < 8:
            return
        known.sort(key=lambda one: one.address or 0)
        for one, access in zip(known, accesses):
            if one.address == (known[0].address or 0) + 4 * known.index(one):
                self._learn(access, one)

    def _learn(self, access: MemoryAccess, transfer: Transfer) -> None:
        if transfer.address is not None:
            self._ssa.learn(access.address, MASK, transfer.address & MASK, Premise.DATA)
        if transfer.value is not None:
            bits = (1 << 8 * access.size) - 1
            self._ssa.learn(access.data, bits, transfer.value & bits, Premise.DATA)
