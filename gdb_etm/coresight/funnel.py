"""Programmable trace funnel: opens input ports.

Arm CoreSight SoC-400 TRM (DDI 0480G), 3.7.
"""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.steps import RegisterChange, Step, carry_out
from gdb_etm.registers import funnel


class Funnel:
    """A funnel on the way from the trace unit to the buffer.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    :param inputs: Bit mask of the input ports that our trace may come in at.
    """

    def __init__(self, port: AccessPort, base: int, inputs: int) -> None:
        self.registers = Borrowed(port, base)
        self._inputs = inputs

    def attach(self) -> None:
        """Make its registers writable."""
        self.registers.unlock()

    def steps(self) -> Tuple[Step, ...]:
        """Return the steps that let our trace through."""
        register = funnel.FUNNELCONTROL
        ports = register.encode(ENS=self._inputs)
        return (RegisterChange(register.name, register.offset, ports, ports, "open the input ports"),)

    def start(self) -> None:
        """Open the input ports besides those that are open."""
        carry_out(self.steps(), self.registers, funnel.PAGE, Deadline())

    @property
    def open_inputs(self) -> int:
        """Bit mask of the input ports that are open now."""
        return funnel.FUNNELCONTROL.get(self.registers.read(funnel.FUNNELCONTROL), "ENS")

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        return self.registers.restoration()

    def release(self) -> None:
        """Put its registers back as they were found."""
        self.registers.restore()
