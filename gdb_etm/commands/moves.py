"""Moves of the cursor: ``etm goto``, ``etm step``, ``etm reverse-continue`` and others."""

from __future__ import annotations

import re
from typing import AbstractSet, Any, Callable, Iterable, Iterator, Optional, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.threads import THREAD
from gdb_etm.errors import CommandError
from gdb_etm.history.cursor import Cursor
from gdb_etm.history.steps import FrameId, MoveEnd, MoveReason, Steps
from gdb_etm.session.numbers import count
from gdb_etm.session.past import walk
from gdb_etm.session.reverse import jump, run_by, shared
from gdb_etm.session.session import DebugSession
from gdb_etm.session.walk import Walk

COUNT = Argument("COUNT", count, "how many times; 1 when absent")
PLACE = Argument(
    "PLACE",
    str,
    "begin | end | N | -N (the last but N-1) | 50% | a mark | a location as for GDB's break",
    required=True,
    many=True,
    choices=("begin", "end"),
)
LOCATION = Argument("LOCATION", str, "a function, FILE:LINE or *ADDRESS, as for GDB's break", required=True, many=True)
WHERE = Argument("LOCATION", str, "a function, FILE:LINE or *ADDRESS, as for GDB's break", many=True)

_NUMBER = re.compile(r"(-?)([0-9][0-9,]*)\Z")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%\Z")

# The debugger's commands for steps.
_WORDS = {Steps.LINE: "step", Steps.LINE_OVER_CALLS: "next", Steps.INSTRUCTION: "stepi"}
# Moves a cursor; is given the addresses of the breakpoints.
Move = Callable[[Cursor, AbstractSet[int]], MoveEnd]


def _moved(walked: Walk, move: Move, keeps_frame: bool = True) -> Iterator[str]:
    cursor = walked.cursor
    before: Optional[FrameId] = cursor.stepper.frame_id(cursor.position) if keeps_frame else None
    stop = move(cursor, frozenset(walked.places.breakpoints()))
    walked.publish()
    yield from walked.stop(stop, before)


def _step(size: Steps, backward: bool) -> Callable[[DebugSession, Values], Iterable[str]]:
    def run(session: DebugSession, values: Values) -> Iterable[str]:
        walked, mover = walk(session), shared(session)
        times = values.get(COUNT)
        wanted = 1 if times is None else times
        if mover is not None:
            command = "%s%s %d" % ("reverse-" if backward else "", _WORDS[size], wanted)
            yield from run_by(session, mover, walked, command, backward)
            return
        if size is not Steps.INSTRUCTION:
            yield from _without_lines(walked)
        yield from _moved(walked, lambda cursor, stops: cursor.step(size, wanted, backward, stops))

    return run


def _without_lines(walked: Walk) -> Iterator[str]:
    # A step by line in code without lines goes out of the function; GDB says so.
    address = walked.cursor.address
    if address is None or walked.places.line_at(address) is not None:
        return
    function = walked.places.function_at(address)
    if function is None:
        raise CommandError("Cannot find bounds of current function")
    yield "Single stepping until exit from function %s," % function.name
    yield "which has no line number information."


def _continue(backward: bool) -> Callable[[DebugSession, Values], Iterable[str]]:
    def run(session: DebugSession, values: Values) -> Iterable[str]:
        walked, mover = walk(session), shared(session)
        times = values.get(COUNT)
        if mover is not None:
            command = "reverse-continue" if backward else "continue"
            return run_by(session, mover, walked, command, backward, 1 if times is None else times)
        cursor = walked.cursor
        stops = frozenset(walked.places.breakpoints())
        stop = MoveEnd(cursor.position, MoveReason.STEPPED)
        for _ in range(1 if times is None else times):
            before = cursor.position
            stop = cursor.proceed(backward, stops)
            if cursor.position == before:
                break
        walked.publish()
        return walked.stop(stop, None)

    return run


def _finish(backward: bool) -> Callable[[DebugSession, Values], Iterable[str]]:
    def run(session: DebugSession, values: Values) -> Iterable[str]:
        walked, mover = walk(session), shared(session)
        if mover is not None:
            yield from run_by(session, mover, walked, "reverse-finish" if backward else "finish", backward)
            return
        selected = walked.cursor.selected
        words = "Run back to call of" if backward else "Run till exit from"
        yield "%s %s" % (words, next(walked.select(selected)))
        yield from _moved(walked, lambda cursor, stops: cursor.finish(backward, stops), False)

    return run


