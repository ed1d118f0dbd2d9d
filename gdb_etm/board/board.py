"""The board `m33` put together: the machine, its trace components and its debug port."""

from __future__ import annotations

from typing import Optional

from gdb_etm.board.dap import AhbAccessPort, DebugPort
from gdb_etm.board.etm import TraceUnit
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.funnel import Funnel
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.romtable import RomTable
from gdb_etm.board.tmc import TraceBuffer

ROM_TABLE = 0xE00FF000
SCS = 0xE000E000
DWT = 0xE0001000
FPB = 0xE0002000
ETM = 0xE0041000
FUNNEL = 0xE0042000
ETF = 0xE0043000

_AIRCR = 0xE000ED0C
_SYSRESETREQ = 0x05FA0004
_IPSR = 0x1FF
_DWT_COMP = 0x20
_DWT_FUNCTION = 0x28
_DWT_MATCH = 0xF
_MATCH_INSTRUCTION = 2


class Board:
    """A board with power.

    :param options: What the user chose.
    :param comparators: Address comparator pairs of the trace unit; a Cortex-M33 has none.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions, comparators: int = 0) -> None:
        faults = self.faults = parse_faults(options.faults)
        machine = self.machine = Machine(options)
        self.buffer = TraceBuffer(ETF, options.etb_size)
        self.funnel = Funnel(FUNNEL, self.buffer.take)
        self.unit = TraceUnit(ETM, self._read_code, self._pe_input, self._to_funnel, comparators, faults.overflow)
        self.unit.handler_mode = lambda: machine.core.engine.xpsr & _IPSR != 0
        self.buffer.flush = self.unit.flush
        self.buffer.request_sync = self.unit.request_sync
        present = {SCS: True, DWT: True, FPB: True}
        present.update({ETM: not faults.no_etm, FUNNEL: not faults.no_funnel, ETF: not faults.no_sink})
        machine.add_device(RomTable(ROM_TABLE, tuple(present.items())))
        for device in (self.unit, self.funnel, self.buffer):
            if present[device.base]:
                machine.add_device(device)
        if not faults.no_etm:
            machine.trace = self.unit
        self.dp = DebugPort(AhbAccessPort(machine, ROM_TABLE), self.reset, faults)
        machine.start()

    def is_unplugged(self, transfers: int) -> bool:
        """Tell whether the probe has been pulled by now.

        :param transfers: Number of transfers so far.
        """
        by_transfers = 0 < self.faults.unplug_after < transfers
        return by_transfers or 0 < self.faults.unplug_drain <= self.buffer.words_read

    def reset(self) -> None:
        """Reset the system: the core, not the debug components."""
        self.machine.write(_AIRCR, 4, _SYSRESETREQ)

    def close(self) -> None:
        """End the board."""
        self.machine.close()

    def _to_funnel(self, trace_id: int, data: bytes) -> None:
        if not self.faults.no_funnel:
            self.funnel.take(0, trace_id, data)

    def _read_code(self, address: int) -> bytes:
        # What the core runs is in memory, so one of the two is there.
        place = self.machine.bus.memory(address, 4) or self.machine.bus.memory(address, 2)
        if place is None:
            return bytes(4)
        memory, offset = place
        return bytes(memory[offset : offset + 4])

    def _pe_input(self, number: int) -> Optional[int]:
        # A DWT comparator that matches instruction addresses drives a PE comparator input (4.2.8).
        base = DWT + 0x10 * number
        if self.machine.read(base + _DWT_FUNCTION, 4) & _DWT_MATCH != _MATCH_INSTRUCTION:
            return None
        return self.machine.read(base + _DWT_COMP, 4)
