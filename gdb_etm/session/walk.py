"""A user's walk through a history: the cursor, and its stops."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.cursor import Cursor
from gdb_etm.history.stack import StackLevel
from gdb_etm.history.steps import FrameId, MoveEnd, MoveReason
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.history.threads import Suspension
from gdb_etm.protocols.elements import Exception_
from gdb_etm.session.places import ReplayPlaces
from gdb_etm.views.history import CURSOR, NO_CURSOR
from gdb_etm.views.text import end_text, exception_text, gap_text

LIVE_END = "[the live end: here the target is halted]"
CAPTURE_END = "[the capture ends here]"
# What GDB 13 says at both ends.
_NO_MORE = "No more reverse-execution history."


class Arguments(NamedTuple):
    """A function's arguments in one of its frames."""

    function: str
    # Of the frame; None where it is not said.
    address: Optional[int]
    # Names and values.
    text: str
    # What they rest on, where that is not everything exact.
    mark: str

    def is_of(self, name: Optional[str], address: Optional[int]) -> bool:
        """Check whether a frame is this one.

        Compilers' names and debuggers' may differ.
        """
        if name is None:
            return False
        return self.address is not None and self.address == address or self.function == name.partition("(")[0]


def placed(
    worked_out: Sequence[Arguments], frames: Sequence[Tuple[Optional[str], Optional[int]]]
) -> List[Optional[Arguments]]:
    """Find the arguments of frames.

    :param worked_out: Those of some frames, innermost first; others may be among them.
    :param frames: Function's name and address, innermost first.
    """
    known = list(worked_out)
    found: List[Optional[Arguments]] = []
    for name, address in frames:
        at = next((index for index, one in enumerate(known) if one.is_of(name, address)), None)
        found.append(None if at is None else known[at])
        del known[: 0 if at is None else at + 1]
    return found


class _FrameRow(NamedTuple):
    """A frame with what the debugger knows of it."""

    # Of the function; None when unknown.
    name: Optional[str]
    has_arguments: bool
    address: Optional[int]
    # Whether the address is where the line begins, so that it is not shown.
    is_exact: bool
    # Source file as shown; empty when unknown.
    path: str
    line: int
    exception: Optional[Exception_] = None
    # Where its call lies, if that was not seen.
    unseen_call: str = ""
    # Names and values of its arguments; None where they were not worked out.
    arguments: Optional[str] = None
    # What the arguments rest on, where that is not everything exact.
    mark: str = ""


class Variables(Protocol):
    """The registers at a position, for convenience variables."""

    def at(self, number: int) -> Dict[str, Optional[int]]:
        """Give the registers by variable name; None where unknown."""

    @property
    def is_behind(self) -> bool:
        """Whether more is known by now than was given last."""

    def news(self) -> List[str]:
        """Give the findings of their recovery that were not reported yet."""


