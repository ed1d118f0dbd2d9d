"""Cross Trigger Interface: triggers to channels, channels to triggers.

Arm CoreSight Components TRM (DDI 0314H), 4.4.  A trigger input that is active keeps its channels active, and a channel
its trigger outputs.  An output to a processor's debug request stays active until it is acknowledged, and is so again at
once while its channel is active.
"""

from __future__ import annotations

from typing import List, NoReturn, Tuple

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError
from gdb_etm.registers import cti


class CrossTriggerInterface:
    """A Cross Trigger Interface while we use it.

    :param component: Where it is.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self._registers = Borrowed(component.port, component.address)
        self._triggers = self._channels = 0

    def attach(self) -> None:
        """Make its registers writable, and learn what it has."""
        self._registers.unlock()
        devid = cti.DEVID.decode(self.component.identity.devid)
        self._triggers, self._channels = min(devid["NUMTRIG"], len(cti.INEN)), devid["NUMCHAN"]

    def inputs(self) -> int:
        """Read which trigger inputs are active, as a mask."""
        return self._registers.read(cti.TRIGINSTATUS)

    def is_active(self, output: int) -> bool:
        """Tell whether a trigger output is active."""
        return bool(self._registers.read(cti.TRIGOUTSTATUS) >> output & 1)

    @property
    def channels(self) -> int:
        """Mask of the channels that it has."""
        return (1 << self._channels) - 1

    def used_channels(self) -> int:
        """Read which channels it joins with triggers, as a mask."""
        used = self._registers.read(cti.APPSET)
        for value in (*self._enables(cti.INEN[0].offset), *self._enables(cti.OUTEN[0].offset)):
            used |= value
        return used

    def clear(self) -> None:
        """Undo what others have joined but not turned on.

        It must not come alive with ours.
        """
        if cti.CONTROL.get(self._registers.read(cti.CONTROL), "GLBEN"):
            return
        for array in (cti.INEN, cti.OUTEN):
            for number, value in enumerate(self._enables(array[0].offset)):
                if value:
                    self._registers.write(array[number], 0)

    def connect_input(self, number: int, channel: int) -> None:
        """Let a trigger input activate a channel."""
        self._add(cti.INEN[number].offset, channel)

    def connect_output(self, number: int, channel: int) -> None:
        """Let a channel activate a trigger output.

        It is acknowledged when the registers are put back.
        """
        self._registers.undo_by(cti.INTACK, 1 << number)
        self._add(cti.OUTEN[number].offset, channel)

    def enable(self, channel: int) -> None:
        """Turn it on, and let a channel pass its gate."""
        self._add(cti.GATE.offset, channel)
        self._registers.write(cti.CONTROL, cti.CONTROL.encode(GLBEN=1))

    def acknowledge(self, output: int, deadline: Deadline) -> None:
        """Make a trigger output inactive.

        :raises CaptureError: It stays active.
        """
        self._registers.command(cti.INTACK, 1 << output)
        deadline.wait_until(lambda: int(self.is_active(output)), lambda value: not value, self._late)

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        return self._registers.restoration(cti.CONTROL)

    def release(self) -> None:
        """Put its registers back as they were found."""
        self._registers.restore(cti.CONTROL)

    def _late(self, _value: int) -> NoReturn:
        words = "%s: a trigger output stays active after CTIINTACK: what triggers it does not end"
        raise CaptureError(words % (self.component,))

    def _enables(self, offset: int) -> Tuple[int, ...]:
        registers = self._registers
        return tuple(registers.port.read_block(registers.base + offset, self._triggers)) if self._triggers else ()

    def _add(self, offset: int, channel: int) -> None:
        register = cti.PAGE.by_offset[offset]
        value = self._registers.read(register)
        if not value >> channel & 1:
            self._registers.write(register, value | 1 << channel)
