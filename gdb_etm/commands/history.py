"""``etm history`` and ``etm functions``: the executed instructions, and the call history."""

from __future__ import annotations

from itertools import islice
from typing import Callable, Iterable, Iterator, List, Optional, TypeVar

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.threads import THREAD, TRACE_ID, functions_of
from gdb_etm.program.image import Program
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.inlined import with_inlined
from gdb_etm.session.listing import event_rows, function_rows, history_rows, traced_data, with_switches
from gdb_etm.session.past import position
from gdb_etm.session.ranges import NumberRange, check, window
from gdb_etm.session.session import DebugSession
from gdb_etm.views.history import FunctionRow, function_lines, instruction_lines
from gdb_etm.views.text import end_text, plural

_Row = TypeVar("_Row")

_WHICH = "which: N | N,M | N,+M | N,-M | -N (the last N) | + (next) | - (before)"
RANGE = Argument("RANGE", str, _WHICH, many=True)
CALL_RANGE = Argument("RANGE", str, _WHICH + " | @N (around instruction N)", many=True)
PACKET_RANGE = Argument("RANGE", str, _WHICH + "; none: the next, at first the last", many=True)

# Lines aligned together; a listing of any length starts to print at once.
_BATCH = 1000


def run_history(session: DebugSession, values: Values) -> Iterable[str]:
    """List executed instructions."""
    decoded = session.shown(values.get(TRACE_ID))
    text = range_text(values, RANGE)
    limit = _limit(session, "history-size")
    length, here = len(decoded.history), position(session, decoded)
    if not length:
        check(text, "instructions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    shown = window(text, length, limit, decoded.instructions_shown, "instructions", here)
    yield from _whose(session, values, decoded, decoded.instructions_shown)
    yield from _doubts(decoded, "instructions marked ! are not what the target holds now")
    yield from _other_names(session, decoded)
    yield from _absent(decoded, values.modifiers)
    rows = history_rows(session.debugger, decoded, shown, values.modifiers, _is_next(text), text.strip() == "-")
    cursor = _within(shown, here)
    told = with_switches(session.debugger, decoded, shown, rows)
    yield from _in_batches(told, lambda batch: instruction_lines(batch, cursor))
    decoded.instructions_shown = shown


def run_functions(session: DebugSession, values: Values) -> Iterable[str]:
    """List function segments, exceptions and gaps."""
    decoded = session.shown(values.get(TRACE_ID))
    calls = decoded.calls(session.debugger.function_at)
    text = range_text(values, CALL_RANGE)
    limit = _limit(session, "function-call-history-size")
    instruction = _instruction(text, len(decoded.history))
    if not len(calls):
        check("" if instruction is not None else text, "functions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    thread = values.get(THREAD)
    if thread is not None:
        yield from _functions_of(session, values, decoded, thread, text, limit)
        return
    place = calls.at(position(session, decoded) if instruction is None else instruction)
    chosen = text if instruction is None else ""
    shown = window(chosen, len(calls), limit, decoded.functions_shown, "functions", place)
    yield from _whose(session, values, decoded, decoded.functions_shown)
    yield from _doubts(decoded, "some of what is listed may never have run")
    yield from _other_names(session, decoded)
    if shown.first == 1:
        yield end_text(decoded.history.end_reason)
    rows = function_rows(session.debugger, decoded, shown, "l" in values.modifiers)
    yield from _call_lines(session, values, decoded, rows, _within(shown, place))
    decoded.functions_shown = shown


def range_text(values: Values, argument: Argument[str]) -> str:
    """Give the range as typed; Enter goes on in the same direction.

    :param argument: The range's declaration.
    """
    text = " ".join(values.all(argument)).strip()
    return "-" if values.goes_on and text == "-" else "+" if values.goes_on else text


def _within(shown: NumberRange, cursor: int) -> Optional[int]:
    # What to mark; the end of the history is no line of it.
    return cursor if shown.first <= cursor <= shown.last else None


def _instruction(text: str, length: int) -> Optional[int]:
    # The number of "@3000" or "@-1".
    if not text.startswith("@"):
        return None
    return window(text[1:].replace(",", ""), length, 1, None, "instructions").first


def _functions_of(
    session: DebugSession, values: Values, decoded: Decoded, thread: str, text: str, limit: Optional[int]
) -> Iterator[str]:
    chosen = decoded.threads(session.debugger).choose(thread)
    found = functions_of(session, decoded, chosen, text, limit, "l" in values.modifiers)
    yield from _call_lines(session, values, decoded, found, None)


def _call_lines(
    session: DebugSession, values: Values, decoded: Decoded, rows: Iterator[FunctionRow], cursor: Optional[int]
) -> Iterator[str]:
    calls, numbers = "c" in values.modifiers, "i" in values.modifiers
    if "n" in values.modifiers:
        rows = with_inlined(session.places, decoded.history, rows)
    yield from _in_batches(rows, lambda batch: function_lines(batch, calls, numbers, cursor))


def _in_batches(rows: Iterator[_Row], write: Callable[[List[_Row]], Iterable[str]]) -> Iterator[str]:
    while True:
        batch = list(islice(rows, _BATCH))
        if not batch:
            return
        yield from write(batch)


def _whose(session: DebugSession, values: Values, decoded: Decoded, before: Optional[NumberRange]) -> Iterator[str]:
    # At the first look, where several cores were traced and the user did not say which.
    words = session.look().whose(decoded) if before is None and values.get(TRACE_ID) is None else ""
    if words:
        yield words


def _doubts(decoded: Decoded, consequence: str) -> Iterator[str]:
    # Decoding with code that did not run gives a history that did not happen.
    if decoded.doubt.addresses:
        yield "the program and the target's memory differ: %s" % consequence
    elif decoded.doubt.unread is not None:
        yield "the code was not compared with the target's: %s" % decoded.doubt.unread


def _other_names(session: DebugSession, decoded: Decoded) -> Iterator[str]:
    # A capture keeps the program that it was taken with, but names are the debugger's.
    now = Program(session.images())
    if now.pieces and not decoded.is_of(now):
        yield "another program than this capture's is loaded now; names and lines are of that one"


def _absent(decoded: Decoded, modifiers: str) -> Iterator[str]:
    # What a modifier asks for may not have been traced.
    if "t" in modifiers and not decoded.clock.has_times:
        yield "no cycle counts and no timestamps in this trace"
    if "d" in modifiers and not decoded.history.tells_transfers:
        yield "no loads and stores in this trace"
    elif "d" in modifiers and not all(traced_data(decoded)):
        what = "values" if traced_data(decoded).addresses else "addresses"
        yield '%s of loads and stores are not traced; "etm start --data both" traces them' % what


def _events_alone(debugger: Debugger, decoded: Decoded, limit: Optional[int]) -> Iterator[str]:
    # Without instructions the events still say why there are none.
    rows = event_rows(debugger, decoded)
    newest = rows[-limit:] if limit else rows
    if len(newest) == len(rows):
        yield end_text(decoded.history.end_reason)
    else:
        yield "[%s before these]" % plural(len(rows) - len(newest), "event")
    yield from instruction_lines(newest)
    yield (
        "no instructions"
        if decoded.program.images
        else 'no instructions: there is no program; "file" or --elf gives one'
    )


def _is_next(text: str) -> bool:
    return text.strip() in ("", "+")


def _limit(session: DebugSession, name: str) -> Optional[int]:
    value = session.settings.get(name, "10")
    return None if value == "unlimited" else int(value)


HISTORY = Command(
    "history",
    "Print the instructions that really ran.",
    run_history,
    details=(
        "Without a range it shows what is around the position, which => marks; at first that is the end.\n"
        "The newest have the highest numbers.  Exceptions and gaps take a line, not a number.\n"
        'Like GDB\'s "record instruction-history"; "set etm history-size" sets how many are printed.\n'
        "The total of cycles starts again after an unknown count; a timestamp's own count is of the cycles since the\n"
        "count before it.  What is there depends on what the unit can trace and was programmed to trace."
    ),
    arguments=(RANGE, TRACE_ID),
    modifiers={
        "m": "with source lines",
        "s": "with source lines",
        "r": "with the instructions' bytes, in memory order",
        "f": "without function names",
        "t": "with cycle counts, their total and timestamps, beside what they belong to",
        "d": "with the data that was loaded and stored, below the instruction",
    },
    examples=(
        ("history", "ten around the position, which is marked; Enter: the next ten"),
        ("history -", "the ten before; Enter: the ten before those"),
        ("history /s -30", "the last thirty, with source"),
        ("history 21890,+20", "twenty from number 21890"),
        ("history /st -30", "the last thirty, with source, cycles and timestamps"),
        ("history /d 21900", "ten, with the values that they loaded and stored"),
    ),
)

FUNCTIONS = Command(
    "functions",
    "Print the functions that really ran, in order.",
    run_functions,
    details=(
        "One line for each run of instructions in one function; exceptions have lines of their own, and so have\n"
        "gaps, without a number.  Without a range it shows what is around the position, marked =>.\n"
        "Call depths begin at 0 in each thread; a line says where another thread goes on.\n"
        'Like GDB\'s "record function-call-history"; "set etm function-call-history-size"\n'
        "sets how many are printed."
    ),
    arguments=(CALL_RANGE, THREAD, TRACE_ID),
    modifiers={
        "i": "with the numbers of the first and last instruction",
        "l": "with the source file and lines",
        "c": "indented by call depth",
        "n": "with the names of inlined functions that ran in it",
    },
    examples=(
        ("functions /c -20", "the last twenty, indented"),
        ("functions /c @3000", "ten around instruction 3,000, which is in the marked one"),
        ("functions /ilc 1,+50", "the first fifty, with everything"),
        ("functions --thread rx -20", "the last twenty of one thread"),
    ),
)
