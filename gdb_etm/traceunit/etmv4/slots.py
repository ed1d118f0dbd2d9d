"""Allotment of an ETMv4's events 0 to 3 to actions.

Packets in the trace, external outputs, and the trigger on the trace bus.

IHI 0064, 7.3 (TRCEVENTCTL0R, TRCEVENTCTL1R).  Only event 0 can be a trigger, or be in the data stream.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.actions import Mark, Output, Rule, Trigger
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.events import Event

_MOST_EVENTS = 4


class Slot(NamedTuple):
    """One of the events 0 to 3."""

    # Any of these.
    events: Tuple[Event, ...] = ()
    # What they are, in the user's words.
    texts: Tuple[str, ...] = ()
    in_trace: bool = False
    # In the data stream, too.
    in_data: bool = False
    triggers: bool = False

    @property
    def words(self) -> str:
        """What it is in a line."""
        return "%s%s" % ("trigger at " if self.triggers else "", " or ".join(self.texts))


def slots_of(rules: Sequence[Rule], unit: Capabilities) -> Dict[int, Slot]:
    """Give each rule that needs one of the events its number.

    :raises UnsupportedError: The unit has too few.
    """
    slots: Dict[int, Slot] = {}
    for rule in rules:
        if isinstance(rule.do, Trigger):
            unit.require("TRCIDR5.ATBTRIG", "triggers on the trace bus")
            _add(slots, 0, rule, Slot(in_trace=True, triggers=True))
    for rule in rules:
        if isinstance(rule.do, Output):
            _add(slots, rule.do.number, rule, Slot())
        elif isinstance(rule.do, Mark) and rule.do.number is not None:
            _add(slots, rule.do.number, rule, Slot(in_trace=True, in_data=rule.do.in_data))
    for rule in rules:
        if isinstance(rule.do, Mark) and rule.do.number is None:
            same = next((n for n, slot in slots.items() if slot.events == (rule.when,)), None)
            free = next(n for n in range(len(rules) + _MOST_EVENTS) if n not in slots)
            number = 0 if rule.do.in_data else free if same is None else same
            _add(slots, number, rule, Slot(in_trace=True, in_data=rule.do.in_data))
    _check_slots(slots, unit)
    return slots


def _add(slots: Dict[int, Slot], number: int, rule: Rule, use: Slot) -> None:
    held = slots.get(number, use)
    # Another event of the same action joins the first; another action needs the very same event.
    if rule.when not in held.events and (held.triggers, held.in_trace) != (use.triggers, use.in_trace):
        raise UnsupportedError(
            "event %d is taken: %s (TRCEVENTCTL0R.EVENT%d)" % (number, held.words, number),
            "TRCEVENTCTL0R.EVENT%d" % number,
        )
    slots[number] = Slot(
        tuple(dict.fromkeys((*held.events, rule.when))),
        tuple(dict.fromkeys((*held.texts, rule.text))),
        held.in_trace or use.in_trace,
        held.in_data or use.in_data,
        held.triggers or use.triggers,
    )


def _check_slots(slots: Dict[int, Slot], unit: Capabilities) -> None:
    there = unit.events
    if slots and max(slots) >= there:
        raise unit.shortage(
            "TRCIDR0.NUMEVENT", "event", there, max(max(slots) + 1, len(slots)), "marks, outputs and triggers"
        )
    if any(slot.in_data for slot in slots.values()):
        unit.require("TRCIDR0.TRCDATA", "events in the data stream")
        if any(slot.in_data and n for n, slot in slots.items()):
            raise UnsupportedError(
                "only event 0 can be in the data stream (TRCEVENTCTL1R.DATAEN)", "TRCEVENTCTL1R.DATAEN"
            )
