"""A Cortex-M board: the machine, its trace components, its debug port."""

from __future__ import annotations

from typing import Callable, Iterator, List, Mapping, Union

from gdb_etm.board.awkward import ClockSwitch, Hanging, SlowFlash, add_watchdog
from gdb_etm.board.bus import BusDevice
from gdb_etm.board.chips import ZYNQ, Chip, chip_of, tables_of
from gdb_etm.board.cortex_a_board import CortexABoard
from gdb_etm.board.cti import DEVID, CtiDevice, TriggerMatrix
from gdb_etm.board.dap import AhbAccessPort, ApbAccessPort, BusMemory, DebugPort, NarrowAccessPort
from gdb_etm.board.debug_bus import DebugBus
from gdb_etm.board.domain import Chatter, Clocked, TraceClock, UnitDomain
from gdb_etm.board.etb import EtbDevice
from gdb_etm.board.etm import Etmv4Device
from gdb_etm.board.etmv3 import Etmv3Device
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.funnel import FunnelDevice
from gdb_etm.board.identity import ARM, PART_CORTEX_M33, SoftwareLock, identification
from gdb_etm.board.listeners import Both
from gdb_etm.board.machine import Machine
from gdb_etm.board.mtb_board import MtbBoard, add_mtb
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.romtable import RomTable
from gdb_etm.board.tmc import TraceBuffer
from gdb_etm.board.units_armv7 import Armv7Model
from gdb_etm.board.variants import CORTEX_A, SCS, Variant
from gdb_etm.board.vendor import SleepingCore, Tpiu, VendorClock, vendor_pages

_AIRCR = 0xE000ED0C
_SYSRESETREQ = 0x05FA0004
_IPSR = 0x1FF
_PPB_ROM_TABLE = 0xE00FF000
_CLAIMSET = 0xFA0
_PART_CTI = 0x906


