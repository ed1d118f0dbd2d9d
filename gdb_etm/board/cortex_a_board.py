"""A Cortex-A9 board: the machine, its trace components, its debug port.

What is where is what is there on a Zynq-7000 (UG585, tables 4-7 and 28-1): the components that the core's loads and
stores reach at 0xF8800000 and on are at 0x80000000 and on at the APB-AP.  There too access port 0 is an AHB-AP to
system memory, without debug components, and 1 the APB-AP.  Part numbers are Arm's own, that of the ROM table is made
up.

pyOCD controls no Cortex-A.  So the core runs by itself from power-up on, or with ``hold`` from when its trace unit is
switched on; BKPT halts it, and a script can halt it and let it run by DBGDRCR.
"""

from __future__ import annotations

from gdb_etm.board.awkward import add_watchdog
from gdb_etm.board.bus import PAGE, BusDevice
from gdb_etm.board.chips import ZYNQ, VendorWord
from gdb_etm.board.cortex_a_debug import CoreDebug
from gdb_etm.board.cortex_a_machine import CortexAMachine
from gdb_etm.board.dap import AhbAccessPort, ApbAccessPort, DebugPort
from gdb_etm.board.debug_bus import WindowPage
from gdb_etm.board.etb import EtbDevice
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.funnel import FunnelDevice
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.ptm import PtmDevice
from gdb_etm.board.romtable import RomTable
from gdb_etm.board.units_armv7 import PTM_A9
from gdb_etm.board.vendor import VendorPage, WaitingCore
from gdb_etm.protocols.ptm.encode.packets import Regime

ROM_TABLE = 0x80000000
# The second core's, on a chip that has one.
CORE_DEBUG_1 = 0x80092000
PTM_1 = 0x8009D000
# In system memory: which chip it is (UG585, B.28).
PSS_IDCODE = 0xF8000530
_IDCODE = 0x13727093
ETB = 0x80001000
FUNNEL = 0x80004000
CORE_DEBUG = 0x80090000
PTM = 0x8009C000
_PRIVATE = 0xF8F00000
# How far it is from there to where the core's loads and stores reach a component.
WINDOW = 0xF8800000 - ROM_TABLE
_ROM_TABLE_PART = 0x4A9
_ETB_SIZE = 4096


class CortexABoard:
    """A board with power.

    :param options: What the user chose.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions) -> None:
        faults = self.faults = parse_faults(options.faults)
        machine = self.machine = CortexAMachine(options, "CORTEX_A9", _PRIVATE)
        self.buffer = EtbDevice(ETB, options.etb_size or _ETB_SIZE)
        self.funnel = FunnelDevice(FUNNEL, self.buffer.take)
        self.unit = PtmDevice(PTM_A9, PTM, machine.bus.code, self._to_funnel, faults)
        self.unit.now = machine.clock.now
        self.unit.regime = lambda: Regime(machine.core.non_secure)
        self.unit.context_id = lambda: machine.core.context_id
        self.unit.enabled = self._let_run
        self.unit.connect(self.buffer)
        self.unit.postpones = machine.postpones
        missing = {ETB: faults.no_sink, FUNNEL: faults.no_funnel, PTM: faults.no_etm}
        more = (CORE_DEBUG_1, PTM_1) if options.board == ZYNQ else ()
        addresses = (ETB, FUNNEL, CORE_DEBUG, PTM, *more)
        listed = tuple((address, not missing.get(address)) for address in addresses)
        self._add(RomTable(ROM_TABLE, _ROM_TABLE_PART, listed, shared=False))
        for device in (self.buffer, self.funnel, CoreDebug(CORE_DEBUG, machine.core), self.unit):
            if not missing.get(device.base):
                self._add(device)
        if options.board == ZYNQ:
            self._add_second_core()
        if not faults.no_etm:
            machine.trace = self.unit
        ports = (AhbAccessPort(machine, None), ApbAccessPort(machine.debug_bus, ROM_TABLE))
        self.dp = DebugPort(ports, self.reset, faults)
        add_watchdog(machine, faults.watchdog)
        machine.start()

    def _add(self, device: BusDevice) -> None:
        self.machine.debug_bus.add_device(device)
        self.machine.add_device(WindowPage(device, device.base + WINDOW))

    def _add_second_core(self) -> None:
        # It waits for the first one, as after power-up, so that its trace unit has nothing to say.
        machine = self.machine
        second = PtmDevice(PTM_A9, PTM_1, machine.bus.code, self._from_second, self.faults)
        for device in (WaitingCore(CORE_DEBUG_1), second):
            self._add(device)
        machine.add_device(VendorPage(PSS_IDCODE & -PAGE, [VendorWord(PSS_IDCODE, _IDCODE)]))

    def _from_second(self, trace_id: int, data: bytes) -> None:
        self.funnel.take(1, trace_id, data)

    def reset(self) -> None:
        """Reset the system: the core, not the debug components."""
        with self.machine.turn():
            self.machine.core.reset()
        self.machine.wake()

    def close(self) -> None:
        """End the board."""
        self.machine.close()

    def _let_run(self) -> None:
        self.machine.core.held = False

    def _to_funnel(self, trace_id: int, data: bytes) -> None:
        if not self.faults.no_funnel:
            self.funnel.take(0, trace_id, data)
