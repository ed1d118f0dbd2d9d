"""``etm counter``, ``etm sequencer``, ``etm trigger``: the unit's counters, sequencer and trigger."""

from __future__ import annotations

from typing import Iterable, Iterator, List, Optional, Sequence

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import choice, flag
from gdb_etm.errors import CommandError
from gdb_etm.session.events import EventSettings
from gdb_etm.session.numbers import count
from gdb_etm.session.planning import change_events
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.actions import Action, Count, Counter, FirstState, NextState, Reload
from gdb_etm.views.events import CounterLine, counter_lines, step_lines


def _counters(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    numbers = [str(each.number) for each in session.events.now.counters]
    return [*numbers, "all"] if before[:1] == ["delete"] else numbers


NUMBER = Argument("N", str, "the counter, from 0; or list, or delete", choices=("list", "delete"), suggest=_counters)
VALUE = Argument(
    "VALUE",
    str,
    "how many counts until it is at zero, 0 to 65535; after delete: the counter, or all",
    suggest=_counters,
)
RELOAD = Argument("--reload", count, "what a reload sets it to; without it VALUE", "VALUE")
PERIODIC = flag("--periodic", "reload at the count after zero: it is at zero once in VALUE + 1 counts")
CHAINED = flag("--chained", "count too whenever the counter before it reloads (1 and 3)")
BEGIN = choice("WHAT", ("begin",), "begin")
STATE = Argument("STATE", count, "the state in which it begins, from 0")
POSITION = choice("WHAT", ("position",), "position")
PERCENT = Argument("PERCENT", count, "how much of the buffer is filled after the trigger, 0 to 100")


def run_counter(session: DebugSession, values: Values) -> Iterable[str]:
    """Set, list or delete counters."""
    word, value = values.get(NUMBER) or "list", values.get(VALUE)
    if word == "list":
        return _list_counters(session.events.now)
    number = None if word == "delete" else count(word)
    if value is None:
        raise CommandError(
            "etm counter %s needs %s"
            % (word, "a counter, or all" if number is None else "a value: how many counts until it is at zero")
        )
    if number is None:
        return _delete_counter(session, value)
    return _set_counter(session, number, count(value), values)


def _set_counter(session: DebugSession, number: int, value: int, values: Values) -> Iterator[str]:
    try:
        made = Counter(
            number, value, values.get(RELOAD), values.get(PERIODIC) is not None, values.get(CHAINED) is not None
        )
    except ValueError as error:
        raise CommandError(str(error))
    now = session.events.now
    others = [each for each in now.counters if each.number != number]
    when = change_events(session, now._replace(counters=sorted([*others, made], key=lambda each: each.number)))
    yield "%s%s" % (_sentence(str(made)), when)


def _delete_counter(session: DebugSession, text: str) -> Iterator[str]:
    now = session.events.now
    gone = [each.number for each in now.counters if text == "all" or each.number == count(text)]
    if not gone:
        wrong = 'no counter %s is set; "etm counter list" shows them' % text
        raise CommandError(_NO_COUNTERS if text == "all" else wrong)
    when = change_events(session, now._replace(counters=[each for each in now.counters if each.number not in gone]))
    yield "deleted %s%s" % (", ".join("counter %d" % number for number in gone), when)


_NO_COUNTERS = 'no counters; "etm counter 0 100" sets one'


def _list_counters(events: EventSettings) -> Iterator[str]:
    if not events.counters:
        yield _NO_COUNTERS
        return
    yield from counter_lines(
        [
            CounterLine(
                each.number,
                each.value,
                each.reloaded,
                "reloads at the next count" if each.is_periodic else "stays",
                _counted(events, each),
                _events_of(events, Reload(each.number)) or "-",
            )
            for each in events.counters
        ]
    )


def _counted(events: EventSettings, counter: Counter) -> str:
    words = [_events_of(events, Count(counter.number))]
    words += ["reloads of counter %d" % (counter.number - 1)] if counter.is_chained else []
    return ", ".join(filter(None, words)) or 'nothing: "etm on EVENT do count %d"' % counter.number


def _events_of(events: EventSettings, action: Action) -> str:
    return ", ".join(each.event for each in events.reactions if each.do == action)


def run_sequencer(session: DebugSession, values: Values) -> Iterable[str]:
    """Show the sequencer, or choose where it begins."""
    if values.get(BEGIN) is None:
        return _show_sequencer(session.events.now)
    state = values.get(STATE)
    if state is None:
        raise CommandError("etm sequencer begin needs a state, from 0")
    return _begin(session, state)


def _begin(session: DebugSession, state: int) -> Iterator[str]:
    yield "The sequencer begins in state %d%s" % (
        state,
        change_events(session, session.events.now._replace(first_state=state)),
    )


def _show_sequencer(events: EventSettings) -> Sequence[str]:
    steps = [
        ("%d to %d" % (each.do.source, each.do.target), each.event)
        for each in events.reactions
        if isinstance(each.do, NextState)
    ]
    steps += [("any to 0", each.event) for each in events.reactions if isinstance(each.do, FirstState)]
    if not steps:
        return ['no event moves the sequencer; "etm on EVENT do next-state 0-1" does']
    return step_lines(events.first_state, sorted(steps))


def run_trigger(session: DebugSession, values: Values) -> Iterable[str]:
    """Show or choose how much is kept after the trigger."""
    percent: Optional[int] = values.get(PERCENT)
    if values.get(POSITION) is None:
        return _show_trigger(session)
    if percent is None or percent > 100:
        raise CommandError("etm trigger position needs a percentage, 0 to 100")
    return _position(session, percent)


def _position(session: DebugSession, percent: int) -> Iterator[str]:
    when = change_events(session, session.events.now._replace(position=percent))
    yield "%d%% of the buffer is filled after the trigger%s" % (percent, when)


def _show_trigger(session: DebugSession) -> Iterator[str]:
    events = session.events.now
    found = [each for each in events.reactions if each.action == "trigger"]
    yield "%d%% of the buffer is filled after the trigger" % events.position
    for each in found:
        yield "event %d: %s" % (each.number, each)
    if not found:
        yield 'nothing triggers; "etm on EVENT do trigger" does'


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


COUNTER = Command(
    "counter",
    "Set a counter of the trace unit, or list them.",
    run_counter,
    details=(
        "It begins at VALUE, goes down by one in each clock cycle in which its events hold\n"
        '("etm on EVENT do count N"), and stays at zero until it is reloaded ("etm on EVENT do reload N").\n'
        'The event "counter N" holds while it is at zero.  "always" counts clock cycles.  In a unit whose counter 0\n'
        "is reduced, that one counts clock cycles and nothing else.  What matches twice in one cycle counts once."
    ),
    arguments=(NUMBER, VALUE, RELOAD, PERIODIC, CHAINED),
    examples=(
        ("counter 0 100", "at zero after 100 counts"),
        ("counter 0 999 --periodic", "at zero once in 1000 counts"),
        ("counter 1 5 --chained", "a counter of 32 bits with counter 0, if that is periodic"),
        ("counter list", "what counts"),
        ("counter delete 0", "free the counter"),
    ),
)

SEQUENCER = Command(
    "sequencer",
    "Show the steps of the trace unit's sequencer, or choose where it begins.",
    run_sequencer,
    details=(
        'The sequencer remembers what has happened: "etm on EVENT do next-state 0-1" takes it from state 0 to 1,\n'
        '"next-state 1-0" back, "first-state" to state 0 from anywhere.  The event "state N" holds while it is there.\n'
        "An ETMv4 has states 0 to 3 and goes to neighbours only; an ETMv3 or a PTM has 0 to 2, all neighbours.\n"
        "Two events that come in one clock cycle can take it two states on."
    ),
    arguments=(BEGIN, STATE),
    examples=(
        ("sequencer", "its steps"),
        ("sequencer begin 1", "begin in state 1 instead of 0"),
    ),
)

TRIGGER = Command(
    "trigger",
    "Show what triggers, or choose how much of the buffer is filled after a trigger.",
    run_trigger,
    details=(
        'A trigger ("etm on EVENT do trigger") stops the buffer after so much more trace, while the program runs\n'
        "on: 0 keeps what came before the trigger, 100 what comes after it.  The next halt gives the capture."
    ),
    arguments=(POSITION, PERCENT),
    examples=(
        ("trigger", "how it is"),
        ("trigger position 10", "mostly what came before it"),
    ),
)
