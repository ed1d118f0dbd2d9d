"""``etm why``: the facts that a value rests on."""

from __future__ import annotations

import re
from typing import Iterator, List, Sequence, Tuple, TypeVar

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.fault import explained
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import AT, moment_of, register_at
from gdb_etm.errors import CommandError
from gdb_etm.recovery.values import Step
from gdb_etm.session.diagnosed import NothingWrong, diagnosed
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.recovered import named
from gdb_etm.session.register_names import CORE, register_name
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import align_names, plural
from gdb_etm.views.values import flags_text, mark, partial_text, value_text

NUMBER = Argument("N", str, "before which instruction; none: at the position", choices=tuple(CORE))
REGISTER = Argument("REG", str, "a register, such as r3, sp or xpsr", suggest=lambda session, before, word: CORE)

_NUMBER = re.compile(r"#?([0-9][0-9,]*)\Z")
_Item = TypeVar("_Item")


def run_why(session: DebugSession, values: Values) -> Iterator[str]:
    """List the facts that a register's value rests on."""
    session.look()
    if values.get(NUMBER) is None:
        yield from _fault(session, values)
        return
    at, name = asked_register(session, values)
    yield from at.news()
    value = register_at(at, name)
    part = "" if value.value is not None else flags_text(value) if name == "xpsr" else partial_text(value)
    words = ["%s = %s" % (name, value_text(value)), part, "" if value.value is None else mark(value.tier)]
    yield "%s %s" % (" ".join(word for word in words if word), _before(at))
    steps = at.answers.why(at.number, name)
    # A shell has no settings; what it prints can be cut elsewhere.
    shown = steps if session.places is None else _first(session, steps)
    yield from align_names([["", *cells] for cells in (_step(at, step) for step in shown)])
    if len(shown) < len(steps):
        yield '[%s; "set etm history-size" sets how many are listed]' % plural(len(steps) - len(shown), "more fact")
    yield from at.notes()


def asked_register(session: DebugSession, values: Values) -> Tuple[Moment, str]:
    """Find the moment and the register that are asked about.

    :raises CommandError: There is no such instruction or register, or it is not said which.
    """
    first, second = values.get(NUMBER), values.get(REGISTER)
    if first is None:
        raise CommandError("a register is missing: etm why r3")
    if second is None and _NUMBER.match(first) is not None:
        raise CommandError("a register is missing: etm why %s r3" % first)
    if second is not None:
        found = _NUMBER.match(first)
        if found is None:
            raise CommandError('"%s" is no number of an instruction: etm why N REG' % first)
        number = int(found.group(1).replace(",", ""))
        last = len(session.shown(values.get(TRACE_ID)).history)
        if not 1 <= number <= last:
            raise CommandError("%d is outside the history: the instructions are numbered 1 to %d" % (number, last))
        values.add(AT, number)
    # What is said of 64-bit cores comes before what registers there are.
    at = moment_of(session, values)
    return at, register_name(first if second is None else second)


def _fault(session: DebugSession, values: Values) -> Iterator[str]:
    # Without a register the question is why the program went wrong, if it did.
    try:
        found = diagnosed(session, values.get(TRACE_ID))
    except NothingWrong:
        raise CommandError("a register is missing: etm why r3, or etm why N r3")
    yield from explained(session, found)


def _before(at: Moment) -> str:
    if at.number > len(at.decoded.history):
        return "at the end"
    return "before instruction {:,}, {}".format(at.number, _place(at, at.number))


def _place(at: Moment, number: int) -> str:
    address = at.decoded.history.instruction(number).address
    symbol = at.session.debugger.symbol_at(address)
    return "<%s>" % symbol if symbol else "0x%08x" % address


def _step(at: Moment, step: Step) -> List[str]:
    number = step.number
    is_inside = number is not None and 1 <= number <= len(at.decoded.history)
    if not is_inside or number is None:
        return ["", "", "", _fact(at, step, 0)]
    return [_numbered(number), _place(at, number), _instruction(at, number), _fact(at, step, number)]


def _fact(at: Moment, step: Step, number: int) -> str:
    # Its instruction stands before it already.
    text = step.text
    for words in (" at %s", " (%s)"):
        text = text.replace(words % _numbered(number), "")
    text = text.replace("what %s computed" % _numbered(number), "what it computed")
    return ("%s %s" % (named(at.session.debugger, text), mark(step.tier))).rstrip()


def _instruction(at: Moment, number: int) -> str:
    one = at.decoded.history.instruction(number)
    code = at.decoded.program.read(one.address, one.size)
    return " ".join(at.session.debugger.disassemble(one.address, code, one.isa).partition("@")[0].split())


def _numbered(number: int) -> str:
    return "#{:,}".format(number)


def _first(session: DebugSession, items: Sequence[_Item]) -> Sequence[_Item]:
    limit = session.settings.get("history-size", "10")
    return items if limit == "unlimited" else items[: int(limit)]


WHY = Command(
    "why",
    "Tell why a register's value is known, or why it is not.",
    run_why,
    details=(
        "The facts that it rests on, nearest first: what was read at the halt or when the run began, branches that\n"
        "were taken, loads and stores.  Each with its instruction; what is not exact is marked.\n"
        'As many are listed as "set etm history-size" says.\n'
        'At a fault "etm why" alone is "etm fault".'
    ),
    arguments=(NUMBER, REGISTER, TRACE_ID),
    examples=(("why r3", "at the position"), ("why 18204 sp", "before instruction 18,204")),
)
