"""``etm plan``, ``etm diff``, ``etm reg``: planned and present contents of registers."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Dict, Iterable, Iterator, List, Optional, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.options import OPTIONS, request_of
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.numbers import count
from gdb_etm.session.planning import options_of
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.registers.page import Register
    from gdb_etm.traceunit.bench import Bench
    from gdb_etm.traceunit.by_hand import ByHand
    from gdb_etm.traceunit.parts import PathPart

_PREFIXES = ("TRC", "ETM")
_BESIDE = 'also: %s; "etm reg %s" lists one of them'


def run_plan(session: DebugSession, values: Values) -> Iterator[str]:
    """Print what a start would write; write nothing."""
    from gdb_etm.session.register_lines import plan_lines

    hardware = session.connected().session()
    plan, planned = _bench(session).plan(options_of(session, request_of(values)))
    yield from plan_lines(planned, hardware.unit.version, "f" in values.modifiers)
    for note in plan.notes:
        yield "note: " + note


def run_diff(session: DebugSession, values: Values) -> Iterable[str]:
    """Compare a plan with what the registers hold; only read."""
    from gdb_etm.session.register_lines import comparison_lines
    from gdb_etm.traceunit.parts import compare

    options = session.connected().session().options
    if options is None or any(values.all(argument) for argument in OPTIONS):
        options = options_of(session, request_of(values))
    return comparison_lines(compare(_bench(session).plan(options)[1]))


def run_reg(session: DebugSession, values: Values) -> Iterator[str]:
    """List, read or write registers."""
    from gdb_etm.session.register_lines import part_lines, register_lines, written_lines

    connection = session.connected()
    hardware, bench = connection.session(), _bench(session)
    text = values.get(NAME)
    if "f" in values.modifiers:
        yield from _forget(hardware.by_hand, bench, text)
        return
    if text is None:
        yield from part_lines(bench, bench.unit, bench.registers(bench.unit))
        others = [part.name for part in bench.parts if part is not bench.unit]
        yield _BESIDE % (", ".join(others), others[-1])
        return
    name, equals, whole = text.partition("=")
    words = values.all(FIELDS)
    if equals and not whole and words:
        whole = words.pop(0)
    found = _find(bench, name)
    is_written = bool(equals or words)
    if not is_written and len(found) == 1 and len(found[0][1]) == 1:
        part, (register,) = found[0]
        yield from register_lines(bench, part, register, hardware.unit.version)
    elif not is_written:
        for part, registers in found:
            yield from part_lines(bench, part, registers)
    else:
        if len(found) != 1 or len(found[0][1]) != 1:
            raise CommandError("%s: one register at a time is written" % name)
        part, (register,) = found[0]
        value = _number(whole, register.name) if equals else None
        written = bench.write(part, register, value, _fields(register, words))
        connection.leave_restoration()
        yield from written_lines(register, written)


def _bench(session: DebugSession) -> Bench:
    from gdb_etm.traceunit.bench import Bench

    return Bench(session.connected().session())


def _forget(by_hand: ByHand, bench: Bench, text: Optional[str]) -> Iterator[str]:
    name = None if text is None else _find(bench, text)[0][1][0].name
    names = by_hand.forget(name)
    if not names:
        raise CommandError("nothing was written by hand" if name is None else "%s was not written by hand" % name)
    yield 'The next "etm start" writes what is planned to: %s' % ", ".join(names)


def _find(bench: Bench, text: str) -> List[Tuple[PathPart, List[Register]]]:
    """Find registers: ``TRCVICTLR``, ``victlr``, ``ETF.STS``, ``ETF``, ``TRCCNT*``."""
    place, dot, name = text.upper().rpartition(".")
    parts = [part for part in bench.parts if part.name == place] if dot else _unit_first(bench)
    if not parts:
        raise CommandError(
            "no component %s on the path; there are %s" % (place, ", ".join(part.name for part in bench.parts))
        )
    for part in parts:
        known = {register.name.upper(): register for register in part.page}
        for each in (name, *(prefix + name for prefix in _PREFIXES)):
            if each in known:
                return [(part, [known[each]])]
    whole = [(part, bench.registers(part)) for part in bench.parts if not dot and part.name == name]
    if whole:
        return whole
    matching = [
        (part, [each for each in bench.registers(part) if fnmatchcase(each.name.upper(), name)])
        for part in parts
        if "*" in name or "?" in name
    ]
    matching = [(part, registers) for part, registers in matching if registers]
    if not matching:
        raise CommandError("no register %s%s" % (text, _near(parts, name)))
    return matching


def _unit_first(bench: Bench) -> List[PathPart]:
    return sorted(bench.parts, key=lambda part: part is not bench.unit)


def _near(parts: List[PathPart], name: str) -> str:
    names = [register.name for part in parts for register in part.page]
    near = get_close_matches(name, names, 3)
    return "; is it %s?" % " or ".join(near) if near else '; "etm reg" lists them'


def _fields(register: Register, words: List[str]) -> Dict[str, int]:
    upper = {name.upper(): name for name in register.fields}
    result: Dict[str, int] = {}
    rest = iter(words)
    for word in rest:
        name, equals, text = word.partition("=")
        # Completion puts a blank after what it completes.
        text = text or next(rest, "")
        if not equals:
            raise CommandError('"%s" is no FIELD=VALUE' % word)
        field = upper.get(name.upper())
        if field is None:
            raise CommandError("%s has no field %s; there are %s" % (register.name, name, ", ".join(register.fields)))
        if field in result:
            raise CommandError("%s is given twice" % field)
        result[field] = _number(text, "%s.%s" % (register.name, field))
    return result


def _number(text: str, what: str) -> int:
    try:
        return count(text)
    except CommandError as error:
        raise CommandError("%s: %s" % (what, error))


def _suggest_names(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    try:
        bench = _bench(session)
    except EtmError:
        return []
    names = [register.name for register in bench.registers(bench.unit)]
    for part in bench.parts:
        if part is not bench.unit:
            names += [part.name] + ["%s.%s" % (part.name, register.name) for register in part.page]
    upper = word.upper()
    # Offers must begin with what was typed, in its letters.
    return [word + name[len(word) :] for name in names if name.upper().startswith(upper)]


def _suggest_fields(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    try:
        bench = _bench(session)
        words = [each for each in before if not each.startswith("/")]
        found = _find(bench, words[0])
    except EtmError:
        return []
    taken = {each.partition("=")[0].upper() for each in words[1:]}
    names = [field + "=" for field in found[0][1][0].fields if field.upper() not in taken]
    return [word + name[len(word) :] for name in names if name.upper().startswith(word.upper())]


NAME = Argument(
    "NAME",
    str,
    "a register, such as TRCVICTLR or ETF.STS, or NAME=VALUE; TRCCNT* or ETF lists several",
    suggest=_suggest_names,
)
FIELDS = Argument(
    "FIELD=VALUE",
    str,
    "writes: a field by the datasheet's name, the others as they are",
    suggest=_suggest_fields,
    many=True,
)

PLAN = Command(
    "plan",
    'Print what "etm start" with these options would write to the hardware.',
    run_plan,
    details=(
        "Nothing is written.  The whole path is shown, in the order of the accesses: offset, register, value, the\n"
        "fields that are not 0, and the reason."
    ),
    arguments=OPTIONS,
    modifiers={"f": "every field on a line, with its meaning"},
    examples=(
        ("plan", "trace everything"),
        ("plan --cycles 16 --timestamps", "what two options change"),
    ),
)

DIFF = Command(
    "diff",
    "Compare a plan with what the registers hold, field by field.",
    run_diff,
    details=(
        'Registers are only read.  Without options the plan is that of the last "etm start".  What the hardware\n'
        "changes by itself, such as counters and pointers, is left out."
    ),
    arguments=OPTIONS,
    examples=(
        ("diff", "did anybody else write to the trace unit?"),
        ("diff --cycles 16", "what would have to change for cycle counts"),
    ),
)

REG = Command(
    "reg",
    "List, read or write the registers of the trace unit and of its path.",
    run_reg,
    details=(
        "Names and fields are the datasheet's; TRC and ETM in front may be left out.  What is written is put back by\n"
        '"etm disconnect", and until then every "etm start" keeps it.  The unit must be off to be written.'
    ),
    arguments=(NAME, FIELDS),
    modifiers={"f": "forget what was written by hand: the next start writes what is planned"},
    examples=(
        ("reg", "the trace unit's registers"),
        ("reg TRCVICTLR", "one of them, field by field"),
        ("reg TRCSYNCPR PERIOD=9", "write one field"),
        ("reg ETF.STS", "of the trace buffer"),
    ),
)
