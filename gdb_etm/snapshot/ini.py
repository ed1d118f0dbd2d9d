"""The ini dialect of snapshot folders, with line numbers for messages.

``;`` and ``#`` start a comment anywhere in a line, section names may come several times, and keys
such as ``TRCIDR0(0x078)`` hold what is no part of their name.  ``configparser`` knows neither the
one nor the other, nor does it say where a value stood.
"""

from __future__ import annotations

import re
from typing import Callable, List, NamedTuple, Optional, Tuple

from gdb_etm.errors import SnapshotError, plain

_COMMENT = re.compile("[;#].*")
# Bounded, because a vector register is at most 2048 bits and long numbers are slow to convert.
_NUMBER = re.compile("0[xX][0-9a-fA-F]{1,600}|[0-9]{1,600}")
# Of one file: twice what a file with as many dumps as are read from one folder needs.
_MAX_SECTIONS = 1 << 13


class IniEntry(NamedTuple):
    """One ``key=value`` line."""

    key: str
    value: str
    path: str
    line: int

    def error(self, message: str) -> SnapshotError:
        """Make the error that names this line."""
        return SnapshotError(message, self.path, self.line)

    def number(self, bits: int = 64) -> int:
        """Return the value as a number: ``0x`` and hexadecimal digits, or decimal.

        :param bits: The widest number allowed.
        :raises SnapshotError: When it is no number, or too wide.
        """
        if not _NUMBER.fullmatch(self.value):
            raise self.error("%s: %r is not a number" % (self.key, self.value))
        number = int(self.value, 16 if self.value[:2] in ("0x", "0X") else 10)
        if number >> bits:
            raise self.error("%s: %s does not fit in %d bits" % (self.key, self.value, bits))
        return number

    def words(self) -> List[str]:
        """Return the value's comma-separated parts, without blanks and empty parts."""
        return [word.strip() for word in self.value.split(",") if word.strip()]


class Section(NamedTuple):
    """A ``[name]`` line and the entries below it."""

    name: str
    path: str
    line: int
    entries: Tuple[IniEntry, ...]

    def get(self, key: str) -> Optional[IniEntry]:
        """Return the entry of a key, in any case, or None.

        :raises SnapshotError: When the key is there twice.
        """
        found = None
        for entry in self.entries:
            if entry.key.lower() == key:
                if found is not None:
                    raise entry.error("[%s] has two keys %r" % (self.name, key))
                found = entry
        return found

    def require(self, key: str) -> IniEntry:
        """Return the entry of a key.

        :raises SnapshotError: When it is missing, empty, or there twice.
        """
        entry = self.get(key)
        if entry is None:
            raise SnapshotError("[%s] has no key %r" % (self.name, key), self.path, self.line)
        if not entry.value:
            raise entry.error("key %r has no value" % key)
        return entry


class IniFile(NamedTuple):
    """A whole file, sections in their order."""

    path: str
    sections: Tuple[Section, ...]

    def select(self, matches: Callable[[str], bool]) -> List[Section]:
        """Return the sections whose lower-case name satisfies ``matches``."""
        return [section for section in self.sections if matches(section.name.lower())]

    def get(self, name: str) -> Optional[Section]:
        """Return the first section of a name, or None."""
        found = self.select(name.lower().__eq__)
        return found[0] if found else None

    def require(self, name: str) -> Section:
        """Return the section of a name.

        :raises SnapshotError: When there is none.
        """
        section = self.get(name)
        if section is None:
            raise SnapshotError("no section [%s]" % name, self.path)
        return section


def parse_ini(text: str, path: str) -> IniFile:
    """Parse a file's text.

    :param path: Where it comes from, for messages.
    :raises SnapshotError: At a line that is neither section, entry, comment nor blank, or there are too many sections.
    """
    headers: List[Tuple[str, int]] = []
    bodies: List[List[IniEntry]] = []
    for number, raw in enumerate(text.split("\n"), 1):
        # These words reach a terminal.
        line = plain(_COMMENT.sub("", raw).replace("\t", " ").strip())
        if not line:
            continue
        if line.startswith("["):
            if not line.endswith("]"):
                raise SnapshotError("section name without closing bracket", path, number)
            if len(headers) == _MAX_SECTIONS:
                raise SnapshotError("more than %d sections" % _MAX_SECTIONS, path, number)
            headers.append((line[1:-1].strip(), number))
            bodies.append([])
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise SnapshotError("neither [section] nor key=value", path, number)
        if not bodies:
            raise SnapshotError("key %r stands before any section" % key.strip(), path, number)
        # Values may be quoted, as file names with blanks are.
        bodies[-1].append(IniEntry(key.strip(), value.strip().strip("\"'"), path, number))
    sections = (Section(name, path, line, tuple(body)) for (name, line), body in zip(headers, bodies))
    return IniFile(path, tuple(sections))
