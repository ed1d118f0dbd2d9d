"""A machine with a Cortex-A: core, devices, debug bus, truth."""

from __future__ import annotations

from typing import Sequence

from gdb_etm.board.accesses import NO_ACCESSES
from gdb_etm.board.cortex_a import CortexACore
from gdb_etm.board.debug_bus import DebugBus
from gdb_etm.board.listeners import CortexAListener
from gdb_etm.board.mpcore import PrivateRegion
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.registers import CORTEX_A
from gdb_etm.board.system import System


class CortexAMachine(System[CortexACore, CortexAListener]):
    """A simulated board with a Cortex-A, without its trace components.

    The truth file is as on other boards (:mod:`gdb_etm.board.truth`); an exception has the number by which it is
    traced, and its return address is that of the instruction that would have been next.

    :param options: What the user chose.
    :param model: The end of Unicorn's name for the core.
    :param private: Address of the core's private memory region.
    :raises OSError: the program cannot be read or the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    registers = CORTEX_A

    def __init__(self, options: BoardOptions, model: str, private: int) -> None:
        super().__init__(options)
        self.debug_bus = DebugBus(self)
        region = PrivateRegion(private, self.clock)
        self.core = CortexACore(model, self.bus, self.clock, self, region.interrupted)
        self.core.on_reset = (region.reset,)
        self.core.held = options.hold
        self.clock.add(region)
        self.add_device(region)
        self.core.engine.registers.wanted = options.truth_registers
        self._load()

    # What the core does goes to the truth file and the trace unit.

    def executed(self, addresses: Sequence[int]) -> None:
        """Pass on completed instructions."""
        states = self.core.engine.registers.take()
        self._truth.executed([address & ~1 for address in addresses], NO_ACCESSES, states=states)
        if self.trace is not None:
            self.trace.executed(addresses)
        self._catch_up()

    def exception(self, number: int, reached: int, vector: int) -> None:
        """Pass on an exception entry."""
        self._truth.exception(number, reached & ~1, (), self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.exception(number, reached, vector)

    def exception_return(self) -> None:
        """Pass on an exception return."""
        self._truth.exception_return((), self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.exception_return()