class Board:
    """A board with a Cortex-M, with power.

    :param options: What the user chose.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions) -> None:
        chip = self._chip = chip_of(options.board)
        variant = chip.base
        faults = self.faults = parse_faults(options.faults)
        machine = self.machine = Machine(options)
        size = variant.buffer_size if options.etb_size is None else options.etb_size
        self.buffer = (TraceBuffer if variant.has_etf else EtbDevice)(variant.buffer, size)
        self.funnel = FunnelDevice(variant.funnel, self.buffer.take)
        self.unit = self._make_unit(variant)
        self.unit.watch_accesses = machine.watch_accesses
        self.unit.now = machine.clock.now
        self.unit.connect(self.buffer)
        self.buffer.stuck_flush = faults.stuck_flush
        for component in (self.unit, self.funnel, self.buffer):
            component.postpones = machine.postpones
        self._pages = vendor_pages(chip)
        self._vendor = VendorClock(chip.gate, self._pages)
        self._clock = TraceClock()
        self._chatter = Chatter(faults.noise)
        self._debug_bus = DebugBus(machine)
        for device in self._others():
            machine.add_device(device)
        self._place_trace(chip)
        self._add_triggers(variant)
        self._switch = ClockSwitch(faults.clock_switch)
        self._make_awkward()
        if not faults.no_etm:
            machine.trace = self.unit
        if variant.mtb is not None:
            mtb = add_mtb(machine, variant)
            machine.trace = mtb if faults.no_etm else Both(self.unit, mtb)
        self.dp = DebugPort(self._ports(chip), self.reset, faults)
        machine.start()

    def _make_awkward(self) -> None:
        machine, faults = self.machine, self.faults
        if faults.sleep_power:
            machine.core.on_sleep = self.unit.lose_power
        add_watchdog(machine, faults.watchdog)
        if faults.claimed:
            # As software does it: open the lock, set a tag, lock again.
            for offset, value in ((SoftwareLock.LAR, SoftwareLock.KEY), (_CLAIMSET, 2), (SoftwareLock.LAR, 0)):
                self.unit.write32(offset, value)

    def _others(self) -> Iterator[BusDevice]:
        # What is there beside the trace components.
        yield from self._pages
        if self.faults.clock_gate or self.faults.clock_hang:
            yield self._clock
        if self.faults.noise:
            yield self._chatter

    def _place_trace(self, chip: Chip) -> None:
        # ROM tables and trace components on their buses, behind the switches that they have.
        variant, faults, machine = chip.base, self.faults, self.machine
        missing = {
            variant.etm: faults.no_etm,
            variant.funnel: faults.no_funnel or not chip.has_buffer,
            variant.buffer: faults.no_sink or not chip.has_buffer,
        }
        for number, table in enumerate(tables_of(chip)):
            listed = tuple((address, not missing.get(address)) for address in table.components)
            own = chip.rom_id if number == 0 else None
            designer, part = own if own is not None else (ARM, table.part)
            machine.add_device(RomTable(table.base, part, listed, designer=designer))
        add = machine.add_device if chip.trace_port is None else self._debug_bus.add_device
        unit = UnitDomain(self.unit, faults, isinstance(self.unit, Etmv3Device))
        self._add(machine.add_device, unit, missing)
        for device in (self.funnel, self.buffer):
            self._add(add, device, missing)
        if chip.tpiu is not None:
            self._add(add, Tpiu(chip.tpiu), missing)

    def _add(self, add: Callable[[BusDevice], None], device: BusDevice, missing: Mapping[int, bool]) -> None:
        if missing.get(device.base):
            return
        if self.faults.clock_gate:
            device = Clocked(device, self._clock)
        if self.faults.clock_hang:
            device = Hanging(device, self._clock)
        if self._chip.gate is not None and self._chip.gate.is_silent:
            device = Clocked(device, self._vendor)
        add(device)

    def _add_triggers(self, variant: Variant) -> None:
        # Cross Trigger Interfaces, as far as the board has them.
        machine, core, buffer = self.machine, self.machine.core, self.buffer
        matrix = TriggerMatrix()
        if variant.core_cti:
            # Cortex-M33 TRM (100230), "Cross Trigger Interface": input 0 is "processor halted", output 0 the debug
            # request.
            own = identification(PART_CORTEX_M33, 0x14, 0x47701A14, DEVID)
            cti = CtiDevice(variant.core_cti, own, {0: lambda: core.halted}, matrix, has_lock=False)
            core.halt_wanted = lambda: cti.output(0)
            core.pace = lambda limit: buffer.pace(limit) if cti.listens else limit
        if variant.buffer_cti:
            wires = {2: lambda: buffer.is_full, 3: lambda: not buffer.is_capturing}
            CtiDevice(variant.buffer_cti, identification(_PART_CTI, 0x14, devid=DEVID), wires, matrix, has_lock=True)
        for each in matrix.interfaces:
            each.postpones = machine.postpones
            self._add(machine.add_device, each, {})

    def _ports(self, chip: Chip) -> List[AhbAccessPort]:
        slow = self.faults.slow_flash
        memory: BusMemory = SlowFlash(self.machine, slow) if slow else self.machine
        first = NarrowAccessPort if chip.base.wraps_early else AhbAccessPort
        ports: List[AhbAccessPort] = [first(memory, chip.base.tables[0].base)]
        if chip.trace_port is not None:
            # Those in between reach memory, and no debug components.
            ports += [AhbAccessPort(self.machine, None) for _ in range(chip.trace_port - 1)]
            ports.append(ApbAccessPort(self._debug_bus, chip.trace_table))
            self._fill_debug_bus(chip)
        if chip.second_core is not None:
            bus = DebugBus(self.machine)
            bus.add_device(RomTable(_PPB_ROM_TABLE, 0x4C4, ((SCS, True),)))
            bus.add_device(SleepingCore(SCS, chip.second_core[1]))
            ports.append(AhbAccessPort(bus, _PPB_ROM_TABLE))
        return ports

    def _fill_debug_bus(self, chip: Chip) -> None:
        listed = [chip.base.funnel, chip.base.buffer]
        listed += [address for address in (chip.other_funnel, chip.tpiu) if address is not None]
        missing = {chip.base.funnel: self.faults.no_funnel, chip.base.buffer: self.faults.no_sink}
        entries = tuple((address, not missing.get(address)) for address in listed)
        self._debug_bus.add_device(RomTable(chip.trace_table, 0x000, entries, shared=False))
        if chip.other_funnel is not None:
            self._add(self._debug_bus.add_device, FunnelDevice(chip.other_funnel, lambda trace_id, data: None), {})
        if chip.alias is not None:
            page = next(page for page in self._pages if page.base == chip.alias[1])
            self._debug_bus.add_device(page.seen_at(chip.alias[0]))

    def _make_unit(self, variant: Variant) -> Union[Etmv4Device, Etmv3Device]:
        machine, options = self.machine, self.machine.options
        model = variant.unit
        assert model is not None
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
        is_gated = self.faults.clock_gate or self.faults.clock_hang
        if not self.faults.no_funnel and (self._clock.runs or not is_gated) and self._vendor.runs:
            self.funnel.take(0, trace_id, self._switch.passed(data))
            self.funnel.take(1, Chatter.TRACE_ID, self._chatter.said(len(data)))

    def _data_to_funnel(self, trace_id: int, data: bytes) -> None:
        if not self.faults.no_funnel:
            self.funnel.take(1, trace_id, data)


AnyBoard = Union[Board, MtbBoard, CortexABoard]


def make_board(options: BoardOptions) -> AnyBoard:
    """Give a board power.

    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """
    if options.board in (CORTEX_A, ZYNQ):
        return CortexABoard(options)
    return MtbBoard(options) if chip_of(options.board).base.unit is None else Board(options)
