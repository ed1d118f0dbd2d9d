"""Halts inside a history: whether execution went on from where it halted."""

from __future__ import annotations

from itertools import dropwhile, groupby
from operator import itemgetter
from typing import FrozenSet, List, Optional, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Event, Exception_, Gap, GapReason, breaks

# The upper byte of its encoding (Armv7-M ARM, A7.7.17).
_BKPT = b"\xbe"


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
    for number, group in groupby(history.interruptions(), key=itemgetter(0)):
        if 0 < number < len(history) and _is_pause(history, number, [event for _, event in group]):
            found.add(number)
    return frozenset(found)


def _is_pause(history: ExecutionHistory, number: int, interruptions: List[Event]) -> bool:
    # One halt, from which execution goes on where it was: at the next instruction, or with an exception.
    halt, others = interruptions[0], interruptions[1:]
    if isinstance(halt, Gap):
        # An ETMv3 says that the core was in debug state, not where it was halted.
        same = all(isinstance(event, Gap) and event.detail == DEBUG_STATE for event in interruptions)
        return same and _goes_on(history, number, None)
    if not isinstance(halt, Exception_) or halt.name != DEBUG_HALT or halt.return_address is None:
        return False
    if not all(isinstance(other, Gap) and other.reason is GapReason.TRACE_ON for other in others):
        return False
    return _goes_on(history, number, halt.return_address)


def _goes_on(history: ExecutionHistory, number: int, halted_at: Optional[int]) -> bool:
    after = dropwhile(lambda event: not breaks(event), history.events_after(number))
    later = [event.return_address for event in after if isinstance(event, Exception_) and not breaks(event)]
    address = later[0] if later else history.instruction(number + 1).address
    return address is not None and goes_on(history, number, halted_at, address)
