"""``etm why`` and ``etm writes``: a value's facts, and a variable's stores."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import Iterator, List, Optional, Sequence, Tuple, TypeVar

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import AT, EXPRESSION, moment_of, register_at
from gdb_etm.errors import CommandError
from gdb_etm.history.store import Span
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap
from gdb_etm.recovery.values import Step, Tier, Write
from gdb_etm.session.evaluation import Moment, printed
from gdb_etm.session.numbers import count
from gdb_etm.session.recovered import named
from gdb_etm.session.register_names import CORE, register_name
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import align, end_text, exception_text, plural
from gdb_etm.views.values import flags_text, mark, partial_text, value_text

NUMBER = Argument("N", str, "before which instruction; none: at the position", choices=tuple(CORE))
REGISTER = Argument("REG", str, "a register, such as r3, sp or xpsr", suggest=lambda session, before, word: CORE)

_NUMBER = re.compile(r"#?([0-9][0-9,]*)\Z")
_PIECE = re.compile(r"(.+),\s*(0x[0-9a-f]+|[0-9]+)\Z", re.IGNORECASE)
_LITERAL = re.compile(r"\*?(0x[0-9a-f]+|[0-9]+)\Z", re.IGNORECASE)
_HEX = re.compile(r"0x([0-9a-f]+)")
_STORE = re.compile(r"v?(st|push|srs)")
# With floating-point registers (Armv8-M ARM, B3.19).
_LARGEST_FRAME = 104
# Bytes whose stores are looked for.
_LONGEST = 1 << 16
_SPACE = 1 << 32
_WORD = 4
_Item = TypeVar("_Item")


def run_why(session: DebugSession, values: Values) -> Iterator[str]:
    """List the facts that a register's value rests on."""
    session.look()
    first, second = values.get(NUMBER), values.get(REGISTER)
    if first is None:
        raise CommandError("a register is missing: etm why r3, or etm why N r3")
    if second is None and _NUMBER.match(first) is not None:
        raise CommandError("a register is missing: etm why %s r3" % first)
    name = register_name(first if second is None else second)
    if second is not None:
        found = _NUMBER.match(first)
        if found is None:
            raise CommandError('"%s" is no number of an instruction: etm why N REG' % first)
        number = int(found.group(1).replace(",", ""))
        last = len(session.shown(values.get(TRACE_ID)).history)
        if not 1 <= number <= last:
            raise CommandError("%d is outside the history: the instructions are numbered 1 to %d" % (number, last))
        values.add(AT, number)
    at = moment_of(session, values)
    yield from at.news()
    value = register_at(at, name)
    part = "" if value.value is not None else flags_text(value) if name == "xpsr" else partial_text(value)
    words = ["%s = %s" % (name, value_text(value)), part, "" if value.value is None else mark(value.tier)]
    yield "%s %s" % (" ".join(word for word in words if word), _before(at))
    steps = at.answers.why(at.number, name)
    # A shell has no settings; what it prints can be cut elsewhere.
    shown = steps if session.places is None else _first(session, steps)
    yield from align([["", *cells] for cells in (_step(at, step) for step in shown)])
    if len(shown) < len(steps):
        yield '[%s; "set etm history-size" sets how many are listed]' % plural(len(steps) - len(shown), "more fact")
    yield from at.notes()


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


def run_writes(session: DebugSession, values: Values) -> Iterator[str]:
    """List the stores that wrote an object."""
    text = values.get(EXPRESSION) or ""
    at = moment_of(session, values, needs_position=False)
    address, size = _object(at, text)
    if not 0 < size <= _LONGEST or address + size > _SPACE:
        raise CommandError("%s: of 1 to %d bytes in 32 bits of address space" % (text, _LONGEST))
    limit = session.settings.get("history-size", "10")
    enough = None if limit == "unlimited" else int(limit)
    written = at.known.writes(address, size, enough, session.meter)
    yield from at.news()
    symbol = session.debugger.symbol_at(address)
    place = "0x%08x <%s>" % (address, symbol) if symbol else "0x%08x" % address
    yield "%s at %s:" % (plural(size, "byte"), place)
    shown = written.writes[:enough]
    yield from _lines(at, shown, address, size)
    if len(shown) < len(written.writes):
        left = len(written.writes) - len(shown)
        since = "" if written.first == 1 else " since instruction {:,}".format(written.first)
        yield '[%s%s; "set etm history-size" sets how many are listed]' % (plural(left, "older store"), since)
        return
    if not shown:
        yield "no store to it is known in this history" if written.first == 1 else "no store to it is known"
    if written.unknown_before:
        yield _unknown(written.unknown_before)
    if written.first > 1:
        yield "[not looked at: what ran before instruction {:,}, {}]".format(written.first, _cut(at, written.first))
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


def _first(session: DebugSession, items: Sequence[_Item]) -> Sequence[_Item]:
    limit = session.settings.get("history-size", "10")
    return items if limit == "unlimited" else items[: int(limit)]


