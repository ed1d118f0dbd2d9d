"""The board `m33` put together: the machine, its trace components and its debug port."""

from __future__ import annotations

from gdb_etm.board.dap import AhbAccessPort, DebugPort
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.romtable import RomTable

ROM_TABLE = 0xE00FF000
SCS = 0xE000E000
DWT = 0xE0001000
FPB = 0xE0002000
ETM = 0xE0041000
FUNNEL = 0xE0042000
ETF = 0xE0043000

_AIRCR = 0xE000ED0C
_SYSRESETREQ = 0x05FA0004


class Board:
    """A board with power.

    :param options: What the user chose.
    :param comparators: Address comparator pairs of the trace unit; a Cortex-M33 has none.
    :raises ValueError: an option is wrong.
    :raises OSError: a file cannot be read or written.
    """

    def __init__(self, options: BoardOptions, comparators: int = 0) -> None:
        self.faults = parse_faults(options.faults)
        self.machine = Machine(options)
        self.machine.add_device(
            RomTable(
                ROM_TABLE,
                (
                    (SCS, True),
                    (DWT, True),
                    (FPB, True),
                    (ETM, False),
                    (FUNNEL, False),
                    (ETF, False),
                ),
            )
        )
        self.dp = DebugPort(AhbAccessPort(self.machine, ROM_TABLE), self.reset, self.faults)
        self.machine.start()

    def is_unplugged(self, transfers: int) -> bool:
        """Tell whether the probe has been pulled by now.

        :param transfers: Number of transfers so far.
        """
        return 0 < self.faults.unplug_after < transfers

    def reset(self) -> None:
        """Reset the system: the core, not the debug components."""
        self.machine.write(_AIRCR, 4, _SYSRESETREQ)

    def close(self) -> None:
        """End the board."""
        self.machine.close()
