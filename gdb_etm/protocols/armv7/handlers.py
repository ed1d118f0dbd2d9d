"""Handlers of packets that ETMv3 and PTM share.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), chapter 7; CoreSight
Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, Hashable

from gdb_etm.protocols.armv7.clock import Clock
from gdb_etm.protocols.armv7.execution import Execution
from gdb_etm.protocols.armv7.fields import UnitConfig
from gdb_etm.protocols.elements import TraceEvent
from gdb_etm.protocols.stream import K

# ``handler(data, at, position)``: the packet's header is at index ``at``, which is ``position`` in the stream.
Handler = Callable[[bytes, int, int], None]


class Handlers(Generic[K]):
    """One handler for each kind of packet.

    :param config: The unit's configuration.
    :param execution: Takes what the packets say.
    """

    def __init__(self, config: UnitConfig, execution: Execution) -> None:
        self.execution = execution
        self._clock = Clock(config.timestamp_bytes, config.gray_timestamps)
        self._context_id_bytes = config.context_id_bytes
        self._by_kind: Dict[K, Handler] = {}

    def handle(self, kind: K, data: bytes, at: int, position: int) -> None:
        """Handle one whole packet."""
        self._by_kind[kind](data, at, position)

    def lose(self) -> None:
        """Forget the compression state, as when synchronisation is lost."""
        self._clock.lose()

    def finish(self) -> None:
        """Record what was held back until the end of the stream."""

    def packet_context(self) -> Hashable:
        """Give the present packet context."""
        return self.execution.context

    def resume(self, packet_context: Any) -> None:
        """Continue under the packet context after packets that were not handled here."""
        self.execution.context = packet_context

    def timestamp(self, data: bytes, at: int, end: int, position: int) -> int:
        """Take a timestamp packet.

        :param end: The index after the last byte that is there.
        :returns: The index after the packet; NEED_MORE, and nothing done, when it is not whole.
        """
        after, value = self._clock.take(data, at + 1, end)
        if value is not None:
            self.execution.recorder.time(value, position)
        return after

    def _on_nothing(self, data: bytes, at: int, position: int) -> None:
        pass

    def _on_timestamp(self, data: bytes, at: int, position: int) -> None:
        self.timestamp(data, at, len(data), position)

    def _on_trigger(self, data: bytes, at: int, position: int) -> None:
        self.execution.event(TraceEvent(self.execution.offset(position), 0))

    def _on_context_id(self, data: bytes, at: int, position: int) -> None:
        value = int.from_bytes(data[at + 1 : at + 1 + self._context_id_bytes], "little")
        self.execution.set_context(position, context_id=value)

    def _on_vmid(self, data: bytes, at: int, position: int) -> None:
        self.execution.set_context(position, vmid=data[at + 1])

    def _on_exception_return(self, data: bytes, at: int, position: int) -> None:
        if self.execution.is_synchronised:
            self.execution.returned(position)
