"""An ETMv4's decisions on each instruction: comparators, ViewInst, resources.

Ref: IHI 0064, 4.1 and figure 4-1.  Filters do not influence the comparators: what is not traced drives the resources
all the same (4.2.5).
"""

from __future__ import annotations

from typing import Callable, Dict, Protocol, Sequence

from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.comparators import PE_INPUTS, AddressComparators, Registers
from gdb_etm.board.resources import Counts, Outcome, ResourceLogic
from gdb_etm.board.viewdata import ViewData
from gdb_etm.board.viewinst import ViewInst

_HANDLER_LEVEL = 3


class PeInputs(Protocol):
    """The PE comparator inputs, driven by the DWT's comparators (4.2.8)."""

    @property
    def version(self) -> int:
        """A number that changes when what :meth:`instruction_inputs` returns may have changed."""

    @property
    def reports_data(self) -> bool:
        """Whether loads and stores drive any."""

    def instruction_inputs(self, address: int) -> int:
        """Return which inputs an instruction drives, one bit each."""

    def data_inputs(self, accesses: Sequence[BusAccess]) -> int:
        """Return which inputs an instruction's loads and stores drive, one bit each."""


class Logic:
    """The unit's logic as programmed when it was enabled.

    :param registers: The unit's registers.
    :param counts: What resources it has.
    :param pe_inputs: The core's DWT comparators.
    :param found: Takes what a cycle amounts to, when the numbered events change or a timestamp is asked for.
    """

    def __init__(
        self, registers: Registers, counts: Counts, pe_inputs: PeInputs, found: Callable[[Outcome], None]
    ) -> None:
        # Whether the core is in Handler mode.
        self.handler = False
        self.view = ViewInst(registers)
        self._comparators = AddressComparators(registers, counts.pairs)
        self.view_data = ViewData(registers, self._comparators)
        self.resources = ResourceLogic(registers, counts)
        self._pe_inputs = pe_inputs
        self._found = found
        self._levels = 0
        self._uses_resources = self.resources.is_used
        self._wanted = self.view.wanted | self.resources.wanted
        self._uses_inputs = bool(self._wanted >> PE_INPUTS & 0xFF)
        self._known: Dict[int, int] = {}
        self._version = -1
        self._index = -1
        self._accesses = NO_ACCESSES

    @property
    def is_open(self) -> bool:
        """Whether every instruction is traced, and no resource does anything."""
        return self.view.is_open and not self._uses_resources

    @property
    def uses_data(self) -> bool:
        """Whether the unit's comparators need loads and stores."""
        return bool(self._comparators.of_data(self._wanted))

    def begin(self, accesses: Accesses) -> None:
        """Take the accesses of the next instructions, by index."""
        self._index, self._accesses = -1, accesses
        if self._uses_inputs and self._version != self._pe_inputs.version:
            self._version = self._pe_inputs.version
            self._known.clear()

    def data(self, address: int, accesses: Sequence[BusAccess]) -> Sequence[BusAccess]:
        """Return an instruction's traced accesses.

        The event is that of the instruction before.
        """
        level = _HANDLER_LEVEL if self.handler else 0
        return self.view_data.select(address, accesses, level, self.resources.outcome.view_data)

    def stacked(self, accesses: Sequence[BusAccess]) -> Sequence[BusAccess]:
        """Return the traced accesses of an exception's entry or return (4.1.4)."""
        if self.view_data.is_open or not self.resources.outcome.view_data:
            return accesses if self.resources.outcome.view_data else ()
        return self.view_data.select_data(accesses, _HANDLER_LEVEL if self.handler else 0)

    def __call__(self, address: int) -> bool:
        """Tell whether an executed instruction is traced; asked for each, in order."""
        level = _HANDLER_LEVEL if self.handler else 0
        matches = self._known.get(address | self.handler)
        if matches is None:
            matches = self._known[address | self.handler] = self._match(address, level)
        self._index += 1
        if self._accesses and self._index in self._accesses:
            matches |= self._match_data(self._accesses[self._index], level)
        if not self._uses_resources:
            return self.view.traces(matches, level, self.resources.outcome.view)
        outcome = self.resources.step(matches & self.resources.wanted)
        if outcome.timestamp or outcome.levels != self._levels:
            self._levels = outcome.levels
            self._found(outcome)
        return self.view.traces(matches, level, outcome.view)

    def _match(self, address: int, level: int) -> int:
        inputs = self._pe_inputs.instruction_inputs(address) << PE_INPUTS if self._uses_inputs else 0
        return (self._comparators.instruction(address, level) | inputs) & self._wanted

    def _match_data(self, accesses: Sequence[BusAccess], level: int) -> int:
        inputs = self._pe_inputs.data_inputs(accesses) << PE_INPUTS if self._uses_inputs else 0
        return (self._comparators.data(accesses, level) | inputs) & self._wanted