def run_until(session: DebugSession, values: Values) -> Iterable[str]:
    """Run to a location or past the current line."""
    walked, mover = walk(session), shared(session)
    text = " ".join(values.all(WHERE))
    if mover is not None:
        return run_by(session, mover, walked, ("until " + text).strip(), False)
    if not text:
        return _moved(walked, lambda cursor, stops: cursor.until(stops))
    addresses = walked.locate(text)
    return _moved(walked, lambda cursor, stops: cursor.advance(addresses, stops, True), False)


def run_advance(session: DebugSession, values: Values) -> Iterable[str]:
    """Run to a location."""
    walked, mover = walk(session), shared(session)
    text = " ".join(values.all(LOCATION))
    if mover is not None:
        return run_by(session, mover, walked, "advance " + text, False)
    addresses = walked.locate(text)
    return _moved(walked, lambda cursor, stops: cursor.advance(addresses, stops), False)


def run_goto(session: DebugSession, values: Values) -> Iterable[str]:
    """Go somewhere."""
    walked = walk(session)
    text = " ".join(values.all(PLACE))
    thread = values.get(THREAD)
    number = _in_thread(session, thread, text) if thread is not None else place_number(walked, text)
    cursor = walked.cursor
    if number is not None:
        stop = cursor.goto(number)
    else:
        addresses = walked.locate(text)
        found = cursor.last(addresses) or cursor.stay(addresses) or cursor.next_hit(addresses)
        if found is None:
            raise CommandError(_absent(walked, text, addresses))
        stop = found
    return _arrive(session, walked, stop)


def _arrive(session: DebugSession, walked: Walk, stop: MoveEnd) -> Iterator[str]:
    # The cursor is there already.
    mover = shared(session)
    if mover is not None:
        yield from jump(session, mover, walked)
        return
    walked.publish()
    yield from walked.stop(stop, None, 0)
    if walked.cursor.position.number != walked.cursor.end:
        yield walked.number_text()


def run_live(session: DebugSession, values: Values) -> Iterable[str]:
    """Go to the end."""
    walked = walk(session)
    return _arrive(session, walked, walked.cursor.goto(walked.cursor.end))


def _in_thread(session: DebugSession, thread: str, text: str) -> int:
    chosen = session.shown().threads(session.debugger).choose(thread).thread
    if text not in ("first", "last"):
        raise CommandError('"%s" is no place in a thread: first or last' % text)
    return chosen.first if text == "first" else chosen.last


def _absent(walked: Walk, text: str, addresses: AbstractSet[int]) -> str:
    # Of a function whose beginning has not run what did may be meant.
    path = walked.cursor.path
    functions = [function for function in map(walked.places.function_at, sorted(addresses)) if function is not None]
    inside = {address for function in functions for address in range(function.start, function.end, 2)}
    number = path.last_at(inside, 1, path.length)
    if number is None:
        return "%s is not in this history" % text
    what = "its beginning" if text == functions[0].name else text
    words = "%s is in this history, but not %s; {0:,} is its last instruction there: etm goto {0}"
    return (words % (functions[0].name, what)).format(number)


def place_number(walked: Walk, text: str) -> Optional[int]:
    """Read an instruction's number for ``etm goto``; None for a location.

    :raises CommandError: It is outside the history.
    """
    cursor = walked.cursor
    last = cursor.end - 1
    if text in cursor.marks:
        return cursor.marks[text]
    if text in ("begin", "start"):
        return 1
    if text == "end":
        return cursor.end
    percent = _PERCENT.match(text)
    if percent and float(percent.group(1)) <= 100:
        return max(1, round(last * float(percent.group(1)) / 100))
    found = _NUMBER.match(text)
    if found is None:
        return None
    number = int(found.group(2).replace(",", ""))
    if found.group(1):
        number = last - number + 1
    if not 1 <= number <= last:
        raise CommandError("%s is outside the history: the instructions are numbered 1 to %d" % (text, last))
    return number


def _search(backward: bool) -> Callable[[DebugSession, Values], Iterable[str]]:
    def run(session: DebugSession, values: Values) -> Iterable[str]:
        walked = walk(session)
        text = " ".join(values.all(LOCATION))
        addresses = walked.locate(text)
        stop = walked.cursor.last(addresses) if backward else walked.cursor.next_hit(addresses)
        if stop is None:
            raise CommandError("%s did not run %s here, as far as the history goes" % (text, _side(backward)))
        return _arrive(session, walked, stop)

    return run


def run_undo(session: DebugSession, values: Values) -> Iterable[str]:
    """Take back the last move."""
    walked = walk(session)
    if not walked.cursor.undo():
        raise CommandError("no move to take back")
    mover = shared(session)
    if mover is not None:
        return jump(session, mover, walked)
    walked.publish()
    return walked.where()


