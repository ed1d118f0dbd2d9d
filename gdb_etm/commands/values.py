"""``etm print``, ``etm x``, ``etm info``: values at the position."""

from __future__ import annotations

from typing import Iterable, Iterator, List

from gdb_etm.commands.connect import run_info
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.errors import CommandError
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.values import Tier, Value
from gdb_etm.session.evaluation import Moment, marks, moment, printed
from gdb_etm.session.numbers import count
from gdb_etm.session.recovered import named
from gdb_etm.session.register_names import CORE, register_name
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import align
from gdb_etm.views.values import RegisterRow, register_cells

AT = Argument("--at", count, "before this instruction instead of at the position", "N")


def moment_of(session: DebugSession, values: Values, needs_position: bool = True) -> Moment:
    """Give the moment that a command asks for: the cursor's or ``--at``.

    :raises CommandError: There is none.
    """
    return moment(session, values.get(AT), values.get(TRACE_ID), needs_position)


def _expressions(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    return session.places.expressions(word) if session.places is not None else ()


EXPRESSION = Argument("EXPR", str, "an expression, as for GDB's print", required=True, suggest=_expressions)
ADDRESS = Argument("ADDRESS", str, "an expression for the address, as for GDB's x", required=True, suggest=_expressions)

# Where the status register has them.
_FLAGS = (("n", 31), ("z", 30), ("c", 29), ("v", 28))
_TOPICS = ("registers", "locals", "args")


def run_print(session: DebugSession, values: Values) -> Iterator[str]:
    """Print an expression."""
    text = values.get(EXPRESSION) or ""
    at = moment_of(session, values)
    yield from at.news()
    lines = printed(at, "print -- %s %s" % (_format(values), text))
    for index, line in enumerate(marks(lines)):
        yield "%s = %s" % (text, line) if not index else line
    yield from at.notes()


def run_x(session: DebugSession, values: Values) -> Iterator[str]:
    """Print memory."""
    at = moment_of(session, values)
    yield from at.news()
    yield from marks(printed(at, "x%s %s" % (_format(values), values.get(ADDRESS))))
    yield from at.notes()


def _format(values: Values) -> str:
    return "/" + values.modifiers if values.modifiers else ""


def run_about(session: DebugSession, values: Values) -> Iterator[str]:
    """Describe the trace unit, or what is known at the position."""
    topic = values.get(TOPIC)
    if topic is None:
        yield from run_info(session, values)
        return
    names = values.all(WHICH)
    if values.modifiers:
        raise CommandError("/%s is for the trace unit: etm info /%s" % (values.modifiers, values.modifiers))
    if topic != "registers" and names:
        raise CommandError("etm info %s takes no names: etm print %s" % (topic, names[0]))
    chosen = [register_name(name) for name in names]
    at = moment_of(session, values)
    yield from at.news()
    if topic == "registers" and at.level:
        wanted = [name for name in chosen or CORE if name != "xpsr" or is_m_profile(at.decoded.history.source.core)]
        yield from marks(printed(at, "info registers " + " ".join(wanted)))
    elif topic == "registers":
        yield from registers(at, chosen)
    else:
        yield from marks(printed(at, "info " + topic))
    yield from at.notes()


def _topic(text: str) -> str:
    found = [topic for topic in _TOPICS if topic.startswith(text)]
    if len(found) != 1:
        raise CommandError('"%s" is none of: %s' % (text, ", ".join(_TOPICS)))
    return found[0]


def registers(at: Moment, names: List[str]) -> Iterator[str]:
    """List registers at a moment; named ones with their reasons.

    :param names: Which; none: all of the core's.
    """
    rows = []
    for name in names or CORE:
        value = register_at(at, name)
        if name == "xpsr" and at.number > len(at.recovery.history):
            value = _at_end(at, value)
        symbol = ""
        if name in ("sp", "lr", "pc") and value.value is not None:
            symbol = at.session.debugger.symbol_at(value.value & ~(name == "lr"))
        reason = value.reason if names or value.value is None else ""
        shown = "cpsr" if name == "xpsr" and not is_m_profile(at.decoded.history.source.core) else name
        rows.append(register_cells(RegisterRow(shown, value, symbol, named(at.session.debugger, reason))))
    return iter(align(rows))


def register_at(at: Moment, name: str) -> Value:
    """Give a register at a moment; of xpsr the known flags."""
    value = at.answers.register(at.number, name)
    if name != "xpsr" or value.value is not None:
        return value
    for flag, place in _FLAGS:
        found = at.answers.register(at.number, flag).value
        if found is not None:
            value = value._replace(known=value.known | 1 << place, bits=value.bits | (found & 1) << place)
    return value


def _at_end(at: Moment, value: Value) -> Value:
    # The halted core's own.
    end = at.decoded.anchored.after(at.decoded.history)
    found = end.registers.get("xpsr", end.registers.get("cpsr")) if end is not None else None
    return value if found is None else Value(found, Tier.EXACT, "read at the halt")


TOPIC = Argument("TOPIC", _topic, "registers, locals or args at the position; none: the trace unit", choices=_TOPICS)
WHICH = Argument(
    "REG",
    str,
    "registers, such as r3, sp or xpsr; none: all of the core's",
    many=True,
    suggest=lambda session, before, word: CORE if before[:1] == ["registers"] else (),
)

_POSITION = (
    'The position is where "etm goto", "etm reverse-step" and similar commands went, in the selected frame.\n'
    "<unavailable>: the value is not known.  Values that are not exact are marked (assumed), see\n"
    '"help set etm recovery".'
)

PRINT = Command(
    "print",
    "Print the value of an expression at the position in the history.",
    run_print,
    details=_POSITION + "\nNothing of the target is read, and nothing is changed: functions cannot be called.",
    arguments=(AT, TRACE_ID, EXPRESSION),
    modifiers={"FMT": "how, as for GDB's print, such as /x"},
    examples=(
        ("print station.table[0]", "what it held then"),
        ("print /x $r3", "a register in hexadecimal"),
        ("print --at 18204 *message", "before another instruction"),
    ),
    is_raw=True,
)

X = Command(
    "x",
    "Print memory at the position in the history.",
    run_x,
    details=_POSITION,
    arguments=(AT, TRACE_ID, ADDRESS),
    modifiers={"FMT": "how much and how, as for GDB's x, such as /4xw"},
    examples=(("x /8xw $sp", "eight words of the stack"), ("x /s sentence", "a string")),
    is_raw=True,
)

INFO = Command(
    "info",
    "Describe the trace unit and buffer, or registers and variables of the past.",
    run_about,
    details=_POSITION,
    arguments=(TOPIC, WHICH, AT, TRACE_ID),
    modifiers={"v": "with the identification fields that say what the unit has"},
    examples=(
        ("info", "what the unit can do, by its identification registers"),
        ("info /v", "and which of their fields say so"),
        ("info registers", "those of the core at the position"),
        ("info registers r3 lr", "two of them, and why they are known"),
        ("info locals", "the local variables of the selected frame"),
    ),
)
