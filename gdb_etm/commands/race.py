"""``etm race``: updates of a variable that another context's store interrupted."""

from __future__ import annotations

from typing import Iterator, List

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import AT, EXPRESSION, moment_of
from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.lost_updates import LostUpdate, lost_updates
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.objects import object_at
from gdb_etm.session.scenes import scene_for, words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.session.stores import touches_of, value_of
from gdb_etm.views.fault import Words
from gdb_etm.views.text import align, plural
from gdb_etm.views.values import value_text


def run_race(session: DebugSession, values: Values) -> Iterator[str]:
    """List the updates of an object that were lost."""
    text = values.get(EXPRESSION) or ""
    at = moment_of(session, values, needs_position=False)
    place = object_at(at, text)
    limit = session.settings.get("history-size", "10")
    with at.known.solved(len(at.decoded.history) + 1, session.meter):
        scene = scene_for(session, at.decoded, at.known)
        touched = touches_of(at, place)
        found = lost_updates(scene, touched.touches)
        shown = found if limit == "unlimited" else found[: int(limit)]
        words = words_for(session, at.decoded, scene)
        lines = align([row for one in shown for row in _rows(at, one, words)])
    yield from at.news()
    symbol = session.debugger.symbol_at(place.address)
    yield "%s at 0x%08x%s:" % (plural(place.size, "byte"), place.address, " <%s>" % symbol if symbol else "")
    yield from lines
    if len(shown) < len(found):
        left = plural(len(found) - len(shown), "older one")
        yield '[%s; "set etm history-size" sets how many are listed]' % left
    looked = plural(len(at.decoded.history) - touched.first + 1, "instruction")
    unknown = "; %s unknown addresses" % plural(touched.unknown, "store has", "stores have") if touched.unknown else ""
    if not found:
        yield "no update of it was interrupted by another context's store, in %s%s" % (looked, unknown)
    else:
        yield "[%s were looked at%s]" % (looked, unknown)


def _rows(at: Moment, one: LostUpdate, words: Words) -> List[List[str]]:
    return [
        _row(at, one.load, words, "loads"),
        *(_row(at, other, words, "stores") for other in one.others),
        _row(at, one.store, words, "stores", "what was stored in between is lost"),
    ]


def _row(at: Moment, touch: Touch, words: Words, what: str, more: str = "") -> List[str]:
    scene = scene_for(at.session, at.decoded, at.known)
    address = scene.index.address(touch.number)
    symbol, line = words.symbol(address), words.line(address)
    value = value_of(at, touch.number + int(touch.store), touch.address, touch.size)
    said = ", ".join([one for one in (words.context(touch.number), more) if one])
    place = "<%s>" % symbol if symbol else "0x%08x" % address
    return ["#{:,}".format(touch.number), place, what, value_text(value, 2 * touch.size), line, said]


RACE = Command(
    "race",
    "List the updates of a variable that another context's store interrupted.",
    run_race,
    details=(
        "A handler, or another thread, stored between a function's load and its store, which loses that: the load,\n"
        "the stores in between, and the store, the newest update first.  The object is named as for etm writes.\n"
        "Only what ran is known: that no update was interrupted does not mean that none can be."
    ),
    arguments=(AT, TRACE_ID, EXPRESSION),
    examples=(("race pending", "of a counter that a handler changes, too"), ("race 0x20000050,4", "of a word")),
    is_raw=True,
)