class Walk:
    """A cursor with the debugger's view of where it is.

    :param history: The history.
    :param calls: Gives its calls.
    :param places: The debugger's symbols.
    :param is_live: Whether the end of the history is where the target is halted.
    :param variables: Gives the registers at a position.
    """

    def __init__(
        self,
        history: ExecutionHistory,
        calls: Callable[[], CallHistory],
        places: ReplayPlaces,
        is_live: bool,
        variables: Variables,
    ) -> None:
        self.places = places
        self.cursor = Cursor(history, calls, places)
        # File and line of the last source line that ``etm list`` showed since the last move.
        self.listed: Optional[Tuple[str, int]] = None
        self._history = history
        self._is_live = is_live
        self._variables = variables

    def where(self) -> Iterator[str]:
        """Print the position with its frame and its number."""
        cursor = self.cursor
        if cursor.address is None and cursor.position.number == cursor.end:
            yield self._end()
        else:
            yield from self._frame(self.row(cursor.selected), cursor.selected)
        yield self.number_text()

    def number_text(self) -> str:
        """Say which instruction the position is before."""
        number, last = self.cursor.position.number, self.cursor.end - 1
        if number > last:
            return "after instruction {:,}, the last".format(last)
        return "instruction {:,} of {:,}".format(number, last)

    def backtrace(
        self, limit: Optional[int], worked_out: Sequence[Arguments] = (), suspended: Optional[Suspension] = None
    ) -> Iterator[str]:
        """Print the call stack.

        :param worked_out: The arguments of as many frames as are known, innermost first; others may be among them.
        :param suspended: Where another thread waits, if its stack is wanted.
        """
        levels = self.cursor.stack() if suspended is None else self.cursor.stack_of(suspended)
        shown = levels if limit is None else levels[:limit]
        rows = [self._row(level) for level in shown]
        given = placed(worked_out, [(row.name, row.address) for row in rows])
        for number, (row, one) in enumerate(zip(rows, given)):
            if one is not None:
                row = row._replace(arguments=one.text, mark=one.mark if one.text else "")
            yield _level_text(number, row)
        if len(shown) < len(levels):
            yield "(More stack frames follow...)"

    def source(self, count: int) -> List[str]:
        """List source lines around the frame, or the next ones."""
        row = self.row(self.cursor.selected)
        level = self.cursor.stack()[self.cursor.selected]
        if level.place is None:
            raise CommandError("no line number information for 0x%08x" % (row.address or 0))
        file, line = level.place
        first = max(1, line - count // 2) if self.listed is None else self.listed[1] + 1
        result = []
        for number in range(first, first + count):
            text = self.places.text(file, number)
            if text is None:
                break
            result.append("%s%d\t%s" % (CURSOR if number == line else NO_CURSOR, number, text))
        if not result:
            no_file = self.places.text(file, 1) is None
            raise CommandError("%s: %s" % (row.path, "No such file or directory." if no_file else "no line %d" % first))
        self.listed = file, first + len(result) - 1
        return result

    def select(self, level: int) -> Iterator[str]:
        """Select a frame."""
        self.cursor.selected = level
        self.listed = None
        yield from self._frame(self.row(level), level)

    def stop(self, stop: MoveEnd, before: Optional[FrameId], level: Optional[int] = None) -> Iterator[str]:
        """Print a stop as GDB does: frame if changed, and source line.

        :param before: The frame before the move; None has the frame printed in any case.
        :param level: Level to print before the frame.
        """
        self.listed = None
        cursor = self.cursor
        yield from self._variables.news()
        yield from self._reason(stop)
        if cursor.address is None and cursor.position.number == cursor.end:
            if stop.reason is not MoveReason.NO_HISTORY:
                yield self._end()
            return
        row = self.row(0)
        same = before is not None and cursor.stepper.frame_id(cursor.position) == before
        if same and row.path and stop.reason is MoveReason.STEPPED:
            yield _source_text(row, self._text(0), not row.is_exact)
            return
        number = self.places.breakpoints().get(cursor.address or 0) if stop.reason is MoveReason.BREAKPOINT else None
        prefix = "Breakpoint %d, " % number if number is not None else ""
        if prefix:
            yield ""
        lines = list(self._frame(row, level))
        yield prefix + lines[0]
        yield from lines[1:]

    def locate(self, text: str) -> FrozenSet[int]:
        """Find a location's addresses; a bare number is a line here.

        :raises CommandError: There is no such place.
        """
        place = self.cursor.stack()[self.cursor.selected].place if text.isdigit() else None
        if place is not None:
            text = "%s:%s" % (self.places.shown(place[0]), text)
        return frozenset(self.places.locate(text))

    def publish(self) -> None:
        """Set ``$etm_pc``, ``$etm_index``, ``$etm_count``, and the registers: ``$etm_r0`` and so on."""
        cursor = self.cursor
        values = {"etm_pc": cursor.address, "etm_index": cursor.position.number, "etm_count": cursor.end - 1}
        self.places.publish({**values, **self._variables.at(cursor.position.number)})

    def refresh(self) -> None:
        """Set them again if more is known by now."""
        if self._variables.is_behind:
            self.publish()

    def row(self, level: int) -> _FrameRow:
        """Describe a frame.

        The innermost needs no call history unless a callee is about to be entered.
        """
        return self._row(self.cursor.stack()[level] if level else self.cursor.innermost())

    def _row(self, level: StackLevel) -> _FrameRow:
        name = level.name
        asked = level.address is not None and name is not None
        arguments = asked and self.places.has_arguments(level.address or 0, name or "")
        path, line = level.place if level.place is not None else ("", 0)
        shown = self.places.shown(path) if path else ""
        unseen = ""
        if level.called_before and level.exception is None:
            gap = self.cursor.path.seam(1, self.cursor.position.number)
            unseen = "called before the history begins%s" % ("" if gap is None else ", or in a gap")
        return _FrameRow(name, arguments, level.address, level.is_exact, shown, line, level.exception, unseen)

    def _frame(self, row: _FrameRow, level: Optional[int]) -> Iterator[str]:
        yield ("#%-2d " % level if level is not None else "") + _frame_text(row)
        if row.path:
            yield _source_text(row, self._text(level or 0))

    def _text(self, level: int) -> Optional[str]:
        place = (self.cursor.stack()[level] if level else self.cursor.innermost()).place
        return self.places.text(*place) if place is not None else None

    def _reason(self, stop: MoveEnd) -> Iterator[str]:
        if stop.reason is MoveReason.GAP and stop.gap is not None:
            yield gap_text(stop.gap)
        if stop.reason is not MoveReason.NO_HISTORY:
            return
        yield ""
        yield _NO_MORE
        if stop.gap is not None:
            yield gap_text(stop.gap)
        if stop.position.number == self.cursor.end:
            yield self._end()
        else:
            yield end_text(self._history.end_reason)

    def _end(self) -> str:
        return LIVE_END if self._is_live else CAPTURE_END


def _frame_text(row: _FrameRow) -> str:
    """Write a frame: ``dispatch (...) at rx.c:121``.

    Dots stand for arguments that were not recovered.
    """
    if row.exception is not None:
        return "<%s>" % exception_text(row.exception)
    dots = "..." if row.has_arguments else ""
    words = "%s (%s)" % (row.name or "??", dots if row.arguments is None else row.arguments)
    if row.address is not None and not (row.is_exact and row.path):
        words = "0x%08x in %s" % (row.address, words)
    place = " at %s:%d" % (row.path, row.line) if row.path else ""
    return ("%s%s %s" % (words, place, row.mark)).rstrip()


def _level_text(level: int, row: _FrameRow) -> str:
    """Write a frame with its level, as a line of a backtrace."""
    return "#%-2d %s%s" % (level, _frame_text(row), "   [%s]" % row.unseen_call if row.unseen_call else "")


def _source_text(row: _FrameRow, text: Optional[str], mid_line: bool = False) -> str:
    """Write a source line with its number, or its file's name.

    :param mid_line: Whether to write the address before it.
    """
    address = "0x%08x\t" % row.address if mid_line and row.address is not None else ""
    return "%s%d\t%s" % (address, row.line, text if text is not None else "in " + row.path)
