"""Halts inside a history: whether execution went on from where it halted."""

from __future__ import annotations

from itertools import chain
from typing import FrozenSet, List, Optional, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Event, Exception_, Gap, GapReason

# The upper byte of its encoding (Armv7-M ARM, A7.7.17).
_BKPT = b"\xbe"
_RESET = 1


def goes_on(history: ExecutionHistory, number: int, halted_at: Optional[int], address: int) -> bool:
    """Tell whether execution continued at an address as if without the halt.

    :param number: Of the instruction before the halt.
    :param halted_at: Where the core was halted; None: an ETMv3 only says that it was.
    :param address: Of what ran next.
    """
    if halted_at is not None:
        return address == halted_at & ~1
    return number > 0 and address in successors(history, number)


def successors(history: ExecutionHistory, number: int) -> Tuple[int, ...]:
    """List an instruction's successors, as far as its encoding names them.

    :param number: Of the instruction.
    :returns: Nothing after BKPT: a debugger may have done what the program asked it for.
    """
    one = history.instruction(number)
    if one.isa is Isa.T32 and history.program.read(one.address, 2)[1:] == _BKPT:
        return ()
    insn = Blocks(history.program).instruction(one.address, one.isa)
    if insn is None or insn.kind is InstructionKind.INDIRECT:
        return ()
    return (insn.target, one.address + insn.size) if insn.kind is InstructionKind.DIRECT else (one.address + insn.size,)


def pauses(history: ExecutionHistory) -> FrozenSet[int]:
    """List the instructions after which the core paused, and nothing else ran."""
    found = set()
    events: List[Event] = []
    number = 0
    last: Tuple[int, Optional[Event]] = (len(history) + 1, None)
    for before, event in chain(history.interruptions(), [last]):
        if before != number or event is None:
            if 0 < number < len(history) and _is_pause(history, number, events):
                found.add(number)
            number, events = before, []
        if event is not None:
            events.append(event)
    return frozenset(found)


def _is_pause(history: ExecutionHistory, number: int, events: List[Event]) -> bool:
    # One halt, from which execution goes on where it was: at the next instruction, or with an exception.
    halts = [at for at, event in enumerate(events) if breaks(event)]
    if not halts:
        return False
    halt, others = events[halts[0]], [events[at] for at in halts[1:]]
    later = (event.return_address for event in events[halts[0] + 1 :] if isinstance(event, Exception_))
    address = next(later, history.instruction(number + 1).address)
    if address is None:
        return False
    if isinstance(halt, Gap):
        # An ETMv3 says that the core was in debug state, not where it was halted.
        same = all(isinstance(event, Gap) and event.detail == DEBUG_STATE for event in [halt, *others])
        return same and goes_on(history, number, None, address)
    if not isinstance(halt, Exception_) or halt.name != DEBUG_HALT or halt.return_address is None:
        return False
    if not all(isinstance(other, Gap) and other.reason is GapReason.TRACE_ON for other in others):
        return False
    return goes_on(history, number, halt.return_address, address)


def breaks(event: Event) -> bool:
    """Check whether nothing before an event helps after it."""
    if isinstance(event, Exception_):
        return event.name == DEBUG_HALT or event.vector == _RESET
    return isinstance(event, Gap)
