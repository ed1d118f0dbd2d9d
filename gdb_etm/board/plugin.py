"""pyOCD's plug-in for the simulated boards (entry point group ``pyocd.probe``).

Loading it must cost nothing and never fail: pyOCD loads every plug-in for every command, and most users of pyOCD have
real probes.  So Unicorn and the board itself are imported only when a board is opened.
"""

from __future__ import annotations

import importlib.util
from typing import List, Type

from pyocd.core.options import OptionInfo
from pyocd.core.plugin import Plugin
from pyocd.probe.debug_probe import DebugProbe

from gdb_etm import __version__


class BoardProbePlugin(Plugin):
    """Offers simulated boards as debug probes with unique IDs such as ``board:m33``."""

    def should_load(self) -> bool:
        """Tell whether the boards can work: they need Unicorn."""
        return importlib.util.find_spec("unicorn") is not None

    def load(self) -> Type[DebugProbe]:
        """Return the probe class."""
        from gdb_etm.board.probe import BoardProbe

        return BoardProbe

    @property
    def name(self) -> str:
        """The probe type, which comes before the colon of a unique ID."""
        return "board"

    @property
    def description(self) -> str:
        """One line for ``pyocd list --plugins``."""
        return "Simulated boards with trace (gdb_etm)"

    @property
    def version(self) -> str:
        """The version of gdb_etm."""
        return __version__

    @property
    def options(self) -> List[OptionInfo]:
        """Session options of the boards; ``pyocd -O board.elf=FILE`` sets one."""
        return [
            OptionInfo("board.elf", str, None, "ELF file put into the simulated board's memory at power-up."),
            OptionInfo("board.etb_size", int, None, "Size of the trace buffer in bytes (4096; m4: 2048)."),
            OptionInfo("board.truth", str, None, "File that receives what the simulated core really executed."),
            OptionInfo("board.truth_data", bool, False, "Whether that file also has every load and store."),
            OptionInfo("board.truth_registers", bool, False, "Whether that file also has the registers."),
            OptionInfo("board.comparators", int, 0, "Address comparator pairs of the trace unit (real ones: 0)."),
            OptionInfo("board.resources", str, "own", "Resources of the ETMv4 of m33 and m7: 'own' or 'full'."),
            OptionInfo("board.speculation", int, None, "How far the trace unit speculates: TRCIDR8.MAXSPEC (m7: 8)."),
            OptionInfo("board.data_trace", bool, False, "Whether m4 has a fuller trace unit, with data trace."),
            OptionInfo("board.write_buffer", bool, False, "Whether a Cortex-M's refused stores fault imprecisely."),
            OptionInfo("board.hold", bool, False, "Whether the a9's core waits until its trace unit is switched on."),
            OptionInfo("board.faults", str, None, "Comma-separated faults of the board, such as 'wait:10,no-etm'."),
        ]
