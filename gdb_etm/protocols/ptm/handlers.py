"""Handlers of PTM packets: fields read, elements handed on.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.
"""

from __future__ import annotations

from typing import Final

from gdb_etm.protocols.armv7.fields import Reason
from gdb_etm.protocols.armv7.handlers import Handlers
from gdb_etm.protocols.elements import Cycles
from gdb_etm.protocols.ptm.automaton import PtmAutomaton
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.execution import PtmExecution
from gdb_etm.protocols.ptm.headers import timestamp_length
from gdb_etm.protocols.ptm.packets import Kind, count_end, read_branch, read_count, read_sync, read_update
from gdb_etm.protocols.stream import NEED_MORE

# Bytes that hold any timestamp packet with its count.
_LONGEST_TIMESTAMP: Final = 16
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class PtmHandlers(Handlers[Kind]):
    """One handler for each kind of packet.

    Cycle counts stand after what they belong to.

    :param config: The unit's configuration.
    :param automaton: Reads atoms.
    :param execution: Takes what the packets say.
    """

    def __init__(self, config: PtmConfig, automaton: PtmAutomaton, execution: PtmExecution) -> None:
        super().__init__(config, execution)
        self._config = config
        self._automaton = automaton
        self._execution = execution
        self._timestamp_size = timestamp_length(config)
        self._counted = config.cycle_accurate
        self._by_kind = {
            Kind.ASYNC: self._on_nothing,
            Kind.IGNORE: self._on_nothing,
            Kind.ATOM: self._on_atom,
            Kind.BRANCH: self._on_branch,
            Kind.ISYNC: self._on_isync,
            Kind.WAYPOINT_UPDATE: self._on_update,
            Kind.TIMESTAMP: self._on_timestamp,
            Kind.TRIGGER: self._on_trigger,
            Kind.CONTEXT_ID: self._on_context_id,
            Kind.VMID: self._on_vmid,
            Kind.EXCEPTION_RETURN: self._on_exception_return,
        }

    # Program flow (4.5.2 to 4.5.5).

    def _on_atom(self, data: bytes, at: int, position: int) -> None:
        atoms, cycles = self._automaton.atoms(data, at)
        self._execution.atoms(atoms, position)
        self._count(cycles, position)

    def _on_branch(self, data: bytes, at: int, position: int) -> None:
        # Before the first I-sync packet there is nothing to read the address against.
        reference = self._execution.addresses.reference
        if reference is None:
            return
        branch = read_branch(data, at, reference)
        self._execution.branch(branch, position)
        if self._config.cycle_accurate:
            self._count(read_count(data, branch.after), position)

    def _on_update(self, data: bytes, at: int, position: int) -> None:
        reference = self._execution.addresses.reference
        if reference is not None:
            self._execution.update(read_update(data, at, reference), position)

    def _on_isync(self, data: bytes, at: int, position: int) -> None:
        sync = read_sync(self._config, data, at)
        execution = self._execution
        execution.synchronise(sync.reason, position)
        execution.set_context(position, sync.non_secure, sync.hyp, sync.context_id)
        if sync.cycles is not None:
            # From PFTv1.1 the count means nothing after an overflow and after debug state (4.4).
            unknown = self._config.version >= 1 and sync.reason in (Reason.OVERFLOW, Reason.DEBUG)
            execution.event(_new(Cycles, (execution.offset(position), None if unknown else sync.cycles)))
        if sync.reason is Reason.PERIODIC and execution.is_synchronised:
            execution.arrive(sync.start, position)
            # What is on the return stack from before is not used (4.13).
            execution.set(execution.point, execution.addresses._replace(stack=()))
        else:
            execution.restart(sync.start)

    # Cycles and time.

    def _count(self, cycles: int, position: int) -> None:
        if cycles:
            self._execution.event(_new(Cycles, (self._execution.offset(position), cycles)))

    def timestamp(self, data: bytes, at: int, end: int, position: int) -> int:
        """Take a timestamp packet, and its cycle count; see the base class."""
        if end - at < _LONGEST_TIMESTAMP and self._timestamp_size(data, at, end) == NEED_MORE:
            return NEED_MORE
        after, value = self._clock.take(data, at + 1, end)
        if self._counted:
            # Its count is one of the sum, as every other is (4.4).
            first = data[after]
            if first & 0x7C:
                self._count(read_count(data, after), position)
                after = count_end(data, after, end)
            else:
                after += 1
        if value is not None:
            self._execution.recorder.time(value, position)
        return after
