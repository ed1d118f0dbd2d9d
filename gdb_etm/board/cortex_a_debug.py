"""Debug registers of a Cortex-A9 as a debugger reaches them: halting, and letting run (DDI 0406, C11; DDI 0388)."""

from __future__ import annotations

from typing import Dict

from gdb_etm.board.cortex_a import CortexACore
from gdb_etm.board.identity import SoftwareLock, identification

PART_DEBUG = 0xC09
_DIDR, _DSCR, _DRCR, _PRSR, _AUTHSTATUS = 0x000, 0x088, 0x090, 0x314, 0xFB8
_HALTED, _RESTARTED, _HALTING_DEBUG = 1 << 0, 1 << 1, 1 << 14
_HALT, _RESTART = 1 << 0, 1 << 1


class CoreDebug:
    """The part of the registers that a script needs to halt the core and to let it run.

    :param base: Their address.
    :param core: The core.
    """

    size = 0x1000

    def __init__(self, base: int, core: CortexACore) -> None:
        self.base = base
        self._core = core
        self._lock = SoftwareLock()
        # DBGDIDR: six breakpoints, four watchpoints, v7 debug; DBGPRSR: powered; everything is permitted.
        self._fixed: Dict[int, int] = {_DIDR: 0x35137030, _PRSR: 1, _AUTHSTATUS: 0xFF}
        self._fixed.update(identification(PART_DEBUG, devtype=0x15))

    def read32(self, offset: int) -> int:
        """Read a register."""
        core = self._core
        if offset == _DSCR:
            stopped = core.halted or core.held
            return (_HALTED if stopped else 0) | _RESTARTED | (_HALTING_DEBUG if core.halting_debug else 0)
        if offset == SoftwareLock.LSR:
            return self._lock.status()
        return self._fixed.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked."""
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif self._lock.locked:
            return
        elif offset == _DSCR:
            self._core.halting_debug = bool(value & _HALTING_DEBUG)
        elif offset == _DRCR and value & _HALT:
            self._core.halt()
        elif offset == _DRCR and value & _RESTART:
            self._core.held = False
            self._core.resume()
