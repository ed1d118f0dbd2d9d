"""``etm filter``: what the trace unit records, chosen in the program's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Iterable, Iterator, List, Sequence

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import choice
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.filters import CONTEXT, DATA_PLACES, KINDS, LEVEL, PLACES, STATES, Filter
from gdb_etm.session.numbers import count
from gdb_etm.session.planning import carry_over, planned, point_notes
from gdb_etm.session.session import DebugSession
from gdb_etm.views.filters import FilterRow, filter_lines, place_text

if TYPE_CHECKING:
    from gdb_etm.traceunit.plan import Taken

_VERBS = (*KINDS, "list", "delete")
_NONE = 'no filters; "etm filter include FUNCTION" makes one'
_MEANING = {
    ("exceptions", "on"): "resets and system errors are always reported",
    ("exceptions", "off"): "nothing that runs in Handler mode",
    ("exceptions", "only"): "only what runs in Handler mode",
    ("secure", "off"): "Non-secure code only",
    ("nonsecure", "off"): "Secure code only",
}


def _suggested(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    kind = before[0] if before else ""
    if kind in STATES:
        return STATES[kind]
    if kind == "delete":
        return ["all", *(str(each.number) for each in session.filters.filters)]
    if kind == LEVEL:
        return ("s0", "s1", "s2", "s3", "ns0", "ns1", "ns2", "thread", "handler")
    if kind not in PLACES or session.locations is None:
        return ()
    # The words of a list are joined by commas, and only the last is being typed.
    head, comma, last = word.rpartition(",")
    return [head + comma + each for each in session.locations.completions(last)]


VERB = choice("WHAT", _VERBS, "include, exclude, start or another kind; list; delete")
WORDS = Argument(
    "ARGUMENT",
    str,
    "LOCATION[,LOCATION...] | on | off | only | ID | LEVEL | N | all, as WHAT needs",
    many=True,
    suggest=_suggested,
)


def run_filter(session: DebugSession, values: Values) -> Iterable[str]:
    """Add, list or delete filters."""
    verb, text = values.get(VERB) or "list", " ".join(values.all(WORDS))
    if verb == "list":
        return _list(session)
    session.filters.renew(session.locations)
    if verb == "delete":
        return _delete(session, text)
    return _add(session, verb, text)


def _add(session: DebugSession, kind: str, text: str) -> Iterator[str]:
    if not text:
        raise CommandError("etm filter %s needs %s" % (kind, _needed(kind)))
    made = session.filters.made(kind, text, session.locations)
    if text == "on" and kind in ("secure", "nonsecure"):
        # That is how it is without a filter.
        left = [each for each in session.filters.filters if each.kind != kind]
        yield "%s code is traced%s" % ("Secure" if kind == "secure" else "Non-secure", _change(session, left))
        return
    when = _change(session, session.filters.with_filter(made))
    where = place_text(made.ranges, made.points) or _MEANING.get((kind, text), "")
    yield "Filter %d: %s%s%s" % (made.number, made, " (%s)" % where if where and where != text else "", when)
    yield from point_notes(session, made.points)


def _delete(session: DebugSession, text: str) -> Iterator[str]:
    if not text:
        raise CommandError("etm filter delete needs a number or all")
    filters = session.filters.filters
    numbers = [each.number for each in filters] if text == "all" else [count(word) for word in text.split()]
    left = session.filters.without(numbers)
    gone = [each for each in filters if each.number in numbers]
    if not gone:
        yield _NONE
        return
    yield "deleted %s%s" % (", ".join("filter %d (%s)" % (each.number, each) for each in gone), _change(session, left))


def _list(session: DebugSession) -> Iterator[str]:
    filters = session.filters.filters
    if not filters:
        yield _NONE
        return
    plan, problem = None, ""
    try:
        session.filters.renew(session.locations)
        plan = planned(session)
    except EtmError as error:
        problem = str(error)
    rows = [
        FilterRow(
            each.number,
            str(each),
            each.ranges,
            each.points,
            _MEANING.get((each.kind, each.text), ""),
            _takes(each, plan.taken) if plan is not None else "",
        )
        for each in session.filters.filters
    ]
    yield from filter_lines(rows, plan is not None)
    if problem:
        yield "note: " + problem


def _needed(kind: str) -> str:
    if kind in STATES:
        return " or ".join(STATES[kind])
    if kind in DATA_PLACES:
        return "a variable, *ADDRESS or FIRST-LAST"
    words = {CONTEXT: "a Context ID", LEVEL: "an exception level: s0 to s3, ns0 to ns2, thread or handler"}
    return words.get(kind, "a location: a function, FILE:LINE, *ADDRESS or FIRST-LAST")


def _change(session: DebugSession, filters: Sequence[Filter]) -> str:
    # The unit is asked first, so that what does not fit changes nothing.
    return carry_over(session, session.filters.keep(filters))


def _takes(found: Filter, taken: Sequence[Taken]) -> str:
    if found.kind in STATES or found.kind == LEVEL:
        return "no comparator"

    def overlaps(each: Taken) -> bool:
        return any(first <= each.where.last and each.where.first <= last for first, last in found.ranges)

    chosen: Dict[str, Callable[[Taken], bool]] = {
        "include": overlaps,
        "exclude": overlaps,
        "data-include": overlaps,
        "data-exclude": overlaps,
        "start": lambda each: each.where.first in found.points,
        "stop": lambda each: each.where.first in found.points,
        CONTEXT: lambda each: each.where.first in found.contexts,
    }
    use = "data" if found.kind == "data-include" else found.kind
    names = [each.name for each in taken if each.use == use and chosen[found.kind](each)]
    if not names and found.kind == "exclude":
        return "nothing: cut out of what is included"
    return ", ".join(dict.fromkeys(names))


FILTER = Command(
    "filter",
    "Choose what the trace unit records.",
    run_filter,
    details=(
        "include, exclude: a function means all its code, inlined and split-off parts too; FILE:LINE the code of that\n"
        "line, *ADDRESS one instruction; FIRST-LAST are addresses.  What an included function calls is not included.\n"
        "start, stop: the trace goes on from the first instruction of a function, or from a line or address, until a\n"
        "stop; both ends are traced, and what is called in between.\n"
        "exceptions: off leaves out what runs in Handler mode of a Cortex-M; only leaves out everything else; on\n"
        "reports resets and system errors even where nothing around them is traced.  An exception is reported if the\n"
        "code just before it was traced.\n"
        "secure, nonsecure: off leaves such code out.  context: only what runs with this Context ID.\n"
        "level: only what runs at these exception levels, s0 to s3 in Secure state and ns0 to ns2 in Non-secure.\n"
        "data-include, data-exclude: of the data trace, only (or not) the accesses to a variable or to addresses.\n"
        "Whole blocks are recorded: around an address in the middle of one, more may be seen.\n"
        "Filters stay when the connection ends, until they are deleted.  What does not fit into the unit is\n"
        'refused.  While tracing is on, a change takes effect at the next "continue".'
    ),
    arguments=(VERB, WORDS),
    examples=(
        ("filter include parse,dispatch", "only these two functions"),
        ("filter exclude 0x400-0x4ff", "not these addresses"),
        ("filter start dispatch", "nothing before dispatch is called"),
        ("filter exceptions off", "no interrupt handlers"),
        ("filter level ns1", "only a Cortex-A's kernel in Non-secure state"),
        ("filter data-include station", "loads and stores of one variable"),
        ("filter list", "what there is, and which comparators it takes"),
        ("filter delete all", "trace everything again"),
    ),
)
