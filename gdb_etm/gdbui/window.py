"""GDB's TUI window ``etm``: the history around the position, calls folded."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Iterator, List, Optional, Set, Tuple

import gdb

from gdb_etm.errors import CommandError, EtmError, harmless
from gdb_etm.gdbui.charset import charset_text
from gdb_etm.gdbui.interrupts import guarded
from gdb_etm.gdbui.styles import GdbStyles
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.disconnecting import error_text
from gdb_etm.session.folding import Around, lines_around
from gdb_etm.session.past import position
from gdb_etm.session.session import DebugSession
from gdb_etm.views.history import FoldRow, InstructionRow, ListedLine
from gdb_etm.views.styles import style_instruction

_NAME = "etm"
_STYLE = re.compile(r"(\x1b\[[0-9;:]*m)")
_INTERRUPTED = 'interrupted; "refresh" draws this again'


class HistoryWindows:
    """All windows of the kind; each is drawn anew at GDB's prompt.

    :param session: Whose history they show.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._windows: List[HistoryWindow] = []
        gdb.events.before_prompt.connect(partial(guarded(self._draw, lambda: None), None))

    def make(self, window: Any) -> HistoryWindow:
        """Make one.

        :param window: GDB's side of it.
        """
        return HistoryWindow(self._session, self._windows, window)

    def _draw(self, _: object) -> None:
        for window in self._windows:
            window.render()


class HistoryWindow:
    """One window, as long as it is in the layout.

    :param session: Whose history it shows.
    :param windows: All that there are.
    :param window: GDB's side of it.
    """

    def __init__(self, session: DebugSession, windows: List[HistoryWindow], window: Any) -> None:
        self._session = session
        self._windows = windows
        self._window = window
        # What is shown: of which history, and around which position.
        self._shown: Optional[Tuple[Decoded, int]] = None
        self._opened: Set[int] = set()
        # The line in the middle: its instruction, and how many lines after that one's first line.
        self._middle = (0, 0)
        # Columns that were scrolled away.
        self._left = 0
        self._lines: List[ListedLine] = []
        windows.append(self)

    def render(self) -> None:
        """Draw it: GDB made it, or gave it another size."""
        if not self._window.is_valid():
            return
        try:
            with self._session.background.held():
                texts = list(self._texts())
        except (EtmError, gdb.error) as error:
            texts = [error_text(self._session, error) if isinstance(error, EtmError) else str(error)]
        except UnicodeDecodeError as error:
            texts = [charset_text(error)]
        except KeyboardInterrupt:
            texts = [_INTERRUPTED]
        width = self._window.width
        self._window.erase()
        self._window.write("\n".join([_cut(text, self._left, width) for text in texts[: self._window.height]]))

    def close(self) -> None:
        """Forget it: it left the layout."""
        self._windows.remove(self)

    def hscroll(self, columns: int) -> None:
        """Move what is shown sideways.

        :param columns: How many, to the right; negative to the left.
        """
        self._left = max(0, self._left + columns)
        self.render()

    def vscroll(self, lines: int) -> None:
        """Move what is shown up or down.

        :param lines: How many, down; negative up.
        """
        number, more = self._middle
        self._middle = number, more + lines
        self.render()

    def click(self, column: int, line: int, button: int) -> None:
        """Open the folded call in a line, until the position changes."""
        row = self._lines[line].row if line < len(self._lines) else None
        if isinstance(row, FoldRow):
            self._opened.add(row.number)
            self.render()

    def _texts(self) -> Iterator[str]:
        session = self._session
        if session.is_undrained and session.settings.get("drain") == "lazy":
            raise CommandError('the trace is still in the buffer; "etm history" reads it')
        decoded = session.shown()
        here = position(session, decoded)
        if self._shown != (decoded, here):
            self._shown, self._middle = (decoded, here), (here, 0)
            self._opened.clear()
        self._title(decoded, here)
        self._lines = self._visible(decoded, here)
        styles = GdbStyles() if bool(gdb.parameter("style enabled")) else None
        for line in self._lines:
            text = harmless(line.text)
            yield style_instruction(text, styles.paint) if styles is not None else text

    def _title(self, decoded: Decoded, here: int) -> None:
        length = len(decoded.history)
        words = "the end of {:,} instructions".format(length)
        if here <= length:
            words = "instruction {:,} of {:,}".format(here, length)
        if length and decoded.has_threads:
            threads = decoded.threads(self._session.debugger)
            one = threads.at(here) if len(threads.threads) > 1 else None
            words = "%s: %s" % (threads.label(one.thread.number), words) if one is not None else words
        self._window.title = "%s: %s" % (_NAME, words)

    def _visible(self, decoded: Decoded, here: int) -> List[ListedLine]:
        number, more = self._middle
        height = self._window.height
        wanted = Around(here, number, height + abs(more), frozenset(self._opened))
        lines = lines_around(self._session.debugger, decoded, wanted)
        if not lines:
            raise CommandError("the history holds no instructions")
        numbers = [_number(line) for line in lines]
        # The end of the history has no line of its own.
        at = next((index for index, one in enumerate(numbers) if one >= number), len(lines) - 1)
        first = max(0, min(at + more - height // 2, len(lines) - height))
        # The next time the middle is found by the nearest instruction.
        at = min(first + height // 2, len(lines) - 1)
        kept = next((index for index in range(at, -1, -1) if numbers[index]), at)
        self._middle = numbers[kept] or number, at - kept
        return lines[first : first + height]


def _number(line: ListedLine) -> int:
    # 0 where there is none.
    return line.row.number if isinstance(line.row, (InstructionRow, FoldRow)) else 0


def _cut(text: str, left: int, width: int) -> str:
    # Some columns of a line with its styles.
    pieces = []
    for piece in _STYLE.split(text):
        if not piece.startswith("\x1b"):
            skipped, left = piece[left:], max(0, left - len(piece))
            piece, width = skipped[:width], width - min(width, len(skipped))
        pieces.append(piece)
    return "".join(pieces)
