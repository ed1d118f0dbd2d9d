"""The trace funnel: joins the trace of its ports; instruction trace is at port 0, data at port 1 (SoC-400 TRM)."""

from __future__ import annotations

from typing import Callable, Dict

from gdb_etm.board.identity import SoftwareLock, identification

_PART_CSTF = 0x908
_PORTS = 2
_CONTROL = 0x000
_PRIORITY = 0x004
_CONTROL_MASK = 0xF00 | (1 << _PORTS) - 1
_PRIORITY_MASK = (1 << 3 * _PORTS) - 1


class FunnelDevice:
    """A programmable funnel.

    :param base: Address of its registers.
    :param out: Takes the trace of enabled ports: trace ID and bytes.
    """

    size = 0x1000

    def __init__(self, base: int, out: Callable[[int, bytes], None]) -> None:
        self.base = base
        self._out = out
        self._lock = SoftwareLock()
        # After reset all ports are off and the minimum hold time is 3.
        self._registers: Dict[int, int] = {_CONTROL: 0x300, _PRIORITY: 0xFAC688 & _PRIORITY_MASK}
        self._registers.update(identification(_PART_CSTF, devtype=0x12, devid=0x30 | _PORTS))

    def take(self, port: int, trace_id: int, data: bytes) -> None:
        """Take trace at a port; a port that is off discards it."""
        if self._registers[_CONTROL] >> port & 1:
            self._out(trace_id, data)

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == SoftwareLock.LSR:
            return self._lock.status()
        return self._registers.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked."""
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif self._lock.locked:
            return
        elif offset == _CONTROL:
            self._registers[_CONTROL] = value & _CONTROL_MASK
        elif offset == _PRIORITY:
            self._registers[_PRIORITY] = value & _PRIORITY_MASK
