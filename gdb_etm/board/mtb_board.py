"""A Cortex-M board with a Micro Trace Buffer alone."""

from __future__ import annotations

from gdb_etm.board.awkward import add_watchdog
from gdb_etm.board.dap import AhbAccessPort, DebugPort
from gdb_etm.board.faults import Faults, parse_faults
from gdb_etm.board.machine import Machine
from gdb_etm.board.mtb import MtbDevice
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.romtable import RomTable
from gdb_etm.board.variants import VARIANTS, Variant

_AIRCR = 0xE000ED0C
_SYSRESETREQ = 0x05FA0004
_IPSR = 0x1FF


def add_mtb(machine: Machine, variant: Variant) -> MtbDevice:
    """Put a Micro Trace Buffer on a machine's bus, and wire it."""
    core = machine.core
    assert variant.mtb is not None
    mtb = MtbDevice(variant.mtb, variant.mtb_base, machine.bus, machine.dwt)
    mtb.pc = lambda: core.engine.pc
    mtb.postpones = machine.postpones
    mtb.exception_number = lambda: core.engine.xpsr & _IPSR
    mtb.lockup_address = core.model.lockup_address & ~1
    core.pace = mtb.pace
    core.halt_wanted = lambda: mtb.wants_halt
    core.on_reset = (*core.on_reset, mtb.reset)
    machine.add_device(mtb)
    return mtb


class MtbBoard:
    """A board with power.

    :param options: What the user chose.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions) -> None:
        variant = VARIANTS[options.board]
        if options.etb_size is not None or options.data_trace:
            raise ValueError("board %s has no trace buffer of its own, and no data trace" % variant.name)
        faults: Faults = parse_faults(options.faults)
        self.faults = faults
        machine = self.machine = Machine(options)
        self.unit = self.buffer = machine.trace = add_mtb(machine, variant)
        for table in variant.tables:
            listed = tuple(
                (address, not (faults.no_etm and address == variant.mtb_base)) for address in table.components
            )
            machine.add_device(RomTable(table.base, table.part, listed))
        add_watchdog(machine, faults.watchdog)
        self.dp = DebugPort([AhbAccessPort(machine, variant.tables[0].base)], self.reset, faults)
        machine.start()

    def reset(self) -> None:
        """Reset the system: the core, and with it MTB_MASTER."""
        self.machine.write(_AIRCR, 4, _SYSRESETREQ)

    def close(self) -> None:
        """End the board."""
        self.machine.close()
