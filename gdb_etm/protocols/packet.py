"""A packet as it is listed for a person."""

from __future__ import annotations

from typing import NamedTuple


class Packet(NamedTuple):
    """One packet of a stream."""

    offset: int
    """Offset in the capture's buffer of its first byte."""
    raw: bytes
    name: str
    """The specification's name; ``"not synchronised"`` for bytes before the first synchronisation."""
    fields: str
    """Its fields in words; empty when it has none."""
