"""A board profile as a value, from what a TOML file holds.

Nothing is written to a chip but where :attr:`Profile.identity` was read first and says that it is this chip.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.errors import EtmError
from gdb_etm.profiles.tables import WORD, TableReader

_WORD = WORD
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
    # Identification registers of the trace unit by datasheet name, for trace of which nothing else says what made it.
    unit: Mapping[str, int] = {}

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
    reader = TableReader(where, table, ProfileError)
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
        reader.numbers("unit", _WORD),
    )
    reader.end()
    if not found.sources:
        raise ProfileError("%s: sources is empty; name the document that says so" % where)
    if found.enables and found.identity is None:
        raise ProfileError("%s: [[enable]] without [identity]: it might write to another chip" % where)
    return found


def _part_id(reader: TableReader) -> PartId:
    return PartId(reader.number("designer", 0xF7F), reader.number("part", 0xFFF))


def _identity(reader: TableReader) -> ChipId:
    return ChipId(
        reader.address(), reader.number("value"), reader.number("mask", default=_WORD), reader.text("name", "")
    )


def _enable(reader: TableReader) -> Enable:
    return Enable(
        reader.address(),
        reader.number("value"),
        reader.number("mask", default=_WORD),
        reader.text("name", ""),
        reader.text("why", ""),
    )


def _funnel_port(reader: TableReader) -> FunnelPort:
    unit = reader.number("unit") if reader.has("unit") else None
    return FunnelPort(reader.number("funnel"), reader.number("port", _MOST_PORTS - 1), unit)
