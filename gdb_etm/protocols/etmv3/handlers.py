"""Handlers of ETMv3 packets: fields read, elements handed on.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), chapter 7.
"""

from __future__ import annotations

from typing import Final, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.armv7.fields import Reason
from gdb_etm.protocols.armv7.handlers import Handlers
from gdb_etm.protocols.elements import Context, Cycles, Event
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.data import DataMatcher
from gdb_etm.protocols.etmv3.execution import Etmv3Execution
from gdb_etm.protocols.etmv3.packets import Kind, Sync, read_branch, read_count, read_sync
from gdb_etm.protocols.recorder import Spot

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class PacketContext(NamedTuple):
    """The part of the stream's state outside the execution."""

    context: Optional[Context]
    # Whether a cycle count that follows belongs to a gap.
    counts: bool


# Packets about loads and stores.
DATA_KINDS: Final = (
    Kind.NORMAL_DATA,
    Kind.OUT_OF_ORDER_DATA,
    Kind.PLACEHOLDER,
    Kind.NOT_TRACED,
    Kind.STORE_FAILED,
    Kind.DATA_SUPPRESSED,
)


class Etmv3Handlers(Handlers[Kind]):
    """One handler for each kind of packet.

    :param config: The unit's configuration.
    :param execution: Takes what the packets say.
    :param data: Takes data packets; None when the unit traces no data.
    """

    def __init__(self, config: Etmv3Config, execution: Etmv3Execution, data: Optional[DataMatcher]) -> None:
        super().__init__(config, execution)
        self._config = config
        self._execution = execution
        self._data = data
        # After the last I-sync packet that was not periodic: where a cycle count that follows belongs.
        self._gap: Optional[Spot] = None
        # Cycle counts of gaps, each with its spot; not recorded yet.
        self._late: List[Tuple[Spot, Event]] = []
        self._by_kind = {
            Kind.ASYNC: self._on_nothing,
            Kind.IGNORE: self._on_nothing,
            Kind.P_HEADER: lambda data, at, position: self._execution.header(data[at], position),
            Kind.BRANCH: self._on_branch,
            Kind.ISYNC: self._on_isync,
            Kind.ISYNC_CYCLES: self._on_isync,
            Kind.CYCLE_COUNT: self._on_cycle_count,
            Kind.TIMESTAMP: self._on_timestamp,
            Kind.TRIGGER: self._on_trigger,
            Kind.CONTEXT_ID: self._on_context_id,
            Kind.VMID: self._on_vmid,
            Kind.EXCEPTION_EXIT: self._on_exception_return,
            Kind.EXCEPTION_ENTRY: self._on_exception_entry,
        }

    def handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        """Handle one whole packet."""
        handler = self._by_kind.get(kind)
        if handler is not None:
            handler(data, at, position)
        elif self._data is not None and kind in DATA_KINDS:
            self._data.packet(kind, data, at, position)

    def lose(self) -> None:
        """Forget the compression state, as when synchronisation is lost."""
        super().lose()
        self._gap = None
        if self._data is not None:
            self._data.desynchronise()

    def finish(self) -> None:
        """Record the late cycle counts, and the transfers of the last instructions."""
        self._execution.recorder.insert_at(self._late)
        if self._data is not None:
            self._data.finish()

    def packet_context(self) -> PacketContext:
        """Give the present packet context."""
        return _new(PacketContext, (self._execution.context, self._gap is not None))

    def resume(self, packet_context: PacketContext) -> None:
        """Continue under the packet context after packets that were not handled here."""
        self._execution.context = packet_context.context
        if not packet_context.counts:
            self._gap = None

    def _on_branch(self, data: bytes, at: int, position: int) -> None:
        # Before the first I-sync packet there is nothing to read the address against.
        reference = self._execution.addresses.reference
        if reference is not None:
            self._execution.branch(read_branch(self._config, data, at, reference), position)

    # Synchronisation (7.10.5).

    def _on_isync(self, data: bytes, at: int, position: int) -> None:
        sync = read_sync(self._config, data, at)
        execution = self._execution
        first = not execution.is_synchronised
        execution.synchronise(sync.reason, position)
        execution.set_context(position, sync.non_secure, sync.hyp, sync.context_id)
        if sync.reason is not Reason.PERIODIC and self._config.cycle_accurate:
            self._gap = None
            if sync.cycles is None:
                self._gap = execution.recorder.here()
                execution.refused += 1
        if sync.cycles is not None:
            execution.event(_new(Cycles, (execution.offset(position), self._count(sync.cycles, sync.reason))))
        self._start(sync, first, position)

    def _start(self, sync: Sync, first: bool, position: int) -> None:
        execution = self._execution
        if sync.reason is Reason.PERIODIC and not first and sync.start is not None:
            execution.arrive(sync.start, position)
            return
        execution.restart(sync.start)
        if self._data is not None:
            self._data.lose()
        if sync.current is not None:
            # A load or store was in progress: it counts as traced, and another instruction is executing already.
            execution.run_one(position)
            execution.restart(sync.current.reference)
            if sync.current.information is not None:
                execution.set_context(position, sync.current.information.non_secure, sync.current.information.hyp)

    def _count(self, count: int, reason: Reason) -> Optional[int]:
        # Zero stands for a counter that overflowed. After an overflow of the FIFO the count means nothing in ETMv3.0
        # and ETMv3.5, after debug state in ETMv3.0 (7.3.4).
        if not count or reason is Reason.OVERFLOW and self._config.version in (0, 5):
            return None
        return None if reason is Reason.DEBUG and not self._config.version else count

    # Cycles and exceptions.

    def _on_cycle_count(self, data: bytes, at: int, position: int) -> None:
        # It belongs before the last I-sync packet that was not periodic (7.3.4).
        count, _ = read_count(data, at + 1)
        event = Cycles(self._execution.offset(position), count or None)
        if self._gap is None:
            self._execution.event(event)
        else:
            self._late.append((self._gap, event))
            self._gap = None

    def _on_exception_entry(self, data: bytes, at: int, position: int) -> None:
        if self._data is not None:
            self._data.enter()