def run_mark(session: DebugSession, values: Values) -> Iterable[str]:
    """Name the position, or list the names."""
    cursor = walk(session).cursor
    name = values.get(NAME)
    if name is None:
        return ["%s  %d" % item for item in sorted(cursor.marks.items())] or ['no marks; "etm mark NAME" sets one']
    if _NUMBER.match(name) or _PERCENT.match(name) or name in ("begin", "start", "end"):
        raise CommandError('"%s" means a position already' % name)
    cursor.marks[name] = cursor.position.number
    return ["mark %s is at instruction %d" % (name, cursor.position.number)]


def _side(backward: bool) -> str:
    return "before" if backward else "after"


NAME = Argument("NAME", str, "the name; none lists the marks")

_NEXT = "It goes over calls, inlined functions and exceptions."
_STEP = "It goes into functions that have line numbers, and over exceptions."
_STOPS = "It stops at GDB's enabled breakpoints (their conditions are ignored), and after a gap, with the reason."


def _move(
    name: str,
    summary: str,
    run: Callable[[DebugSession, Values], Iterable[str]],
    *examples: Tuple[str, str],
    details: str = "",
    arguments: Tuple[Argument[Any], ...] = (),
) -> Command:
    return Command(name, summary, run, details, arguments, examples=examples)


def _one(name: str, summary: str, size: Steps, backward: bool, details: str = "") -> Command:
    examples = (name, "one step"), (name + " 10", "ten")
    return _move(name, summary, _step(size, backward), *examples, details=details, arguments=(COUNT,))


MOVE_COMMANDS = (
    _move(
        "goto",
        "Go to a place in the history.",
        run_goto,
        ("goto begin", "the oldest instruction"),
        ("goto -100", "the last but 99"),
        ("goto 50%", "half way"),
        ("goto --thread rx last", "the last instruction of a thread, or the first"),
        details="A location is the last time before here that it ran, or else the first time after.\n"
        'The target itself stays where it is; "etm goto end" is there.',
        arguments=(PLACE, THREAD),
    ),
    _move("live", "Go to the end: where the target is halted.", run_live, ("live", 'as "etm goto end"')),
    _one("reverse-step", "Step backward to the beginning of a source line.", Steps.LINE, True, _STEP),
    _one("reverse-next", "Step backward over calls.", Steps.LINE_OVER_CALLS, True, _NEXT),
    _one("reverse-stepi", "Step backward one instruction.", Steps.INSTRUCTION, True),
    _move(
        "reverse-finish",
        "Go back to the call of the selected frame.",
        _finish(True),
        ("reverse-finish", 'after "up": of the caller'),
    ),
    _move(
        "reverse-continue",
        "Go back to a breakpoint.",
        _continue(True),
        ("reverse-continue", "to the last hit before here"),
        ("reverse-continue 3", "to the third last"),
        details=_STOPS,
        arguments=(COUNT,),
    ),
    _one("step", "Step forward in the history to another source line.", Steps.LINE, False, _STEP),
    _one("next", "Step forward in the history over calls.", Steps.LINE_OVER_CALLS, False, _NEXT),
    _one("stepi", "Step forward in the history one instruction.", Steps.INSTRUCTION, False),
    _move(
        "finish", "Go on until the selected frame has returned.", _finish(False), ("finish", "to just after the call")
    ),
    _move(
        "continue",
        "Go on in the history to a breakpoint.",
        _continue(False),
        ("continue", "to the next hit, or to the end"),
        details=_STOPS,
        arguments=(COUNT,),
    ),
    _move(
        "until",
        "Go on past the current line, or to a location in the selected frame.",
        run_until,
        ("until", "past a loop"),
        ("until rx.c:93", "to a line of this function"),
        details="Without a location it does not go back in a loop.",
        arguments=(WHERE,),
    ),
    _move(
        "advance",
        "Go on to a location, or until the selected frame has returned.",
        run_advance,
        ("advance dispatch", "to the next call of a function"),
        arguments=(LOCATION,),
    ),
    _move(
        "last",
        "Go to the last time before here that a location ran.",
        _search(True),
        ("last parse_values", "the last call of a function"),
        ("last rx.c:80", "the last time of a line"),
        arguments=(LOCATION,),
    ),
    _move(
        "next-hit",
        "Go to the next time after here that a location ran.",
        _search(False),
        ("next-hit report", "the next call of a function"),
        arguments=(LOCATION,),
    ),
    _move("undo", "Go back to before the last move.", run_undo, ("undo", "after any step, run or jump")),
    _move(
        "mark",
        'Name the position for "etm goto", or list the names.',
        run_mark,
        ("mark here", 'then "etm goto here"'),
        ("mark", "lists them"),
        arguments=(NAME,),
    ),
)
