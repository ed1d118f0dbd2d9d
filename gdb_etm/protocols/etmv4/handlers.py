"""What each kind of packet means: its fields, read and handed to the execution.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional

from gdb_etm.protocols.elements import Cycles, Exception_, ExceptionReturn, GapReason, Timestamp, TraceEvent
from gdb_etm.protocols.etmv4 import exceptions
from gdb_etm.protocols.etmv4.automaton import ADDRESS_KINDS
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.execution import Execution
from gdb_etm.protocols.etmv4.packets import (
    ATOMS,
    Address,
    Kind,
    push_address,
    read_address,
    read_context,
    read_cycle_count,
    read_exception,
    read_timestamp,
    read_trace_info,
)
from gdb_etm.protocols.etmv4.places import AFTER_BRANCH, EXPECTED, LOST

Handler = Callable[[bytes, int, int], None]
"""``handler(data, at, position)``: the packet's header is at index ``at``, which is ``position`` in the stream."""

# Packets that change which instructions ran, or whose P0 elements are not understood: the place is lost.
_SPECULATIVE = (
    Kind.COMMIT,
    Kind.CANCEL_1,
    Kind.CANCEL_2,
    Kind.CANCEL_3,
    Kind.MISPREDICT,
    Kind.UNNUMBERED_SYNC,
    Kind.FUNCTION_RETURN,
    Kind.RESYNCHRONIZATION,
    Kind.Q,
)
_SILENT = (Kind.ASYNC, Kind.IGNORE, Kind.TIMESTAMP_MARKER, Kind.BRANCH_FUTURE_FLUSH)
_CYCLE_COUNTS = (Kind.CYCLE_COUNT_1, Kind.CYCLE_COUNT_2, Kind.CYCLE_COUNT_3)


