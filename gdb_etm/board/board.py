"""A Cortex-M board: the machine, its trace components, its debug port."""

from __future__ import annotations

from typing import Union

from gdb_etm.board.cortex_a_board import CortexABoard
from gdb_etm.board.dap import AhbAccessPort, DebugPort, NarrowAccessPort
from gdb_etm.board.domain import Chatter, Clocked, TraceClock, UnitDomain
from gdb_etm.board.etb import EtbDevice
from gdb_etm.board.etm import Etmv4Device
from gdb_etm.board.etmv3 import Etmv3Device
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.funnel import FunnelDevice
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.romtable import RomTable
from gdb_etm.board.tmc import TraceBuffer
from gdb_etm.board.units_armv7 import Armv7Model
from gdb_etm.board.variants import CORTEX_A, VARIANTS, Variant

_AIRCR = 0xE000ED0C
_SYSRESETREQ = 0x05FA0004
_IPSR = 0x1FF


class Board:
    """A board with a Cortex-M, with power.

    :param options: What the user chose.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions) -> None:
        variant = VARIANTS[options.board]
        faults = self.faults = parse_faults(options.faults)
        machine = self.machine = Machine(options)
        size = variant.buffer_size if options.etb_size is None else options.etb_size
        self.buffer = (TraceBuffer if variant.has_etf else EtbDevice)(variant.buffer, size)
        self.funnel = FunnelDevice(variant.funnel, self.buffer.take)
        self.unit = self._make_unit(variant)
        self.unit.watch_accesses = machine.watch_accesses
        self.unit.now = machine.clock.now
        self.unit.connect(self.buffer)
        missing = {variant.etm: faults.no_etm, variant.funnel: faults.no_funnel, variant.buffer: faults.no_sink}
        for table in variant.tables:
            listed = tuple((address, not missing.get(address)) for address in table.components)
            machine.add_device(RomTable(table.base, table.part, listed))
        self.buffer.stuck_flush = faults.stuck_flush
        self._clock = TraceClock()
        self._chatter = Chatter(faults.noise)
        if faults.clock_gate:
            machine.add_device(self._clock)
        if faults.noise:
            machine.add_device(self._chatter)
        unit = UnitDomain(self.unit, faults, isinstance(self.unit, Etmv3Device))
        for device in (unit, self.funnel, self.buffer):
            if not missing[device.base]:
                machine.add_device(Clocked(device, self._clock) if faults.clock_gate else device)
        if not faults.no_etm:
            machine.trace = self.unit
        port = (NarrowAccessPort if variant.wraps_early else AhbAccessPort)(machine, variant.tables[0].base)
        self.dp = DebugPort([port], self.reset, faults)
        machine.start()

    def _make_unit(self, variant: Variant) -> Union[Etmv4Device, Etmv3Device]:
        machine, options = self.machine, self.machine.options
        model = variant.unit
        if options.data_trace:
            if variant.data_unit is None:
                raise ValueError("no other trace unit for board %s: data-trace is for m4" % variant.name)
            model = variant.data_unit
        if isinstance(model, Armv7Model):
            inputs = [comparator.traces for comparator in machine.dwt.comparators]
            older = Etmv3Device(model, variant.etm, machine.bus.code, inputs, self._to_funnel, self.faults)
            older.watch_conditions = machine.watch_conditions
            older.data_inputs = machine.dwt.data_inputs
            return older
        unit = Etmv4Device(model, variant.etm, machine.bus.code, machine.dwt, self._to_funnel, options, self.faults)
        unit.handler_mode = lambda: machine.core.engine.xpsr & _IPSR != 0
        unit.data_out = self._data_to_funnel
        unit.watch_conditions = machine.watch_conditions
        return unit

    def reset(self) -> None:
        """Reset the system: the core, not the debug components."""
        self.machine.write(_AIRCR, 4, _SYSRESETREQ)

    def close(self) -> None:
        """End the board."""
        self.machine.close()

    def _to_funnel(self, trace_id: int, data: bytes) -> None:
        if not self.faults.no_funnel and (self._clock.runs or not self.faults.clock_gate):
            self.funnel.take(0, trace_id, data)
            self.funnel.take(1, Chatter.TRACE_ID, self._chatter.said(len(data)))

    def _data_to_funnel(self, trace_id: int, data: bytes) -> None:
        if not self.faults.no_funnel:
            self.funnel.take(1, trace_id, data)


AnyBoard = Union[Board, CortexABoard]


def make_board(options: BoardOptions) -> AnyBoard:
    """Give a board power.

    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """
    return CortexABoard(options) if options.board == CORTEX_A else Board(options)
