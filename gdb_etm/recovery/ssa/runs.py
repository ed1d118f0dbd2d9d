"""Parts of a segment: instruction runs, and the exceptions between them."""

from __future__ import annotations

from typing import Dict, Final, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.history.store import Span
from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind
from gdb_etm.protocols.elements import Exception_, ExceptionReturn
from gdb_etm.protocols.profile import nothing_ran
from gdb_etm.recovery.lift.template import ALL_FLAGS, Template, Templates
from gdb_etm.recovery.ssa.segments import Item


class InstructionRun(NamedTuple):
    """Instructions that ran one after the other."""

    # Of the first.
    number: int
    templates: List[Template]
    # Of each, whether it branched, or whether it did anything; None when that is not known.
    taken: List[Optional[bool]]


class Chained(NamedTuple):
    """An exception that is taken where a handler returns, or tries to."""

    event: Exception_


class Aside(NamedTuple):
    """An exception in the trace without a handler: lockup, lazy stacking."""

    event: Exception_


LOCKUP: Final = "Lockup"
# As protocols/etmv4/exceptions.py calls them.
_ASIDE: Final = (LOCKUP, "Lazy FP push")
# How a handler is entered or left.
Handling = Union[Exception_, ExceptionReturn, Chained]
# The parts of a segment, one after the other.
Part = Union[InstructionRun, Handling, Aside]


def parts(items: Iterable[Item], templates: Templates) -> List[Part]:
    """List the parts of a segment of a history.

    :param items: Of the history, in the order in which they ran; what else there is is passed over.
    :param templates: Makes the templates of the instructions.
    """
    made: List[Part] = []
    state: Optional[int] = None
    interrupted: Dict[int, int] = {}
    for item in items:
        if isinstance(item, Span):
            executed = item.range
            if state is None:
                state = interrupted.get(executed.start)
                if state is None:
                    state = templates.it_state(executed.start, executed.isa)
            found, state = templates.of_range(executed.start, executed.end, executed.isa, state)
            taken = [_mid(template) for template in found]
            taken[-1] = _outcome(found[-1], executed.taken)
            made.append(InstructionRun(item.number, found, taken))
        elif isinstance(item, Exception_):
            if item.name in _ASIDE and not (made and isinstance(made[-1], ExceptionReturn)):
                made.append(Aside(item))
                continue
            if made and isinstance(made[-1], ExceptionReturn) and _is_chained(item):
                made[-1] = Chained(item)
            else:
                if item.return_address is not None and state is not None:
                    interrupted[item.return_address] = state
                made.append(item)
            state = 0
        elif isinstance(item, ExceptionReturn):
            state = None
            made.append(item)
    return made


def _is_chained(event: Exception_) -> bool:
    # After a return that was complete, the exception returns to where that one led (IHI 0064, 5.2.7).
    return event.return_address is None or nothing_ran(event.return_address)


def waiting_handlers(ssa: Sequence[Part]) -> Dict[int, Optional[int]]:
    """List the handlers that run at the end, outermost first.

    By the index of their exceptions, with their vectors.

    :param ssa: Its parts.
    """
    found: List[Tuple[int, Optional[int]]] = []
    for index, item in enumerate(ssa):
        if isinstance(item, Exception_):
            found.append((index, item.vector))
        elif isinstance(item, ExceptionReturn):
            del found[-1:]
        elif isinstance(item, Chained) and found:
            found[-1] = found[-1][0], item.event.vector
    return dict(found)


def handlers_at_start(ssa: Sequence[Part]) -> int:
    """Count the handlers that run at the beginning, and return.

    :param ssa: Its parts.
    """
    found = depth = 0
    for item in ssa:
        if isinstance(item, Exception_):
            depth += 1
        elif isinstance(item, Chained):
            found = max(found, 1 - depth)
        elif isinstance(item, ExceptionReturn):
            depth -= 1
            found = max(found, -depth)
    return found


def _mid(template: Template) -> Optional[bool]:
    # A direct branch was not taken if the trace goes on after it.
    if template.kind is InstructionKind.DIRECT and template.goes_to != template.address + template.size:
        return False
    return None


def _outcome(template: Template, taken: bool) -> Optional[bool]:
    if template.kind is InstructionKind.INDIRECT:
        return taken
    if template.kind is InstructionKind.DIRECT:
        return taken if template.goes_to != template.address + template.size else None
    return None if taken else False


def live_flags(ssa: Sequence[Part]) -> bytearray:
    """Compute the live flags after each instruction, a bit each.

    :param ssa: Its parts.
    """
    found = bytearray()
    live = ALL_FLAGS
    for item in reversed(ssa):
        if not isinstance(item, InstructionRun):
            live = ALL_FLAGS
            continue
        for template in reversed(item.templates):
            found.append(live)
            if template.condition == ALWAYS:
                live &= ~template.kills
            live |= template.reads
    found.reverse()
    return found