class Handlers:
    """One handler for each kind of packet.

    :param config: The unit's configuration.
    :param execution: What the packets act on.
    """

    def __init__(self, config: Etmv4Config, execution: Execution) -> None:
        self._config = config
        self._execution = execution
        self._recorder = execution.recorder
        self._timestamp = 0
        self._threshold = 0
        self._speculates = ""
        if config.max_speculation:
            self._speculates = "speculative execution (TRCIDR8.MAXSPEC is %d)" % config.max_speculation
        self._by_kind = self._all()

    def handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        """Handle one whole packet."""
        handler = self._by_kind.get(kind)
        if handler is not None:
            handler(data, at, position)
        else:
            self._not_decoded(kind, position)

    def _all(self) -> Dict[Kind, Handler]:
        handlers: Dict[Kind, Handler] = {kind: self._on_nothing for kind in _SILENT}
        handlers.update({kind: self._on_cycle_count for kind in _CYCLE_COUNTS})
        handlers.update({kind: self._on_address for kind in ADDRESS_KINDS})
        handlers.update(
            {
                Kind.TRACE_INFO: self._on_trace_info,
                Kind.TRACE_ON: self._on_trace_on,
                Kind.DISCARD: self._on_discard,
                Kind.OVERFLOW: self._on_overflow,
                Kind.TIMESTAMP: self._on_timestamp,
                Kind.EVENT: self._on_event,
                Kind.CONTEXT: self._on_context,
                Kind.ADDRESS_CONTEXT: self._on_address_context,
                Kind.ATOM: self._on_atom,
                Kind.Q: self._on_q,
                Kind.EXCEPTION: self._on_exception,
                Kind.EXCEPTION_RETURN: self._on_exception_return,
            }
        )
        return handlers

    def _not_decoded(self, kind: Kind, position: int) -> None:
        if not self._execution.refused:
            self._execution.gap(position, GapReason.NOT_DECODED, kind.value)
        if kind in _SPECULATIVE:
            self._execution.set(LOST)

    # Synchronisation and discontinuity (6.4.2).

    def _on_trace_info(self, data: bytes, at: int, position: int) -> None:
        info, _ = read_trace_info(data, at)
        self._timestamp = 0
        self._threshold = info.cycle_threshold
        execution = self._execution
        refused = self._speculates or ("loads and stores traced as branches" if info.info & 0x30 else "")
        if refused and refused != execution.refused:
            execution.gap(position, GapReason.NOT_DECODED, refused)
        execution.refused = refused
        execution.synchronise()

    def _on_nothing(self, data: bytes, at: int, position: int) -> None:
        pass

    def _on_trace_on(self, data: bytes, at: int, position: int) -> None:
        self._execution.gap(position, GapReason.TRACE_ON)
        self._execution.set(EXPECTED)

    def _on_discard(self, data: bytes, at: int, position: int) -> None:
        self._execution.gap(position, GapReason.DISCARD)
        self._execution.set(LOST)

    def _on_overflow(self, data: bytes, at: int, position: int) -> None:
        self._execution.gap(position, GapReason.OVERFLOW)
        self._execution.set(LOST)

    # Time and events (6.4.3, 6.4.6, 6.4.11).

    def _on_timestamp(self, data: bytes, at: int, position: int) -> None:
        self._timestamp, cycles, _ = read_timestamp(data, at, self._timestamp)
        count = cycles if cycles >= 0 else None
        self._recorder.event(Timestamp(self._recorder.offset_of(position), self._timestamp, count))

    def _on_cycle_count(self, data: bytes, at: int, position: int) -> None:
        count = read_cycle_count(data, at, self._config.commit_mode)
        cycles = self._threshold + count if count >= 0 else None
        self._recorder.event(Cycles(self._recorder.offset_of(position), cycles))

    def _on_event(self, data: bytes, at: int, position: int) -> None:
        for number in range(4):
            if data[at] >> number & 1:
                self._recorder.event(TraceEvent(self._recorder.offset_of(position), number))

    def _on_context(self, data: bytes, at: int, position: int) -> None:
        if data[at] & 1:
            self._execution.set_context(read_context(self._config, data, at + 1)[0], position)
        else:
            self._execution.same_context(position)

    def _on_address(self, data: bytes, at: int, position: int) -> None:
        address, _ = read_address(data[at], data, at + 1, self._execution.state.addresses)
        self._execution.arrive(address, position)

    def _on_address_context(self, data: bytes, at: int, position: int) -> None:
        address, after = read_address(data[at], data, at + 1, self._execution.state.addresses)
        self._execution.set_context(read_context(self._config, data, after)[0], position)
        self._execution.arrive(address, position)

    # Execution (6.4.5, 6.4.13, 6.4.14).

    def _on_atom(self, data: bytes, at: int, position: int) -> None:
        self._execution.atoms(ATOMS[data[at]], position)

    def _on_q(self, data: bytes, at: int, position: int) -> None:
        # Which instructions ran is not decoded, but the address registers have to follow (6.4.14).
        form = data[at] & 0xF
        self._not_decoded(Kind.Q, position)
        if form not in (0xC, 0xF):
            address, _ = read_address(0x90 | form, data, at + 1, self._execution.state.addresses)
            self._execution.arrive(address, position)

    def _on_exception_return(self, data: bytes, at: int, position: int) -> None:
        if self._speculates:
            return  # it may be cancelled
        self._recorder.event(ExceptionReturn(self._recorder.offset_of(position)))
        if self._execution.state.place is AFTER_BRANCH:
            self._execution.set(EXPECTED)

    def _on_exception(self, data: bytes, at: int, position: int) -> None:
        fields, after = read_exception(data, at)
        header = data[after]
        execution = self._execution
        state = execution.state
        address, after = read_address(header, data, after + 1, state.addresses)
        context = read_context(self._config, data, after)[0] if header < 0x90 else None
        reset = fields.number == exceptions.reset(self._config.m_profile)
        if fields.elements == 2 and not reset:
            if context is not None:
                execution.set_context(context, position)
            execution.arrive(address, position)
        else:
            execution.set(state.place, push_address(state.addresses, address), told=state.told)
            if not reset and not self._nothing_ran(self._virtual(address)):
                execution.run_until(self._virtual(address), position)
            if context is not None:
                execution.set_context(context, position)
        if not self._speculates:  # else it may be cancelled
            self._tell_exception(fields.number, None if reset else self._virtual(address), position)

    def _tell_exception(self, number: int, return_address: Optional[int], position: int) -> None:
        m_profile = self._config.m_profile
        name, vector = exceptions.exception_name(number, m_profile)
        offset = self._recorder.offset_of(position)
        self._recorder.event(Exception_(offset, number, name, vector, return_address))
        if exceptions.may_go_on(number, m_profile):
            self._execution.set(self._execution.state.place, told=True)
        else:
            self._execution.set(EXPECTED)

    def _virtual(self, address: Address) -> int:
        return address.address if self._execution.wide else address.address & 0xFFFFFFFF

    def _nothing_ran(self, return_address: int) -> bool:
        return self._config.m_profile and exceptions.nothing_ran(return_address)
