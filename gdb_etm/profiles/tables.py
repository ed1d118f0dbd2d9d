"""TOML files, and their tables, read key by key.

What a file lacks, or holds too much of, is one line with file and key.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from gdb_etm.errors import EtmError, plain
from gdb_etm.files import read_regular

_T = TypeVar("_T")
WORD = (1 << 32) - 1
# Characters of a line: the time for a key grows with the square of its parts.
_LONGEST = 500


def read_toml(path: str, largest: int, error: Type[EtmError]) -> Dict[str, Any]:
    """Read a TOML file.

    :param largest: The most bytes that it may have.
    :param error: What is raised where it cannot be read.
    """
    # The standard library has a reader since Python 3.11; before it is a package of the same contents.
    toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        text = read_regular(path, largest).decode("utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > _LONGEST:
                raise error("%s:%d: a line of more than %d characters" % (path, number, _LONGEST))
        found: Dict[str, Any] = toml.loads(text)
        return found
    except OSError as cause:
        raise error("cannot read %s: %s" % (path, cause.strerror or cause))
    except RecursionError:
        raise error("%s: tables or lists are nested too deeply" % path) from None
    except ValueError as cause:  # of TOML, or of UTF-8
        raise error("%s: %s" % (path, cause))


class TableReader:
    """Takes one table apart, and knows what was not taken.

    :param where: File and table, for messages.
    :param table: What the file holds.
    :param error: What is raised where something is missing, unknown or of the wrong kind.
    """

    def __init__(self, where: str, table: Mapping[str, Any], error: Type[EtmError]) -> None:
        self.where = where
        self._left = dict(table)
        self._error = error

    def text(self, key: str, default: Optional[str] = None) -> str:
        """Take a text."""
        return plain(str(self._take(key, str, default)))

    def texts(self, key: str, default: Optional[Sequence[str]] = None) -> Tuple[str, ...]:
        """Take a list of texts."""
        found = self._take(key, list, None if default is None else list(default))
        if not all(isinstance(each, str) for each in found):
            raise self._error("%s: %s must be a list of texts" % (self.where, key))
        return tuple(map(plain, found))

    def number(self, key: str, most: int = WORD, default: Optional[int] = None) -> int:
        """Take a number from 0 to the most."""
        found = self._take(key, int, default)
        if isinstance(found, bool) or not 0 <= found <= most:
            end = "0x%x" % most if most > 0xFFFF else "{:,}".format(most)
            raise self._error("%s: %s must be from 0 to %s" % (self.where, plain(key), end))
        return int(found)

    def address(self) -> int:
        """Take the address of a word."""
        found = self.number("address")
        if found & 3:
            raise self._error("%s: address 0x%x; words are at multiples of 4" % (self.where, found))
        return found

    def numbers(self, key: str, most: int) -> Dict[str, int]:
        """Take a table of numbers."""
        inner = TableReader("%s, %s" % (self.where, key), self._take(key, dict, {}), self._error)
        return {plain(name): inner.number(name, most) for name in list(inner._left)}

    def optional(self, key: str, make: Callable[[TableReader], _T]) -> Optional[_T]:
        """Take a table, if it is there."""
        return self._made(key, self._take(key, dict, {}), make) if key in self._left else None

    def made(self, key: str, make: Callable[[TableReader], _T]) -> _T:
        """Take a table, which is empty where it is not there."""
        return self._made(key, self._take(key, dict, {}), make)

    def several(self, key: str, make: Callable[[TableReader], _T]) -> Tuple[_T, ...]:
        """Take a list of tables."""
        found = enumerate(self._take(key, list, []), 1)
        return tuple(self._made("%s %d" % (key, at), each, make) for at, each in found)

    def has(self, key: str) -> bool:
        """Check whether a key is left."""
        return key in self._left

    def end(self) -> None:
        """Refuse what was not taken."""
        if self._left:
            raise self._error("%s: %s is unknown" % (self.where, ", ".join(map(plain, self._left))))

    @property
    def keys(self) -> List[str]:
        """The keys that are left."""
        return list(self._left)

    def flag(self, key: str, default: Optional[bool] = None) -> bool:
        """Take true or false."""
        return bool(self._take(key, bool, default))

    def amount(self, key: str, most: float, default: Optional[float] = None) -> float:
        """Take a number above 0, which may be broken."""
        found = self._left.pop(key, default)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found <= most:
            raise self._error("%s: %s must be a number above 0, at most %g" % (self.where, plain(key), most))
        return float(found)

    def copy(self) -> TableReader:
        """Give a reader of what is left."""
        return TableReader(self.where, self._left, self._error)

    def refuse(self, words: str) -> EtmError:
        """Make the error of something wrong in this table."""
        return self._error("%s: %s" % (self.where, words))

    def _made(self, key: str, table: Any, make: Callable[[TableReader], _T]) -> _T:
        if not isinstance(table, dict):
            raise self._error("%s: %s must be a table" % (self.where, key))
        inner = TableReader("%s, %s" % (self.where, key), table, self._error)
        made = make(inner)
        inner.end()
        return made

    def _take(self, key: str, kind: type, default: Any) -> Any:
        found = self._left.pop(key, default)
        if found is None:
            raise self._error("%s: %s is missing" % (self.where, key))
        if not isinstance(found, kind):
            raise self._error("%s: %s must be %s" % (self.where, plain(key), _KINDS[kind]))
        return found


_KINDS: Dict[type, str] = {str: "a text", int: "a number", list: "a list", dict: "a table", bool: "true or false"}
