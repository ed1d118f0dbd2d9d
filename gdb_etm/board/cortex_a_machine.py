"""A machine with a Cortex-A: core, devices, debug bus, truth."""

from __future__ import annotations

from typing import Sequence

from gdb_etm.board.accesses import NO_ACCESSES
from gdb_etm.board.cortex_a import CortexACore
from gdb_etm.board.debug_bus import DebugBus
from gdb_etm.board.identity import ComponentDevice, identification
from gdb_etm.board.listeners import CortexAListener
from gdb_etm.board.mpcore import PrivateRegion
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.registers import CORTEX_A
from gdb_etm.board.system import System

_PART_DEBUG = 0xC09
_DIDR, _DSCR, _DRCR, _PRSR, _AUTHSTATUS = 0x000, 0x088, 0x090, 0x314, 0xFB8
_HALTED, _RESTARTED, _HALTING_DEBUG = 1 << 0, 1 << 1, 1 << 14
_HALT, _RESTART = 1 << 0, 1 << 1


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


class CoreDebug(ComponentDevice):
    """Debug registers that halt and resume a Cortex-A9.

    Only those that a script needs for that (DDI 0406, C11; DDI 0388).

    :param base: Their address.
    :param core: The core.
    """

    def __init__(self, base: int, core: CortexACore) -> None:
        # DBGDIDR: six breakpoints, four watchpoints, v7 debug; DBGPRSR: powered; everything is permitted.
        fixed = {_DIDR: 0x35137030, _PRSR: 1, _AUTHSTATUS: 0xFF, **identification(_PART_DEBUG, devtype=0x15)}
        super().__init__(base, fixed)
        self._core = core

    def _read(self, offset: int) -> int:
        core = self._core
        if offset != _DSCR:
            return 0
        stopped = core.halted or core.held
        return (_HALTED if stopped else 0) | _RESTARTED | (_HALTING_DEBUG if core.halting_debug else 0)

    def _write(self, offset: int, value: int) -> None:
        if offset == _DSCR:
            self._core.halting_debug = bool(value & _HALTING_DEBUG)
        elif offset == _DRCR and value & _HALT:
            self._core.halt()
        elif offset == _DRCR and value & _RESTART:
            self._core.held = False
            self._core.resume()
