"""``etm where``, ``etm backtrace``, ``etm list``, ``etm frame``: the cursor's surroundings."""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.threads import THREAD
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.evaluation import arguments, moment
from gdb_etm.session.numbers import count
from gdb_etm.session.past import walk
from gdb_etm.session.places import ReverseExecution
from gdb_etm.session.reverse import shared, where
from gdb_etm.session.session import DebugSession
from gdb_etm.session.walk import Arguments, Walk

LIMIT = Argument("COUNT", count, "only the innermost COUNT frames")
LEVEL = Argument("LEVEL", count, "its number in the backtrace; the selected frame when absent")
LEVELS = Argument("COUNT", count, "how many frames; 1 when absent")

_LISTED = 10


def run_where(session: DebugSession, values: Values) -> Iterable[str]:
    """Show the cursor's position."""
    walked, mover = walk(session), shared(session)
    return walked.where() if mover is None else where(mover, walked)


def run_backtrace(session: DebugSession, values: Values) -> Iterable[str]:
    """Print the stack."""
    walked = walk(session)
    thread = values.get(THREAD)
    if thread is not None:
        threads = session.shown().threads(session.debugger)
        chosen = threads.choose(thread)
        suspended = threads.suspended(chosen, walked.cursor.position.number)
        if suspended is not None:
            yield "[%s does not run here]" % threads.label(chosen.thread.number)
            yield from walked.backtrace(values.get(LIMIT), (), suspended)
            return
    found, news, notes = _arguments(session)
    yield from news
    yield from walked.backtrace(values.get(LIMIT), found)
    yield from notes


def _arguments(session: DebugSession) -> Tuple[List[Arguments], List[str], List[str]]:
    # The call stack does not depend on what is worked out; who ended that before gets it without arguments.
    decoded = session.shown()
    if decoded.recovered is not None and decoded.recovered.is_refused:
        return [], [], []
    try:
        at = moment(session, None)
        return arguments(at), at.news(), at.notes()
    except EtmError:
        return [], [], []


def run_list(session: DebugSession, values: Values) -> Iterable[str]:
    """Print source lines."""
    return walk(session).source(_LISTED)


def run_frame(session: DebugSession, values: Values) -> Iterable[str]:
    """Select a frame by its level."""
    walked, mover = walk(session), shared(session)
    level = values.get(LEVEL)
    if mover is not None:
        mover.execute("frame" if level is None else "frame %d" % level)
        return ()
    if level is None:
        return walked.select(walked.cursor.selected)
    if level >= len(walked.cursor.stack()):
        raise CommandError("No frame at level %d." % level)
    return walked.select(level)


def _select(by: int) -> Callable[[DebugSession, Values], Iterable[str]]:
    def run(session: DebugSession, values: Values) -> Iterable[str]:
        walked, mover = walk(session), shared(session)
        times = values.get(LEVELS)
        if mover is not None:
            _select_there(walked, mover, "up" if by > 0 else "down", times)
            return ()
        level = walked.cursor.selected + by * (1 if times is None else times)
        last = len(walked.cursor.stack()) - 1
        if walked.cursor.selected == (last if by > 0 else 0) and times != 0:
            raise CommandError("Initial frame selected; you can't go %s." % ("up" if by > 0 else "down"))
        return walked.select(max(0, min(last, level)))

    return run


def _select_there(walked: Walk, mover: ReverseExecution, word: str, times: Optional[int]) -> None:
    # Where GDB finds no other frame it says so, but only without a count.
    try:
        mover.execute(word if times is None else "%s %d" % (word, times))
    except CommandError as error:
        if word == "up" and len(walked.cursor.stack()) > mover.selected() + 1:
            raise CommandError('%s: GDB does not know the stack there; "etm backtrace" goes on' % error)
        raise


FRAME_COMMANDS = (
    Command(
        "where",
        "Show the position in the history.",
        run_where,
        "At first that is the end: where the target is halted.",
        examples=(("where", "frame, source line, number of the instruction"),),
    ),
    Command(
        "backtrace",
        "Print the call stack at the position, as far as the history shows it.",
        run_backtrace,
        "Callers are known by the calls and returns that were traced; exceptions take a line.  Arguments are worked\n"
        'out as "etm print" does; dots stand for those of frames that cannot be unwound.',
        (LIMIT, THREAD),
        examples=(
            ("backtrace", "all of it"),
            ("backtrace 3", "the three innermost frames"),
            ("backtrace --thread rx", "the stack on which another thread waits"),
        ),
    ),
    Command(
        "list",
        "List source around the position; typed again, the lines after.",
        run_list,
        examples=(("list", "ten lines"),),
    ),
    Command(
        "frame",
        "Select a frame by its number in the backtrace, and print it.",
        run_frame,
        arguments=(LEVEL,),
        examples=(("frame 2", "the caller of the caller"), ("frame", "the selected one")),
    ),
    Command(
        "up", "Select the frame that called this one.", _select(1), "", (LEVELS,), {}, (("up", "for list and finish"),)
    ),
    Command(
        "down", "Select the frame that this one called.", _select(-1), "", (LEVELS,), {}, (("down 2", "two levels"),)
    ),
)
