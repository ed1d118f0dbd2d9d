"""Handlers of ETMv4 packets: fields read, elements handed on.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Final, Optional, Tuple, Union

from gdb_etm.protocols.elements import Context, Cycles, GapReason, Timestamp, TraceEvent
from gdb_etm.protocols.etmv4 import exceptions
from gdb_etm.protocols.etmv4.automaton import ADDRESS_KINDS
from gdb_etm.protocols.etmv4.conditional import CONDITIONAL_KINDS
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.execution import Execution, TakenException
from gdb_etm.protocols.etmv4.log import Log, Marker, Time
from gdb_etm.protocols.etmv4.packets import (
    ATOMS,
    NO_CONTEXT,
    ContextFields,
    Kind,
    read_address,
    read_context,
    read_continued,
    read_cycle_count,
    read_exception,
    read_timestamp,
    read_trace_info,
)
from gdb_etm.protocols.etmv4.resolution import (
    read_cancel,
    read_commit,
    read_cycle_commit,
    read_mispredict,
    read_sync_mark,
)
from gdb_etm.protocols.etmv4.results import ConditionalHandlers

if TYPE_CHECKING:
    from gdb_etm.protocols.etmv4.speculation import Speculation

# ``handler(data, at, position)``: the packet's header is at index ``at``, which is ``position`` in the stream.
Handler = Callable[[bytes, int, int], None]

# The last context, what Context packets are compressed against, the threshold of cycle counts, whether there was a
# timestamp since the last Trace Info.
PacketContext = Tuple[
    Optional[Tuple[Optional[int], bool, bool, Optional[int], Optional[int]]], ContextFields, int, bool
]

# What takes the elements of a stream.
Elements = Union[Execution, "Speculation"]

_CYCLE_COUNTS: Final = (Kind.CYCLE_COUNT_1, Kind.CYCLE_COUNT_2, Kind.CYCLE_COUNT_3)
_NO_SPECULATION: Final = "%s, from a unit that does not speculate (TRCIDR8.MAXSPEC is 0)"


class Handlers:
    """One handler for each kind of packet.

    It keeps what packets are compressed against (Table 6-4), but for the address registers, which the taker of the
    elements has: they are part of what its memory of the stream goes by.

    :param config: The unit's configuration.
    :param execution: What is certain.
    :param speculation: What is not certain yet; None for a unit whose elements all are, and which keeps no log.
    :param log: Takes what the analysis of data needs besides P0 elements; None when nobody needs it.
    """

    def __init__(
        self,
        config: Etmv4Config,
        execution: Execution,
        speculation: Optional[Speculation] = None,
        log: Optional[Log] = None,
    ) -> None:
        self._config = config
        self._execution = execution
        self._speculation = speculation if config.max_speculation else None
        self._elements: Elements = execution if speculation is None else speculation
        self._log = log
        self._offset_of = execution.recorder.offset_of
        self._timestamp = 0
        self._threshold = 0
        self._fields = NO_CONTEXT
        self._by_kind = self._all()
        self._conditional: Optional[ConditionalHandlers] = None
        if log is not None:
            self._conditional = ConditionalHandlers(config, log.conditions)
            self._by_kind.update(self._conditional.handlers())

    def packet_context(self) -> PacketContext:
        """Give the present packet context, time aside."""
        context = self._execution.context
        return (context[1:] if context is not None else None, self._fields, self._threshold, self._timestamp != 0)

    def resume(self, packet_context: PacketContext) -> None:
        """Continue under a packet context, without its packets handled."""
        context, self._fields, self._threshold, has_time = packet_context
        old = self._execution.context
        if context is not None and (old is None or old[1:] != context):
            self._execution.context = Context(-1, *context)
        if not has_time:
            self._timestamp = 0

    def handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        """Handle one whole packet."""
        handler = self._by_kind.get(kind)
        if handler is not None:
            handler(data, at, position)
        elif not self._execution.refused:
            self._elements.gap(position, GapReason.NOT_DECODED, kind.value)

    def handle_reserved(self, kind: Kind, data: bytes, at: int, position: int, field: str) -> bool:
        """Handle a whole packet with a reserved field.

        :returns: False when nothing is certain until the next Trace Info.
        """
        detail = "reserved %s in %s" % (field, kind.value)
        if kind is not Kind.TRACE_INFO and kind not in CONDITIONAL_KINDS:
            self._elements.lose(position, GapReason.BAD_PACKET, detail)
            return False
        self._elements.gap(position, GapReason.BAD_PACKET, detail)
        if kind is Kind.TRACE_INFO:
            self._on_trace_info(data, at, position)
        elif self._conditional is not None:
            self._conditional.lose()
        return True

    def _all(self) -> Dict[Kind, Handler]:
        handlers: Dict[Kind, Handler] = {kind: self._on_nothing for kind in (Kind.ASYNC, Kind.IGNORE)}
        handlers.update({kind: self._on_cycle_count for kind in _CYCLE_COUNTS})
        handlers.update({kind: self._on_address for kind in ADDRESS_KINDS})
        handlers.update({kind: self._on_cancel for kind in (Kind.CANCEL_1, Kind.CANCEL_2, Kind.CANCEL_3)})
        handlers.update({kind: self._on_sync_mark for kind in (Kind.NUMBERED_SYNC, Kind.UNNUMBERED_SYNC)})
        handlers.update(
            {
                Kind.TRACE_INFO: self._on_trace_info,
                Kind.TRACE_ON: self._on_trace_on,
                Kind.DISCARD: self._on_discard,
                Kind.OVERFLOW: self._on_overflow,
                Kind.BRANCH_FUTURE_FLUSH: self._on_branch_future_flush,
                Kind.RESYNCHRONIZATION: self._on_resynchronization,
                Kind.TIMESTAMP: self._on_timestamp,
                Kind.TIMESTAMP_MARKER: self._on_timestamp_marker,
                Kind.EVENT: self._on_event,
                Kind.CONTEXT: self._on_context,
                Kind.ADDRESS_CONTEXT: self._on_address_context,
                Kind.ATOM: self._on_atom,
                Kind.Q: self._on_q,
                Kind.EXCEPTION: self._on_exception,
                Kind.EXCEPTION_RETURN: self._on_exception_return,
                Kind.FUNCTION_RETURN: self._on_function_return,
                Kind.COMMIT: self._on_commit,
                Kind.MISPREDICT: self._on_mispredict,
                Kind.CONDITIONAL_FLUSH: self._on_conditional_flush,
            }
        )
        return handlers

    # Synchronisation and discontinuity (6.4.2, 6.4.15).

    def _on_trace_info(self, data: bytes, at: int, position: int) -> None:
        info, _ = read_trace_info(data, at)
        self._timestamp = 0
        self._threshold = info.cycle_threshold
        self._fields = NO_CONTEXT._replace(vmid=min(self._fields.vmid, 0), context_id=min(self._fields.context_id, 0))
        traced = bool(info.info & 0x10), bool(info.info & 0x20)
        refused = ""
        if traced != (self._config.loads, self._config.stores):
            refused = "loads or stores are traced as branches, and TRCCONFIGR.INSTP0 says otherwise"
        if refused and refused != self._execution.refused:
            self._elements.gap(position, GapReason.NOT_DECODED, refused)
        self._execution.refused = refused
        self._elements.synchronise(info, position)
        if self._conditional is not None:
            self._conditional.inform(info)

    def _on_nothing(self, data: bytes, at: int, position: int) -> None:
        pass

    def _on_trace_on(self, data: bytes, at: int, position: int) -> None:
        self._elements.trace_on(position)

    def _on_discard(self, data: bytes, at: int, position: int) -> None:
        self._elements.cut(position, GapReason.DISCARD)

    def _on_overflow(self, data: bytes, at: int, position: int) -> None:
        self._elements.cut(position, GapReason.OVERFLOW)

    def _on_branch_future_flush(self, data: bytes, at: int, position: int) -> None:
        self._elements.flush_future()

    def _on_resynchronization(self, data: bytes, at: int, position: int) -> None:
        self._elements.resynchronise(position)

    # Time and events (6.4.3, 6.4.6, 6.4.7, 6.4.11).

    def _on_timestamp(self, data: bytes, at: int, position: int) -> None:
        self._timestamp, cycles, _ = read_timestamp(data, at, self._timestamp)
        count = cycles if cycles >= 0 else None
        self._elements.event(Timestamp(self._offset_of(position), self._timestamp, count))
        if self._log is not None:
            self._log.items.append(Time(self._timestamp))

    def _on_timestamp_marker(self, data: bytes, at: int, position: int) -> None:
        self._elements.mark_time()

    def _on_cycle_count(self, data: bytes, at: int, position: int) -> None:
        # A unit that does not speculate commits every P0 element at once, whatever the packet says of it.
        commits = read_cycle_commit(data, at, self._config)
        if self._speculation is not None and commits:
            self._speculation.commit(commits, position)
        count = read_cycle_count(data, at, self._config.commit_mode)
        cycles = self._threshold + count if count >= 0 else None
        self._elements.cycle_count(Cycles(self._offset_of(position), cycles))

    def _on_event(self, data: bytes, at: int, position: int) -> None:
        for number in range(4):
            if data[at] >> number & 1:
                self._elements.event(TraceEvent(self._offset_of(position), number))

    def _on_sync_mark(self, data: bytes, at: int, position: int) -> None:
        mark = read_sync_mark(data, at)
        self._elements.atoms(mark.atoms, position)
        if self._log is not None:
            self._log.items.append(Marker(mark.number))

    # Address and context (6.4.12).

    def _on_context(self, data: bytes, at: int, position: int) -> None:
        fields = self._context(data, at + 1) if data[at] & 1 else self._fields
        self._elements.set_context(fields, position)

    def _context(self, data: bytes, at: int) -> ContextFields:
        # What a packet leaves out is as it was.
        fields = read_context(self._config, data, at)[0]
        vmid = fields.vmid if fields.vmid >= 0 else self._fields.vmid
        context_id = fields.context_id if fields.context_id >= 0 else self._fields.context_id
        self._fields = fields._replace(vmid=vmid, context_id=context_id)
        return self._fields

    def _on_address(self, data: bytes, at: int, position: int) -> None:
        address, _ = read_address(data[at], data, at + 1, self._elements.addresses)
        self._elements.arrive(address, position)

    def _on_address_context(self, data: bytes, at: int, position: int) -> None:
        address, after = read_address(data[at], data, at + 1, self._elements.addresses)
        self._elements.set_context(self._context(data, after), position)
        self._elements.arrive(address, position)

    # P0 elements (6.4.4, 6.4.5, 6.4.13, 6.4.14).

    def _on_atom(self, data: bytes, at: int, position: int) -> None:
        self._elements.atoms(ATOMS[data[at]], position)

    def _on_q(self, data: bytes, at: int, position: int) -> None:
        # The address comes before the count, but the element before the Address element.
        form = data[at] & 0xF
        if form == 0xF:
            self._elements.q(None, position)
            return
        address, after = None, at + 1
        if form != 0xC:
            address, after = read_address(0x90 | form, data, after, self._elements.addresses)
        self._elements.q(read_continued(data, after)[0], position)
        if address is not None:
            self._elements.arrive(address, position)

    def _on_exception(self, data: bytes, at: int, position: int) -> None:
        fields, after = read_exception(data, at)
        header = data[after]
        elements = self._elements
        address, after = read_address(header, data, after + 1, elements.addresses)
        context = self._context(data, after) if header < 0x90 else None
        # The address of a PE reset means nothing, so it does not say either where the branch before it went (5.2.7).
        arrived = fields.elements == 2 and fields.number != exceptions.reset(self._config.m_profile)
        if arrived:
            if context is not None:
                elements.set_context(context, position)
            elements.arrive(address, position)
        elements.exception(TakenException(fields, address, None if arrived else context, arrived), position)

    def _on_exception_return(self, data: bytes, at: int, position: int) -> None:
        self._elements.exception_return(position)

    def _on_function_return(self, data: bytes, at: int, position: int) -> None:
        self._elements.function_return(position)

    # What becomes of P0 elements (6.4.8).

    def _on_commit(self, data: bytes, at: int, position: int) -> None:
        if self._speculation is not None:
            self._speculation.commit(read_commit(data, at), position)
        else:
            self._unspeculative("Commit", position)

    def _on_cancel(self, data: bytes, at: int, position: int) -> None:
        cancel = read_cancel(data, at)
        self._elements.atoms(cancel.atoms, position)
        if self._speculation is None:
            self._unspeculative("Cancel", position)
            return
        self._speculation.cancel(cancel.elements, position)
        if cancel.mispredict:
            self._speculation.mispredict(position)

    def _on_mispredict(self, data: bytes, at: int, position: int) -> None:
        self._elements.atoms(read_mispredict(data, at), position)
        if self._speculation is not None:
            self._speculation.mispredict(position)
        else:
            self._unspeculative("Mispredict", position)

    def _unspeculative(self, name: str, position: int) -> None:
        # Something else than the configuration's unit wrote this: where execution stands is no longer certain.
        self._elements.cut(position, GapReason.BAD_PACKET, _NO_SPECULATION % name)

    def _on_conditional_flush(self, data: bytes, at: int, position: int) -> None:
        self._elements.flush_conditions()
