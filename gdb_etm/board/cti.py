"""Cross Trigger Interfaces and the matrix between them.

Ref: CoreSight Components TRM (DDI 0314H), 4; SoC-400 TRM (DDI 0480G), 3.9.
An active trigger input makes its channels active, and an active channel its trigger outputs.  Each output here waits
for software: it stays until CTIINTACK, and beyond while its channel is active.
"""

from __future__ import annotations

from typing import Callable, List, Mapping

from gdb_etm.board.identity import ComponentDevice

_CONTROL, _INTACK, _APPSET, _APPCLEAR, _APPPULSE, _INEN, _OUTEN = 0x000, 0x010, 0x014, 0x018, 0x01C, 0x020, 0x0A0
_TRIGIN, _TRIGOUT, _CHIN, _CHOUT, _GATE = 0x130, 0x134, 0x138, 0x13C, 0x140
_TRIGGERS = 8
_CHANNELS = 0xF
# DEVID of one with so many of both (DDI 0480G, 3.9.28).
DEVID = 4 << 16 | _TRIGGERS << 8


class TriggerMatrix:
    """The Cross Trigger Matrix: joins the channels of all interfaces."""

    def __init__(self) -> None:
        self.interfaces: List[CtiDevice] = []

    @property
    def active(self) -> int:
        """The channels that an interface makes active, as a mask."""
        return sum(1 << n for n in range(4) if any(each.sent >> n & 1 for each in self.interfaces))

    def update(self) -> None:
        """Let triggers become others."""
        active = self.active
        for each in self.interfaces:
            each.take(active)


class CtiDevice(ComponentDevice):
    """A Cross Trigger Interface.

    :param base: Address of its registers.
    :param identity: Its identification registers.
    :param inputs: What tells whether a trigger input is active, by its number; the others never are.
    :param matrix: What its channels go to.
    :param has_lock: Whether it has the software lock.
    """

    def __init__(
        self,
        base: int,
        identity: Mapping[int, int],
        inputs: Mapping[int, Callable[[], bool]],
        matrix: TriggerMatrix,
        has_lock: bool,
    ) -> None:
        super().__init__(base, identity, has_lock)
        self._inputs = inputs
        self._matrix = matrix
        self._enabled = self._application = 0
        self._in = [0] * _TRIGGERS
        self._out = [0] * _TRIGGERS
        self._gate = _CHANNELS
        # Trigger outputs that are active.
        self._outputs = 0
        matrix.interfaces.append(self)

    @property
    def sent(self) -> int:
        """The channels that it makes active elsewhere."""
        return self._own & self._gate

    @property
    def listens(self) -> bool:
        """Whether a channel may reach its first trigger output."""
        return bool(self._enabled and self._out[0])

    def output(self, number: int) -> bool:
        """Tell whether a trigger output is active."""
        self._matrix.update()
        return bool(self._outputs >> number & 1)

    def take(self, active: int) -> None:
        """Take channels that are active elsewhere."""
        if not self._enabled:
            self._outputs = 0
            return
        channels = self._own | active & self._gate
        self._outputs |= sum(1 << n for n, wanted in enumerate(self._out) if wanted & channels)

    @property
    def _triggers(self) -> int:
        return sum(1 << number for number, is_active in self._inputs.items() if is_active())

    @property
    def _own(self) -> int:
        channels, triggers = self._application, self._triggers
        for number, wanted in enumerate(self._in):
            if triggers >> number & 1:
                channels |= wanted
        return channels if self._enabled else 0

    def _read(self, offset: int) -> int:
        self._matrix.update()
        if _INEN <= offset < _INEN + 4 * _TRIGGERS:
            return self._in[(offset - _INEN) // 4]
        if _OUTEN <= offset < _OUTEN + 4 * _TRIGGERS:
            return self._out[(offset - _OUTEN) // 4]
        registers = {
            _CONTROL: self._enabled,
            _APPSET: self._application,
            _TRIGIN: self._triggers,
            _TRIGOUT: self._outputs,
            _CHIN: self._matrix.active,
            _CHOUT: self.sent,
            _GATE: self._gate,
        }
        return registers.get(offset, 0)

    def _write(self, offset: int, value: int) -> None:
        self._matrix.update()
        if _INEN <= offset < _INEN + 4 * _TRIGGERS:
            self._in[(offset - _INEN) // 4] = value & _CHANNELS
        elif _OUTEN <= offset < _OUTEN + 4 * _TRIGGERS:
            self._out[(offset - _OUTEN) // 4] = value & _CHANNELS
        elif offset == _CONTROL:
            self._enabled = value & 1
        elif offset == _INTACK:
            self._outputs &= ~value
        elif offset == _APPSET:
            self._application |= value & _CHANNELS
        elif offset == _APPCLEAR:
            self._application &= ~value
        elif offset == _GATE:
            self._gate = value & _CHANNELS
        elif offset == _APPPULSE:
            before, self._application = self._application, self._application | value & _CHANNELS
            self._matrix.update()
            self._application = before
        self._matrix.update()
