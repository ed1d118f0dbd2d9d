"""Packets with their fields in words, as far as ETMv3 and PTM have them in common."""

from __future__ import annotations

from typing import Callable, Dict, Generic, Optional

from gdb_etm.protocols.armv7.clock import Clock
from gdb_etm.protocols.armv7.fields import Reference
from gdb_etm.protocols.stream import K

# ``words(data, at)`` of the fields of the packet at an index.
Words = Callable[[bytes, int], str]


class FieldWords(Generic[K]):
    """Puts packets' fields in words; keeps what packets are compressed against.

    :param clock: Reads timestamps.
    :param context_id_bytes: Size of a Context ID.
    """

    def __init__(self, clock: Clock, context_id_bytes: int) -> None:
        self._clock = clock
        self._context_id_bytes = context_id_bytes
        # The last address output; None where none has been since synchronisation.
        self._reference: Optional[Reference] = None
        self._by_kind: Dict[K, Words] = {}

    def words(self, kind: K, data: bytes, at: int) -> str:
        """Put the fields of a packet in words; to be called for every packet in order."""
        make = self._by_kind.get(kind)
        return make(data, at) if make is not None else ""

    def _reserved(self, data: bytes, at: int) -> str:
        # Synchronisation is lost.
        self._reference = None
        self._clock.lose()
        return ""

    def _context_id(self, data: bytes, at: int) -> str:
        return "0x%x" % int.from_bytes(data[at + 1 : at + 1 + self._context_id_bytes], "little")

    def _vmid(self, data: bytes, at: int) -> str:
        return "0x%x" % data[at + 1]
