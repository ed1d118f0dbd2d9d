"""Styles of the parts of lines, by GDB's names for them.

The lines are those that this room writes.  Where a part is not recognised it stays plain.
"""

from __future__ import annotations

import re
from typing import Callable, List, Match, Pattern, Tuple

# Gives a text in a style: the style's name, such as ``"function"``, and the text.
Paint = Callable[[str, str], str]
# Gives a line with its parts in their styles.
Styler = Callable[[str, Paint], str]

_MARK = r"(?:=> |   )?"
# An address with the symbol that it is at, which may have brackets of its own.
_PLACE = re.compile(r"(?P<address>0x[0-9a-f]+) <(?P<function>\S.*?)(?:\+[0-9]+)?>(?=[ )]|$)")
_ADDRESS = re.compile(r"(?P<address>\b0x[0-9a-f]{8,16}\b)")
_NUMBERED = re.compile(_MARK + "[0-9]+ ")
_SOURCE = re.compile(_MARK + r"(?P<filename>[^\s:][^:]*):[0-9]+(?: |$)")
_NOTE = re.compile(r" *(?P<metadata>\[.*\])$")
_CALL = re.compile(
    _MARK + r"[0-9]+ {3,}(?P<function>[^ <?].*?)(?: {3,}inst [0-9]+,[0-9]+)?"
    r"(?: {3,}at (?P<filename>.+):[0-9]+,[0-9]+)?(?: {3,}inlined: .*)?$"
)
_FRAME = re.compile(
    r"(?:Breakpoint [0-9]+, |[A-Z][a-z ]+ (?=#))?(?:#[0-9]+ +)?(?:(?P<address>0x[0-9a-f]+) in )?"
    r"(?P<function>[^\s(<\[].*?) \((?P<arguments>.*)\)(?: at (?P<filename>[^\t]+?):[0-9]+)?(?:  .*| \[.*)?$"
)
_ARGUMENT = re.compile(r"(?:^|(?<=, ))(?P<variable>[A-Za-z_][A-Za-z_0-9]*)(?==)")


def style_instruction(line: str, paint: Paint) -> str:
    """Style a line of an instruction listing."""
    if _NUMBERED.match(line):
        found = list(_PLACE.finditer(line)) or list(_ADDRESS.finditer(line))[:1]
        return _painted(line, [part for one in found for part in _parts(one)], paint)
    return _first_of((_NOTE, _SOURCE), line, paint)


def style_call(line: str, paint: Paint) -> str:
    """Style a line of a function listing."""
    return _first_of((_NOTE, _CALL), line, paint)


def style_frame(line: str, paint: Paint) -> str:
    """Style a line that shows a frame, or tells about it."""
    match = None if "\t" in line else _FRAME.match(line)
    if match is None:
        return _first_of((_NOTE,), line, paint)
    parts = [part for part in _parts(match) if part[2] != "arguments"]
    at = match.start("arguments")
    parts += [
        (at + first, at + last, name)
        for one in _ARGUMENT.finditer(match["arguments"])
        for first, last, name in _parts(one)
    ]
    return _painted(line, sorted(parts), paint)


def _first_of(patterns: Tuple[Pattern[str], ...], line: str, paint: Paint) -> str:
    for pattern in patterns:
        match = pattern.match(line)
        if match is not None:
            return _painted(line, _parts(match), paint)
    return line


def _parts(match: Match[str]) -> List[Tuple[int, int, str]]:
    # The parts of a match by position, each with its style.
    return sorted((match.start(name), match.end(name), name) for name, text in match.groupdict().items() if text)


def _painted(line: str, parts: List[Tuple[int, int, str]], paint: Paint) -> str:
    pieces = []
    before = 0
    for first, last, name in parts:
        pieces += [line[before:first], paint(name, line[first:last])]
        before = last
    return "".join(pieces) + line[before:]
