"""``etm origin`` and ``etm uses``: the way of a value."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, List

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import AT, moment_of
from gdb_etm.session.asked import asked_for
from gdb_etm.session.chains import Chain, origin, tree_steps, uses
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.register_names import CORE
from gdb_etm.session.scenes import words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import plural
from gdb_etm.views.tree import tree_lines


def _suggested(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    return [*CORE, *(session.places.expressions(word) if session.places is not None else ())]


VALUE = Argument(
    "EXPR", str, "a register, ADDRESS[,SIZE], or an expression with an address", required=True, suggest=_suggested
)

# Finds a chain.
Find = Callable[[DebugSession, Moment, Values], Chain]

ADDRESSES = flag("--addresses", "also where the addresses of its loads and stores came from")


def run_origin(session: DebugSession, values: Values) -> Iterator[str]:
    """Tell where a value came from."""
    return _lines(session, values, found_origin)


def run_uses(session: DebugSession, values: Values) -> Iterator[str]:
    """Tell what was made of a value."""
    return _lines(session, values, found_uses)


def found_origin(session: DebugSession, at: Moment, values: Values) -> Chain:
    """Find the way of the value back that is asked for."""
    addresses = values.get(ADDRESSES) is True
    with at.known.solved(at.number, session.meter):
        asked = asked_for(at, values.get(VALUE) or "")
        return origin(asked, words_for(session, at.decoded, asked.scene), addresses)


def found_uses(session: DebugSession, at: Moment, values: Values) -> Chain:
    """Find what was made of the value that is asked for."""
    with at.known.solved(at.number, session.meter):
        asked = asked_for(at, values.get(VALUE) or "")
        return uses(asked, words_for(session, at.decoded, asked.scene))


def _lines(session: DebugSession, values: Values, find: Find) -> Iterator[str]:
    at = moment_of(session, values, needs_position=False)
    limit = session.settings.get("history-size", "10")
    chain = find(session, at, values)
    yield from at.news()
    yield chain.title + ":"
    lines, left = tree_lines(tree_steps(chain), None if limit == "unlimited" else int(limit))
    yield from lines
    if left:
        yield '[%s; "set etm history-size" sets how many are listed]' % plural(left, "more step")
    if chain.end:
        yield chain.end


_DETAILS = (
    "The value is that of a register, of ADDRESS (a word) or ADDRESS,SIZE, or of an expression for something that has\n"
    "an address; of a local variable also where it is in a register, or was the last time.  Its moment is the\n"
    "position in the history; at the end, where that is a fault, the moment of the fault.\n"
    'What a loop repeats is one line.  As many are listed as "set etm history-size" says.'
)

ORIGIN = Command(
    "origin",
    "Tell where a value came from, step by step.",
    run_origin,
    details="A tree where a value was made from several.\n" + _DETAILS,
    arguments=(AT, TRACE_ID, ADDRESSES, VALUE),
    examples=(
        ("origin r3", "of a register, at the position"),
        ("origin station.table[0].handler", "of a variable"),
        ("origin --at 18204 0x20000050,4", "of memory, before another instruction"),
    ),
    is_raw=True,
)

USES = Command(
    "uses",
    "Tell what was made of a value, step by step.",
    run_uses,
    details="2,000 instructions from there on are looked at.\n" + _DETAILS,
    arguments=(AT, TRACE_ID, VALUE),
    examples=(
        ("uses --at 13594 r0", "of what a register held then"),
        ("uses station.values[0]", "of a variable, from the position on"),
    ),
    is_raw=True,
)
