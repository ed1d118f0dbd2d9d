"""A board profile as a value, from what a TOML file holds.

Nothing is written to a chip but where :attr:`Profile.identity` was read first and says that it is this chip.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar

from gdb_etm.errors import EtmError
from gdb_etm.files import plain

_T = TypeVar("_T")
_WORD = (1 << 32) - 1
_MOST_INPUTS = 256  # external inputs of a trace unit (IHI 0064, TRCIDR5.NUMEXTIN)
_MOST_PORTS = 8  # of a funnel (CoreSight Trace Funnel)


class ProfileError(EtmError):
    """Board profile that cannot be read, or is of another chip."""


class ChipId(NamedTuple):
    """A register that says which chip it is."""

    address: int
    value: int
    mask: int = _WORD
    # The maker's, such as ``"DBGMCU_IDC"``.
    name: str = ""

    def __str__(self) -> str:
        return "%s at 0x%08x" % (self.name or "the register", self.address)


class PartId(NamedTuple):
    """Part ID in an access port's first ROM table.

    Maker and part number, by which a chip is identified.
    """

    # JEP106: continuation code in bits 11:8, identity code in bits 6:0.
    designer: int
    part: int


class Enable(NamedTuple):
    """Register write that trace needs.

    It changes some bits of a word; the others stay as they are.
    """

    address: int
    value: int
    mask: int = _WORD
    name: str = ""
    why: str = ""

    def __str__(self) -> str:
        return "%s at 0x%08x" % (self.name or "the register", self.address)


class FunnelPort(NamedTuple):
    """Which port of a funnel a trace unit's trace comes in at."""

    # Address of the funnel.
    funnel: int
    # Its input, from 0.
    port: int
    # Address of the trace unit; None: whichever is traced.
    unit: Optional[int] = None


class Profile(NamedTuple):
    """What is known of a chip."""

    # What it is asked for by, such as ``"stm32h743"``.
    name: str
    title: str
    # The documents that say so.
    sources: Tuple[str, ...]
    part_id: Optional[PartId] = None
    identity: Optional[ChipId] = None
    enables: Tuple[Enable, ...] = ()
    ports: Tuple[FunnelPort, ...] = ()
    # Numbers of the trace unit's external inputs by the names of what drives them.
    inputs: Mapping[str, int] = {}
    # Why there is no trace buffer; empty where there may be one.
    no_buffer: str = ""
    # What a user should know, one line each.
    notes: Tuple[str, ...] = ()
    # Address of a Micro Trace Buffer's registers, which a ROM table may not list.
    mtb: Optional[int] = None

    def funnel_inputs(self, unit: int) -> Dict[int, int]:
        """Return the funnel ports of a trace unit, as masks by address.

        Funnels that the profile does not list are absent.

        :param unit: The trace unit's address.
        """
        found: Dict[int, int] = {}
        for port in self.ports:
            if port.unit in (None, unit):
                found[port.funnel] = found.get(port.funnel, 0) | 1 << port.port
        return found


def profile_of(name: str, where: str, table: Mapping[str, Any]) -> Profile:
    """Make a profile of what a file holds.

    :param name: What it is asked for by.
    :param where: The file, for messages.
    :raises ProfileError: Something of it is missing, unknown or of the wrong kind.
    """
    reader = _Reader(where, table)
    found = Profile(
        name,
        reader.text("title"),
        reader.texts("sources"),
        reader.optional("part-id", _part_id),
        reader.optional("identity", _identity),
        reader.several("enable", _enable),
        reader.several("funnel-port", _funnel_port),
        reader.numbers("inputs", _MOST_INPUTS - 1),
        reader.text("no-buffer", ""),
        reader.texts("notes", ()),
        reader.optional("mtb", lambda inner: inner.address()),
    )
    reader.end()
    if not found.sources:
        raise ProfileError("%s: sources is empty; name the document that says so" % where)
    if found.enables and found.identity is None:
        raise ProfileError("%s: [[enable]] without [identity]: it might write to another chip" % where)
    return found


class _Reader:
    # Takes one table apart, and knows what was not taken.

    def __init__(self, where: str, table: Mapping[str, Any]) -> None:
        self._where = where
        self._left = dict(table)

    def text(self, key: str, default: Optional[str] = None) -> str:
        return plain(str(self._take(key, str, default)))

    def texts(self, key: str, default: Optional[Sequence[str]] = None) -> Tuple[str, ...]:
        found = self._take(key, list, None if default is None else list(default))
        if not all(isinstance(each, str) for each in found):
            raise ProfileError("%s: %s must be a list of texts" % (self._where, key))
        return tuple(map(plain, found))

    def number(self, key: str, most: int = _WORD, default: Optional[int] = None) -> int:
        found = self._take(key, int, default)
        if isinstance(found, bool) or not 0 <= found <= most:
            raise ProfileError("%s: %s must be from 0 to 0x%x" % (self._where, plain(key), most))
        return int(found)

    def address(self) -> int:
        found = self.number("address")
        if found & 3:
            raise ProfileError("%s: address 0x%x; words are at multiples of 4" % (self._where, found))
        return found

    def numbers(self, key: str, most: int) -> Dict[str, int]:
        inner = _Reader("%s, %s" % (self._where, key), self._take(key, dict, {}))
        return {plain(name): inner.number(name, most) for name in list(inner._left)}

    def optional(self, key: str, make: Callable[[_Reader], _T]) -> Optional[_T]:
        return self._made(key, self._take(key, dict, {}), make) if key in self._left else None

    def several(self, key: str, make: Callable[[_Reader], _T]) -> Tuple[_T, ...]:
        return tuple(self._made(key, each, make) for each in self._take(key, list, []))

    def has(self, key: str) -> bool:
        return key in self._left

    def end(self) -> None:
        if self._left:
            raise ProfileError("%s: %s is unknown" % (self._where, ", ".join(map(plain, self._left))))

    def _made(self, key: str, table: Any, make: Callable[[_Reader], _T]) -> _T:
        if not isinstance(table, dict):
            raise ProfileError("%s: %s must be a table" % (self._where, key))
        inner = _Reader("%s, %s" % (self._where, key), table)
        made = make(inner)
        inner.end()
        return made

    def _take(self, key: str, kind: type, default: Any) -> Any:
        found = self._left.pop(key, default)
        if found is None:
            raise ProfileError("%s: %s is missing" % (self._where, key))
        if not isinstance(found, kind):
            raise ProfileError("%s: %s must be %s" % (self._where, plain(key), _KINDS[kind]))
        return found


_KINDS: Dict[type, str] = {str: "a text", int: "a number", list: "a list", dict: "a table"}


def _part_id(reader: _Reader) -> PartId:
    return PartId(reader.number("designer", 0xF7F), reader.number("part", 0xFFF))


def _identity(reader: _Reader) -> ChipId:
    return ChipId(
        reader.address(), reader.number("value"), reader.number("mask", default=_WORD), reader.text("name", "")
    )


def _enable(reader: _Reader) -> Enable:
    return Enable(
        reader.address(),
        reader.number("value"),
        reader.number("mask", default=_WORD),
        reader.text("name", ""),
        reader.text("why", ""),
    )


def _funnel_port(reader: _Reader) -> FunnelPort:
    unit = reader.number("unit") if reader.has("unit") else None
    return FunnelPort(reader.number("funnel"), reader.number("port", _MOST_PORTS - 1), unit)
