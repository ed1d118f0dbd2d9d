"""A packet as it is listed for a person."""

from __future__ import annotations

from typing import NamedTuple


class Packet(NamedTuple):
    """One packet of a stream."""

    # Offset in the capture's buffer of its first byte.
    offset: int
    raw: bytes
    # The specification's name; ``"not synchronised"`` for bytes before the first synchronisation.
    name: str
    # Its fields in words; empty when it has none.
    fields: str
