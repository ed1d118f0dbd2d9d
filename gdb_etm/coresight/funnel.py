"""Programmable trace funnel: opens input ports.

Arm CoreSight SoC-400 TRM (DDI 0480G), 3.7.
"""

from __future__ import annotations

from typing import List

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.registers import funnel


class Funnel:
    """A funnel on the way from the trace unit to the buffer.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    :param inputs: Bit mask of the input ports that our trace may come in at.
    """

    def __init__(self, port: AccessPort, base: int, inputs: int) -> None:
        self._registers = Borrowed(port, base)
        self._inputs = inputs

    def attach(self) -> None:
        """Make its registers writable."""
        self._registers.unlock()

    def start(self) -> None:
        """Open the input ports besides those that are open."""
        control = self._registers.read(funnel.FUNNELCONTROL)
        wanted = control | funnel.FUNNELCONTROL.encode(ENS=self._inputs)
        if control != wanted:
            self._registers.write(funnel.FUNNELCONTROL, wanted)

    @property
    def open_inputs(self) -> int:
        """Bit mask of the input ports that are open now."""
        return funnel.FUNNELCONTROL.get(self._registers.read(funnel.FUNNELCONTROL), "ENS")

    def restoration(self) -> List[Restoration]:
        """List the writes that put its registers back as they were found, in order."""
        return self._registers.restoration()

    def release(self) -> None:
        """Put its registers back as they were found."""
        self._registers.restore()
