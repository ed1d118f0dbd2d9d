"""The trace funnel (SoC-400 TRM).

Instruction trace is at port 0, data trace at port 1.
"""

from __future__ import annotations

from typing import Callable

from gdb_etm.board.identity import ComponentDevice, identification

_PART_CSTF = 0x908
_PORTS = 2
_CONTROL = 0x000
_PRIORITY = 0x004
_PRIORITY_MASK = (1 << 3 * _PORTS) - 1
_MASKS = {_CONTROL: 0xF00 | (1 << _PORTS) - 1, _PRIORITY: _PRIORITY_MASK}


class FunnelDevice(ComponentDevice):
    """A programmable funnel.

    :param base: Address of its registers.
    :param out: Takes the trace of enabled ports: trace ID and bytes.
    """

    def __init__(self, base: int, out: Callable[[int, bytes], None]) -> None:
        super().__init__(base, identification(_PART_CSTF, devtype=0x12, devid=0x30 | _PORTS))
        self._out = out
        # After reset all ports are off and the minimum hold time is 3.
        self._registers = {_CONTROL: 0x300, _PRIORITY: 0xFAC688 & _PRIORITY_MASK}

    def take(self, port: int, trace_id: int, data: bytes) -> None:
        """Take trace at a port; a port that is off discards it."""
        if self._registers[_CONTROL] >> port & 1:
            self._out(trace_id, data)

    def _read(self, offset: int) -> int:
        return self._registers.get(offset, 0)

    def _write(self, offset: int, value: int) -> None:
        if offset in self._registers:
            self._registers[offset] = value & _MASKS[offset]
