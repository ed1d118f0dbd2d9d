"""Locations such as ``dispatch``, ``rx.c:121``, ``*0x304``, found in ELF files."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import List, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.history.frames import Function
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.numbers import count

_LINE = re.compile(r"(.+):([0-9]+)\Z")
_SHOWN = 8


class ElfLocations:
    """The :class:`~gdb_etm.session.places.Locations` that ELF files give.

    :param debugger: The ELF files.
    """

    def __init__(self, debugger: OfflineDebugger) -> None:
        self._debugger = debugger

    def code(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find the code of a function, line or address, as ranges.

        Each range is a first and a last address.

        :raises CommandError: There is no such place.
        """
        if text.startswith("*"):
            address = count(text[1:])
            return [(address, address)]
        line = _LINE.match(text)
        if line is not None:
            return self._line(line.group(1), int(line.group(2)))
        return [(function.start, function.end - 1) for function in self._functions(text)]

    def data(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find where a variable is.

        :returns: Its first and last address.
        :raises CommandError: There is none of that name.
        """
        if text.startswith("*"):
            address = count(text[1:])
            return [(address, address)]
        found = [one for one in self._debugger.variables if one.name == text.lstrip("&")]
        if not found:
            names = [one.name for one in self._debugger.variables]
            near = get_close_matches(text, names, n=3)
            raise CommandError('no variable "%s"%s' % (text, "; did you mean %s?" % " or ".join(near) if near else ""))
        return [(one.start, max(one.end, one.start + 1) - 1) for one in found]

    def entries(self, text: str) -> Sequence[int]:
        """Find where a location begins: of a function its first instruction.

        :raises CommandError: There is no such place.
        """
        found = self.code(text)
        is_line = not text.startswith("*") and _LINE.match(text)
        # A line's code may be in pieces; the compiler's split-off parts of a function are not entered by its name.
        return [min(first for first, _ in found)] if is_line else [first for first, _ in found[:1]]

    def completions(self, text: str) -> List[str]:
        """List the functions that begin so."""
        return sorted({one.name for one in self._debugger.functions if one.name.startswith(text)})

    def _functions(self, name: str) -> List[Function]:
        known = self._debugger.functions
        found = [function for function in known if function.name == name]
        if found:
            # What the compiler split off: name.part.0, name.cold.
            return found + [function for function in known if function.name.startswith(name + ".")]
        if not known:
            raise CommandError('no symbols, so no function "%s"; name the ELF file, or try *ADDRESS' % name)
        near = get_close_matches(name, [function.name for function in known], n=3)
        raise CommandError('no function "%s"%s' % (name, "; did you mean %s?" % " or ".join(near) if near else ""))

    def _line(self, file: str, line: int) -> List[Tuple[int, int]]:
        found = self._debugger.line_ranges(file, line)
        if found:
            return found
        lines = self._debugger.lines_of(file)
        if not lines:
            raise CommandError('no source file "%s" in the debug information' % file)
        after = [str(one) for one in lines if one > line][:_SHOWN]
        raise CommandError("no code for line %d of %s; next with code: %s" % (line, file, ", ".join(after) or "none"))
