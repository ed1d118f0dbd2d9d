"""``etm threads``: the threads that ran."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Iterable, Iterator, List, Optional

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.listing import thread_rows
from gdb_etm.session.numbers import count
from gdb_etm.session.past import walk
from gdb_etm.session.ranges import window
from gdb_etm.session.session import DebugSession
from gdb_etm.session.threads import NamedThread
from gdb_etm.views.history import FunctionRow
from gdb_etm.views.threads import ThreadRow, thread_lines

TRACE_ID = Argument("--id", count, "the trace ID, where a capture holds several cores", "ID")


def run_threads(session: DebugSession, values: Values) -> Iterable[str]:
    """List the threads."""
    decoded = session.shown(values.get(TRACE_ID))
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    threads = decoded.threads(session.debugger)
    has_cursor = session.places is not None and values.get(TRACE_ID) is None
    here = threads.at(walk(session).cursor.position.number if has_cursor else len(decoded.history) + 1)
    rows: List[ThreadRow] = []
    for one in threads.threads:
        address = decoded.history.instruction(one.thread.last).address
        function = session.debugger.function_at(address)
        where = function.name if function is not None else "0x%08x" % address
        rows.append(ThreadRow(one.thread, one.name, one.block, where, one is here, one.rivals))
    return thread_lines(rows, threads.kernel)


def functions_of(
    session: DebugSession, decoded: Decoded, thread: NamedThread, text: str, limit: Optional[int], with_lines: bool
) -> Iterator[FunctionRow]:
    """Give the rows of one thread's functions.

    :param text: The range, as of all functions.
    :param limit: How many where it does not say.
    :raises CommandError: It is malformed, or the thread runs no function in it.
    """
    calls = decoded.calls(session.debugger.function_at)
    number = thread.thread.number
    numbers = calls.of_thread(number)
    if text.strip() in ("", "+", "-") or text.strip().startswith("-") and "," not in text:
        shown = window(text, len(numbers), limit, decoded.thread_functions_shown.get(number), "functions")
        decoded.thread_functions_shown[number] = shown
        wanted = numbers[shown.first - 1 : shown.last]
    else:
        first, last = window(text, len(calls), limit, None, "functions")
        wanted = numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]
        if not wanted:
            raise CommandError("none of the functions %d to %d is of %s" % (first, last, thread.name))
    return thread_rows(session.debugger, decoded, number, wanted, with_lines)


def _suggest(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    try:
        return [one.name for one in session.shown().threads(session.debugger).threads]
    except EtmError:
        return ()


THREAD = Argument(
    "--thread", str, 'one thread alone: its number or its name, as "etm threads" lists them', "T", suggest=_suggest
)
THREADS = Command(
    "threads",
    "List the threads that ran.",
    run_threads,
    details=(
        "A thread is what ran on one stack, handlers left out; * marks the one at the position.  Its name is the\n"
        "kernel's (FreeRTOS, ThreadX, RTX, Zephyr, uC/OS-III, ChibiOS), where debug information and the target's\n"
        "memory at the halt tell it, else that of its outermost function.  Threads that run the same code and wait at\n"
        "the same places may not be told apart; a note says so."
    ),
    arguments=(TRACE_ID,),
    examples=(("threads", "how much each ran, and where it was last"),),
)
