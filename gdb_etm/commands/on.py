"""``etm on``: what the trace unit does when something happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.event_words import ACTIONS, CODE, EVENTS
from gdb_etm.session.events import Reaction
from gdb_etm.session.numbers import count
from gdb_etm.session.planning import change_events, planned, point_notes
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.events import Accessed, Committed, Event, Executed, ExecutedIn, members
from gdb_etm.views.events import EventLine, event_lines
from gdb_etm.views.filters import place_text

if TYPE_CHECKING:
    from gdb_etm.traceunit.plan import Plan

_NONE = 'no events; "etm on exec FUNCTION do mark" makes one'
_USAGE = "EVENT do ACTION, list, or delete N"


def _suggested(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    last = before[-1] if before else ""
    if before[:1] == ["delete"]:
        return ["all", *(str(each.number) for each in session.events.now.reactions)]
    if "do" in before:
        return ACTIONS if last == "do" else ()
    if last in CODE and session.locations is not None:
        # The words of a list are joined by commas, and only the last is being typed.
        head, comma, one = word.rpartition(",")
        return [head + comma + each for each in session.locations.completions(one)]
    if last == "input":
        return session.events.inputs
    if last == "counter":
        return [str(each.number) for each in session.events.now.counters]
    if last in ("", "not", "and", "or", "once", "each"):
        return [*EVENTS, "not", *(("list", "delete") if not before else ())]
    return () if last in EVENTS and EVENTS[last] else ("and", "or", "do")


WORDS = Argument("WORDS", str, _USAGE, many=True, suggest=_suggested)


def run_on(session: DebugSession, values: Values) -> Iterable[str]:
    """Add, list or delete rules."""
    words = values.all(WORDS) or ["list"]
    if words == ["list"]:
        return _list(session)
    session.events.renew(session.locations)
    if words[0] == "delete":
        return _delete(session, words[1:])
    return _add(session, words)


def _add(session: DebugSession, words: Sequence[str]) -> Iterator[str]:
    if "do" not in words:
        raise CommandError('"do ACTION" is missing; the actions are: %s' % ", ".join(ACTIONS))
    at = words.index("do")
    made = session.events.made(" ".join(words[:at]), " ".join(words[at + 1 :]), session.locations)
    before = session.events.now
    when = change_events(session, before._replace(reactions=(*before.reactions, made), last=made.number))
    where = place_text(_places(made.when), ())
    yield "Event %d: %s%s%s" % (made.number, made, " (%s)" % where if where else "", when)
    yield from point_notes(session, [first for first, last in _places(made.when) if first == last])


def _delete(session: DebugSession, words: Sequence[str]) -> Iterator[str]:
    if not words:
        raise CommandError('etm on delete needs a number or "all"; "etm on list" shows them')
    before = session.events.now
    numbers = [each.number for each in before.reactions] if "all" in words else [count(word) for word in words]
    left = session.events.without(numbers)
    gone = [each for each in before.reactions if each.number in numbers]
    if not gone:
        yield _NONE
        return
    when = change_events(session, before._replace(reactions=left))
    yield "deleted %s%s" % (", ".join("event %d (%s)" % (each.number, each) for each in gone), when)


def _list(session: DebugSession) -> Iterator[str]:
    if not session.events.now.reactions:
        yield _NONE
        return
    plan, problem = None, ""
    try:
        plan = planned(session)
    except EtmError as error:
        problem = str(error)
    rows = [
        EventLine(each.number, each.event, each.action, _places(each.when), _takes(each, plan))
        for each in session.events.now.reactions
    ]
    yield from event_lines(rows, plan is not None)
    if problem:
        yield "note: " + problem


def _places(event: Event) -> List[Tuple[int, int]]:
    # All addresses of an event, as first and last ones.
    result: List[Tuple[int, int]] = []
    for each in members(event):
        if isinstance(each, Executed):
            result.append((each.address, each.address))
        elif isinstance(each, (ExecutedIn, Accessed)):
            result.append((each.where.first, each.where.last))
        elif isinstance(each, Committed):
            result += [place for one in each.of for place in _places(one)]
    return result


def _takes(found: Reaction, plan: Optional[Plan]) -> str:
    if plan is None:
        return ""
    places = _places(found.when)
    names = [
        each.name
        for each in plan.taken
        if each.use in ("event", found.action) and (each.where.first, each.where.last) in places
    ]
    names += [
        "event %d" % n
        for n, text in plan.marks
        if text in (found.event, "trigger at " + found.event) and found.action.split()[0] in ("mark", "trigger")
    ]
    return ", ".join(dict.fromkeys(names))


ON = Command(
    "on",
    "Choose what the trace unit does when something happens.",
    run_on,
    details=(
        "Events:\n"
        "  exec LOCATION        the instruction there is executed; of a function, its first one\n"
        "  in LOCATION          any instruction of a function, a line or FIRST-LAST\n"
        "  load, store, access DATA [== V | != V] [size BYTES] [ignoring MASK]\n"
        "                       data at a variable, an address or FIRST-LAST, where the unit can\n"
        "  dwt N                comparator N of the processor's DWT matches, as you have programmed it\n"
        "  counter N            counter N is at zero\n"
        "  state N              the sequencer is in state N\n"
        "  input N              external input N of the trace unit, or its name where the board's profile has one\n"
        "  context ID, vmid ID  the processor runs with this Context ID, this VMID\n"
        "  once EVENT           the first time that such instructions or accesses are really executed, not only\n"
        "                       speculated; each EVENT: every time (a single-shot control)\n"
        "  always, never\n"
        '"not", "and", "or" and brackets join them.  A unit joins two; the context of an address does not count.\n'
        '"exec" may also report an instruction that was fetched and thrown away.\n'
        "Actions:\n"
        '  trigger              the buffer stops when it has stored what "etm trigger position" says\n'
        "  start, stop          trace from here on, or no more; a lasting event (a counter at zero) wins over a stop\n"
        "  trace                trace only while the event holds\n"
        "  mark [N]             put an event packet into the trace; N is the event's number, else a free one\n"
        "  count N, reload N    let counter N go down by one, or set it to its reload value\n"
        "  next-state FROM-TO   take the sequencer on, or back, from this state; first-state: to state 0\n"
        "  timestamp            put the time into the trace\n"
        "  output N             drive an external output of the unit\n"
        "Events stay when the connection ends, until they are deleted.  What does not fit into the unit is refused.\n"
        'While tracing is on, a change takes effect at the next "continue", and everything starts again.'
    ),
    arguments=(WORDS,),
    examples=(
        ("on exec HardFault_Handler do trigger", "keep what led to it, even if the program runs on"),
        ("on exec dispatch do count 0", 'see "help etm counter"'),
        ("on counter 0 do mark", "mark in the trace when the counter is at zero"),
        ("on exec rx.c:57 and context 5 do mark", "the line, in one program"),
        ("on exec open do next-state 0-1", "remember that it ran"),
        ("on exec close and not state 1 do trigger", "closed without having been opened"),
        ("on list", "what there is, and what it takes"),
        ("on delete 2", "delete one of them"),
    ),
)
