"""``etm history`` and ``etm functions``: the executed instructions, and the call history."""

from __future__ import annotations

from itertools import islice
from typing import Callable, Iterable, Iterator, List, Optional, TypeVar

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.program.image import Program
from gdb_etm.session.captures import Decoded
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.listing import event_rows, function_rows, history_rows, traced_data
from gdb_etm.session.numbers import count
from gdb_etm.session.ranges import NumberRange, check, window
from gdb_etm.session.session import DebugSession
from gdb_etm.views.history import function_lines, instruction_lines
from gdb_etm.views.text import end_text, plural

_Row = TypeVar("_Row")

RANGE = Argument(
    "RANGE",
    str,
    "which: N | N,M | N,+M | N,-M | -N (the last N) | + (next) | - (before); none: the next, at first the last",
    many=True,
)
TRACE_ID = Argument("--id", count, "the trace ID, where a capture holds several cores", "ID")

# Lines aligned together; a listing of any length starts to print at once.
_BATCH = 1000


def run_history(session: DebugSession, values: Values) -> Iterable[str]:
    """List executed instructions."""
    decoded = session.shown(values.get(TRACE_ID))
    text = " ".join(values.all(RANGE))
    limit = _limit(session, "history-size")
    if not len(decoded.history):
        check(text, "instructions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    shown = window(text, len(decoded.history), limit, decoded.instructions_shown, "instructions")
    yield from _whose(session, values, decoded, decoded.instructions_shown)
    yield from _doubts(decoded, "instructions marked ! are not what the target holds now")
    yield from _other_names(session, decoded)
    yield from _absent(decoded, values.modifiers)
    rows = history_rows(session.debugger, decoded, shown, values.modifiers, _is_next(text), text.strip() == "-")
    yield from _in_batches(rows, instruction_lines)
    decoded.instructions_shown = shown


def run_functions(session: DebugSession, values: Values) -> Iterable[str]:
    """List function segments, exceptions and gaps."""
    decoded = session.shown(values.get(TRACE_ID))
    calls = decoded.calls(session.debugger.function_at)
    text = " ".join(values.all(RANGE))
    limit = _limit(session, "function-call-history-size")
    if not len(calls):
        check(text, "functions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    shown = window(text, len(calls), limit, decoded.functions_shown, "functions")
    yield from _whose(session, values, decoded, decoded.functions_shown)
    yield from _doubts(decoded, "some of what is listed may never have run")
    yield from _other_names(session, decoded)
    if shown.first == 1:
        yield end_text(decoded.history.end_reason)
    rows = function_rows(session.debugger, decoded, shown, "l" in values.modifiers)
    yield from _in_batches(rows, lambda batch: function_lines(batch, "c" in values.modifiers, "i" in values.modifiers))
    decoded.functions_shown = shown


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
        ("history", "the last ten; typed again, the next ten"),
        ("history -", "the ten before"),
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
        'gaps, without a number.  Like GDB\'s "record function-call-history"; "set etm function-call-history-size"\n'
        "sets how many are printed."
    ),
    arguments=(RANGE, TRACE_ID),
    modifiers={
        "i": "with the numbers of the first and last instruction",
        "l": "with the source file and lines",
        "c": "indented by call depth",
    },
    examples=(
        ("functions /c -20", "the last twenty, indented"),
        ("functions /ilc 1,+50", "the first fifty, with everything"),
    ),
)
