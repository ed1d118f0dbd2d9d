"""``etm writes``: the stores to a variable, and its loads."""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import AT, EXPRESSION, moment_of
from gdb_etm.diagnosis.runs import Run
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.objects import MemoryObject, object_at
from gdb_etm.session.recovered import named
from gdb_etm.session.scenes import scene_for, words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.session.stores import loads, stores
from gdb_etm.views.fault import Words
from gdb_etm.views.text import align, end_text, exception_text, plural
from gdb_etm.views.writes import AccessWords, access_cells, data_text, run_value

BY = Argument(
    "--by",
    str,
    "only those of this function, and of what it called a library for",
    "FUNCTION",
    suggest=lambda session, before, word: session.locations.completions(word) if session.locations is not None else (),
)
READS = flag("--reads", "loads instead of stores")


def run_writes(session: DebugSession, values: Values) -> Iterator[str]:
    """List the stores that wrote an object, or its loads."""
    text = values.get(EXPRESSION) or ""
    are_loads = values.get(READS) is True
    at = moment_of(session, values, needs_position=False)
    place = object_at(at, text)
    limit = session.settings.get("history-size", "10")
    enough = None if limit == "unlimited" else int(limit)
    by = values.get(BY) or ""
    found = (loads if are_loads else stores)(at, place, enough, by)
    yield from at.news()
    symbol = session.debugger.symbol_at(place.address)
    where = "0x%08x <%s>" % (place.address, symbol) if symbol else "0x%08x" % place.address
    yield "%s at %s:" % (plural(place.size, "byte"), where)
    kind = "load" if are_loads else "store"
    with at.known.solved(len(at.decoded.history) + 1, session.meter):
        lines = _lines(at, found.runs, place, kind)
    yield from lines
    if found.more is None or found.more:
        left = "older ones" if found.more is None else plural(found.more, "older %s" % kind)
        since = "" if found.first == 1 or found.more is None else " since instruction {:,}".format(found.first)
        yield '[%s%s; "set etm history-size" sets how many are listed]' % (left, since)
        return
    if not found.runs:
        to, by = "of" if are_loads else "to", " by %s" % by if by else ""
        yield "no %s %s it%s is known%s" % (kind, to, by, " in this history" if found.first == 1 else "")
    if found.unknown_before:
        yield _unknown(found.unknown_before, kind)
    if found.first > 1:
        yield "[not looked at: what ran before instruction {:,}, {}]".format(found.first, _cut(at, found.first))
    else:
        yield end_text(at.decoded.history.end_reason)


def _cut(at: Moment, first: int) -> str:
    # Why values are not followed farther back than to an instruction.
    for before, event in at.decoded.history.interruptions():
        if before == first - 1 and isinstance(event, Gap):
            return "which follows a gap (%s)" % event.reason.value
        if before == first - 1 and isinstance(event, Exception_) and event.name == DEBUG_HALT:
            return "which follows a halt at which something may have been changed"
    most = at.recovery.rules.most
    if most is not None and first <= at.recovery.first(first):
        return 'more than %s before the end ("set etm recovery-limit")' % plural(most, "instruction")
    return '"set etm history-size" sets how many stores are listed'


def _lines(at: Moment, found: Sequence[Run], place: MemoryObject, kind: str) -> List[str]:
    scene = scene_for(at.session, at.decoded, at.known)
    words = words_for(at.session, at.decoded, scene)
    rows = [_cells(at, scene, words, run, place, kind) for run in found]
    lines: List[str] = []
    for run, line in zip(found, align(rows)):
        lines += [_unknown(run.unknown_after, kind)] if run.unknown_after else []
        lines.append(line)
    return lines


def _unknown(count: int, kind: str) -> str:
    return "[%s whose address is not known]" % plural(count, kind)


def _cells(at: Moment, scene: Scene, words: Words, run: Run, place: MemoryObject, kind: str) -> List[str]:
    known, tier, reason = run_value(run)
    before: Optional[str] = None
    is_word = len(run.writes) == 1
    if kind == "store" and run.oldest >= 1:
        memory = [byte.value for byte in at.recovery.memory(run.oldest, run.address, run.size)]
        before = data_text(memory, is_word) if None not in memory else None
    text = data_text(known, is_word)
    said = named(at.session.debugger, reason) if None in known else ""
    return access_cells(run, place, before, (text, tier), _words(at, scene, words, run)._replace(reason=said))


def _words(at: Moment, scene: Scene, words: Words, run: Run) -> AccessWords:
    exact = [one for one in scene.names.containers(run.address) if (one.start, one.size) == (run.address, run.size)]
    name = exact[-1].name if exact else ""
    exception = _pushed(at, run.number) if run.is_pushed else None
    if exception is not None:
        return AccessWords("<%s>" % exception_text(exception), "", name, "", "", "")
    context = words.context(run.number)
    caller = "" if run.caller is None else " ".join(["#{:,}".format(run.caller), *_where(scene, words, run.caller)])
    place, line = _where(scene, words, run.number)
    return AccessWords(place, line, name, context, caller, "")


def _where(scene: Scene, words: Words, number: int) -> Tuple[str, str]:
    address = scene.index.address(number)
    symbol = words.symbol(address)
    return "<%s>" % symbol if symbol else "0x%08x" % address, words.line(address)


def _pushed(at: Moment, number: int) -> Optional[Exception_]:
    # The exception that was taken after an instruction.
    found = at.decoded.history.events_after(max(number, 0))
    return next((event for event in found if isinstance(event, Exception_)), None)


WRITES = Command(
    "writes",
    "List the stores that wrote an object, newest first.",
    run_writes,
    details=(
        "Each with the value before, where that is known, and the value; the handler, or the thread where there are\n"
        "several; and, where a library such as memcpy did it, the call.  What one copy stored is one line.\n"
        "The object is an expression for something in memory, such as a variable, at the position in the history; or\n"
        "ADDRESS (a word), or ADDRESS,SIZE with the size in bytes.  Stores whose address is not known are counted:\n"
        "each of them may have written there, too."
    ),
    arguments=(AT, TRACE_ID, BY, READS, EXPRESSION),
    examples=(
        ("writes station.table[0].handler", "who wrote this pointer"),
        ("writes 0x20000050,64", "who wrote any of 64 bytes"),
        ("writes --by parse line", "what parse() wrote there, also by strcpy()"),
        ("writes --reads station.mode", "who read it"),
    ),
    is_raw=True,
)