def _lines(at: Moment, writes: Sequence[Write], address: int, size: int) -> Iterator[str]:
    lines = iter(align([_cells(at, write, address, size) for write in writes]))
    for write in writes:
        if write.unknown_after:
            yield _unknown(write.unknown_after)
        yield next(lines)


def _unknown(stores: int) -> str:
    return "[%s whose address is not known]" % plural(stores, "store")


def _cells(at: Moment, write: Write, address: int, size: int) -> List[str]:
    value = write.value
    words = [] if value.value is None else [mark(value.tier)]
    if (write.address, write.size) != (address, size):
        words.append("%s at 0x%08x" % (plural(write.size, "byte"), write.address))
    if not write.certain:
        words.append("if its condition held")
    if value.value is None:
        words.append(named(at.session.debugger, value.reason))
    place, line = _writer(at, write)
    more = ", ".join(word for word in words if word)
    return [_numbered(write.number), place, value_text(value, 2 * write.size), line, more]


def _writer(at: Moment, write: Write) -> Tuple[str, str]:
    # The place and the line of a store; what an exception pushed is the exception's.
    exception = _pushed(at, write)
    if exception is not None:
        return "<%s>" % exception_text(exception), ""
    return _place(at, write.number), _line(at, write.number)


def _pushed(at: Moment, write: Write) -> Optional[Exception_]:
    # The exception whose frame a store lies in: its stack pointer is the first thing that is known of a handler.
    history = at.decoded.history
    pointers = [at.recovery.register(write.number + 1, name).value for name in ("sp", "psp")]
    inside = any(one is not None and one <= write.address < one + _LARGEST_FRAME for one in pointers)
    if write.number >= 1 and not inside and (None not in pointers or _STORE.match(_instruction(at, write.number))):
        return None
    if write.number < 1:
        found = [event for before, event in history.interruptions() if not before]
    else:
        rest = dropwhile(lambda item: not isinstance(item, Span), history.spans(write.number, write.number))
        found = [item for item in rest if not isinstance(item, Span)]
    return next((event for event in found if isinstance(event, Exception_)), None)


def _line(at: Moment, number: int) -> str:
    found = at.session.debugger.line_at(at.decoded.history.instruction(number).address)
    return "%s:%d" % (found.path, found.line) if found is not None else ""


def _object(at: Moment, text: str) -> Tuple[int, int]:
    # Where it is, and how long: ADDRESS, ADDRESS,SIZE, or something that has an address.
    piece = _PIECE.match(text)
    size = count(piece.group(2)) if piece is not None else None
    start = piece.group(1).strip() if piece is not None else text
    literal = _LITERAL.match(start)
    if literal is not None:
        return count(literal.group(1)), _WORD if size is None else size
    if at.session.places is None:
        return _by_symbol(at, start, size)
    if size is not None:
        return _number(at, "(unsigned long) (%s)" % start), size
    return _number(at, "(unsigned long) &(%s)" % text), _number(at, "(unsigned long) sizeof(%s)" % text)


def _by_symbol(at: Moment, text: str, size: Optional[int]) -> Tuple[int, int]:
    if at.session.locations is None:
        raise CommandError('without GDB "%s" cannot be evaluated: writes ADDRESS[,SIZE]' % text)
    first, last = at.session.locations.data(text)[0]
    return first, last - first + 1 if size is None else size


def _number(at: Moment, expression: str) -> int:
    lines = printed(at, "output/x %s" % expression)
    found = _HEX.match(lines[0].text) if lines else None
    if found is None:
        raise CommandError("its address is not known at this position: %s" % (lines[0].text if lines else ""))
    if lines[0].tier is not Tier.EXACT:
        tier = lines[0].tier.name.lower()
        raise CommandError("its address is only %s: give ADDRESS,SIZE" % tier)
    return int(found.group(1), 16)


WHY = Command(
    "why",
    "Tell why a register's value is known, or why it is not.",
    run_why,
    details=(
        "The facts that it rests on, nearest first: what was read at the halt or when the run began, branches that\n"
        "were taken, loads and stores.  Each with its instruction; what is not exact is marked.\n"
        'As many are listed as "set etm history-size" says.'
    ),
    arguments=(NUMBER, REGISTER, TRACE_ID),
    examples=(("why r3", "at the position"), ("why 18204 sp", "before instruction 18,204")),
)

WRITES = Command(
    "writes",
    "List the stores that wrote an object, newest first.",
    run_writes,
    details=(
        "The object is an expression for something in memory, such as a variable, at the position in the history; or\n"
        "ADDRESS (a word), or ADDRESS,SIZE with the size in bytes.  Stores whose address is not known are counted:\n"
        "each of them may have written there, too."
    ),
    arguments=(AT, TRACE_ID, EXPRESSION),
    examples=(
        ("writes station.table[0].handler", "who wrote this pointer"),
        ("writes 0x20000050,64", "who wrote any of 64 bytes"),
    ),
    is_raw=True,
)
