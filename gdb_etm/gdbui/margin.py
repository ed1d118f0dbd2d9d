"""Counts in the margin of GDB's own ``list`` and ``disassemble``.

What GDB offers: since GDB 13 ``gdb.disassembler`` for each instruction that is printed.  Sources go as a whole through
``gdb.styling.colorize`` before they are kept, if GDB styles them and is not to do so by itself.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple

import gdb

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.errors import EtmError
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.session.counted import COUNTS, counts_shown
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.session import DebugSession
from gdb_etm.views.coverage import margin_text

try:
    import gdb.disassembler
except ImportError:
    _HAS_DISASSEMBLER = False
else:
    _HAS_DISASSEMBLER = True
try:
    import gdb.styling as _styling
except ImportError:
    _styling = None

# It is kept with the source, so that it is asked once for each file.
_FORGET = "maintenance flush source-cache"
_GNU_STYLES = "gnu-source-highlight enabled"
_NO_DISASSEMBLER = "note: this GDB cannot show them in disassemble; GDB 13 can\n"
_NO_LIST = (
    'note: list shows them where GDB styles sources ("set style enabled on"); "etm coverage FILE" does anywhere\n'
)


class CountMargin:
    """The margin, when ``set etm counts`` has it.

    :param session: Whose history is counted.
    :param debugger: Its debugger.
    """

    def __init__(self, session: DebugSession, debugger: GdbDebugger) -> None:
        self._session = session
        self._debugger = debugger
        self._is_on = False
        # The history that was counted.
        self._counted: Optional[Tuple[Decoded, ExecutionCounts]] = None
        # Lines of it, by source file: how often each ran.
        self._lines: Optional[Dict[str, Dict[int, int]]] = None
        self._disassembler: Any = None
        self._colorize: Any = None
        # Whether GDB styled sources by itself.
        self._was_gnu = False

    def on_setting(self, name: str) -> None:
        """Follow a change of a setting."""
        is_on = self._session.settings.get(COUNTS) == "on"
        if name != COUNTS or is_on == self._is_on:
            return
        self._is_on = is_on
        if is_on:
            self._begin()
        else:
            self._end()

    def _begin(self) -> None:
        if _HAS_DISASSEMBLER:
            self._disassembler = _disassembler(self)
            gdb.disassembler.register_disassembler(self._disassembler)
        else:
            gdb.write(_NO_DISASSEMBLER)
        if not (_styling is not None and gdb.parameter("style enabled") and gdb.parameter("style sources")):
            gdb.write(_NO_LIST)
        if _styling is not None:
            self._colorize, _styling.colorize = _styling.colorize, self._source
            self._was_gnu = _gnu_styles("show").rstrip(".\n").endswith('"on"')
            _gnu_styles("set", "off")
        for event in (gdb.events.stop, gdb.events.before_prompt):
            event.connect(self._look)
        _forget()

    def _end(self) -> None:
        if self._disassembler is not None:
            gdb.disassembler.register_disassembler(None, None)
        if _styling is not None:
            _styling.colorize = self._colorize
            if self._was_gnu:
                _gnu_styles("set", "on")
        for event in (gdb.events.stop, gdb.events.before_prompt):
            event.disconnect(self._look)
        self._counted = self._lines = None
        _forget()

    def _look(self, *event: Any) -> None:
        # What is kept of sources may be of the history before.
        before = self._counted
        if self._counts() is None and before is not None or self._counted is not before:
            _forget()

    def _counts(self) -> Optional[ExecutionCounts]:
        # None where nothing is known, or the buffer would have to be read for it.
        session = self._session
        try:
            with session.background.held():
                if not session.captures or session.is_undrained:
                    return None
                decoded = session.shown()
                if self._counted is None or self._counted[0] is not decoded:
                    self._counted, self._lines = (decoded, counts_shown(session, decoded)), None
        except (EtmError, gdb.error, UnicodeDecodeError):
            self._counted = self._lines = None
            return None
        return self._counted[1]

    def times(self, address: int) -> Optional[int]:
        """Give how often an instruction was seen to run.

        :returns: None where that is not to be shown.
        """
        counts = None if self._debugger.is_asking else self._counts()
        return None if counts is None else counts.executed[address]

    def _source(self, name: str, contents: bytes, *language: str) -> Optional[bytes]:
        # What GDB is to keep of a source file.
        styled: Optional[bytes] = self._colorize(name, contents, *language)
        counts = self._counts()
        lines = None
        if counts is not None:
            lines = self._lines_of(counts).get(os.path.realpath(name))
        if lines is None:
            return styled
        text = contents if styled is None else styled
        rows = text.split(b"\n")
        # What follows the last line's end is no line.
        last = len(rows) - (not rows[-1])
        margined = [margin_text(lines.get(at + 1)).encode() + row if at < last else row for at, row in enumerate(rows)]
        return b"\n".join(margined)

    def _lines_of(self, counts: ExecutionCounts) -> Dict[str, Dict[int, int]]:
        if self._lines is None:
            assert self._counted is not None
            sources = sources_of(self._debugger.program_files())
            coverage = sources.coverage(counts, self._counted[0].history.blocks)
            self._lines = {
                os.path.realpath(file.file): {line.line: line.times for line in file.lines} for file in coverage.files
            }
        return self._lines


def _disassembler(margin: CountMargin) -> Any:
    # GDB 12 has not even the class.
    class Disassembler(gdb.disassembler.Disassembler):
        """Puts a count before each instruction."""

        def __init__(self) -> None:
            super().__init__("etm")

        def __call__(self, info: Any) -> Any:
            found = gdb.disassembler.builtin_disassemble(info)
            times = margin.times(int(info.address))
            if times is None:
                return found
            text = margin_text(times)
            if not hasattr(found, "parts"):  # GDB 13
                return gdb.disassembler.DisassemblerResult(length=found.length, string=text + found.string)
            parts = [info.text_part(gdb.disassembler.STYLE_TEXT, text), *found.parts]
            return gdb.disassembler.DisassemblerResult(length=found.length, parts=parts)

    return Disassembler()


def _gnu_styles(verb: str, value: str = "") -> str:
    try:
        return str(gdb.execute("maintenance %s %s %s" % (verb, _GNU_STYLES, value), False, True))
    except gdb.error:
        return ""  # this GDB was built without that library


def _forget() -> None:
    gdb.execute(_FORGET, False, True)
