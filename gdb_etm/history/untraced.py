"""Exceptions that a halted core took as it ran on.

Nothing was traced before, so the trace begins with the handler's first instruction, and no packet tells of the
exception.  That is known where the unit traces everything, and nobody moved the core at the halt.
"""

from __future__ import annotations

from typing import Dict, Optional

from gdb_etm.history.halts import successors
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Exception_, Gap, GapReason, Range
from gdb_etm.protocols.mtb.exceptions import FIRST_INTERRUPT, INTERRUPTS, read_table
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.protocols.recorder import Recorder

# An Armv7-M or Armv8-M core has sixteen times as many interrupts as an Armv6-M at most (ICTR, DDI 0403, B3.2.3).
_VECTORS = FIRST_INTERRUPT + 16 * INTERRUPTS
_MTB = "mtb"


def untraced_exceptions(history: ExecutionHistory, begun_at: Optional[int], is_steady: bool) -> Dict[int, Exception_]:
    """List the exceptions that were taken at halts, and not traced.

    :param begun_at: Where the core ran on before the first instruction; None where that is not known.
    :param is_steady: Whether nobody changed anything at the halts within.
    :returns: By the recorder's entry that begins with the handler; offsets mean nothing.
    """
    # A Micro Trace Buffer's decoder finds exceptions itself.
    if not is_m_profile(history.source.core) or history.source.protocol == _MTB:
        return {}
    halted: Dict[int, Optional[int]] = {0: begun_at}
    recorder = history.recorder
    for event, place in zip(recorder.events, recorder.event_entries):
        if isinstance(event, Exception_):
            halted[place] = event.return_address if is_steady and event.name == DEBUG_HALT else None
        elif isinstance(event, Gap) and event.reason is not GapReason.TRACE_ON:
            halted[place] = None
        elif isinstance(event, Gap) and event.detail == DEBUG_STATE and is_steady and place not in halted:
            halted[place] = _after(history, place)
    held = {place: at & ~1 for place, at in halted.items() if at is not None}
    starts = {place: _start(recorder, place) for place in held}
    moved = [place for place in held if starts[place] not in (held[place], None)]
    table = read_table(history.program, None, _VECTORS, b"") if moved else None
    found = {}
    for place in moved:
        start = starts[place]
        if table is not None and start is not None and table.numbers(start):
            name, number = table.name(start)
            found[place] = Exception_(0, number or 0, name, number, held[place])
    return found


def _after(history: ExecutionHistory, place: int) -> Optional[int]:
    # An ETMv3 does not say where the core was halted: behind an instruction that has one successor it was there.
    number = history.entry_first(place) - 1
    found = successors(history, number) if number else ()
    return found[0] if len(found) == 1 else None


def _start(recorder: Recorder, place: int) -> Optional[int]:
    # Where the first range begins from an entry on, if no exception was traced before it; a synchronisation has none.
    following = (recorder.table.runs[recorder.order[at]].items() for at in range(place, len(recorder.order)))
    items = (item for run in following for _, item in run if isinstance(item, (Range, Exception_)))
    first = next(items, None)
    return first.start if isinstance(first, Range) else None
