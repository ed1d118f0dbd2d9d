"""Fields that ETMv3 and PTM packets share, in words."""

from __future__ import annotations

from typing import Callable, Dict, Final, Generic, List, Optional

from gdb_etm.protocols.armv7.clock import Clock
from gdb_etm.protocols.armv7.fields import Information, Reference, UnitConfig
from gdb_etm.protocols.stream import K

# ``words(data, at)`` of the fields of the packet at an index.
Words = Callable[[bytes, int], str]

NOT_KNOWN_YET: Final = "address not known before an I-sync"


class FieldWords(Generic[K]):
    """Puts packets' fields in words, and keeps the compression state.

    :param config: The unit's configuration.
    """

    def __init__(self, config: UnitConfig) -> None:
        self._clock = Clock(config.timestamp_bytes, config.gray_timestamps)
        self._context_id_bytes = config.context_id_bytes
        # The last address output; None where none has been since synchronisation.
        self._reference: Optional[Reference] = None
        self._by_kind: Dict[K, Words] = {}

    def words(self, kind: K, data: bytes, at: int) -> str:
        """Put the fields of the next packet in words."""
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


def reference_text(reference: Reference) -> str:
    """Write an address with its instruction set state."""
    return "0x%08x %s" % (reference.address, reference.state.value)


def context_words(non_secure: Optional[bool], hyp: Optional[bool], context_id: Optional[int] = None) -> List[str]:
    """Write the security state, Hyp mode, and the Context ID."""
    words = [] if non_secure is None else ["NS" if non_secure else "S"]
    words += ["Hyp"] if hyp else []
    return words + ([] if context_id is None else ["Context ID 0x%x" % context_id])


def information_words(information: Optional[Information], name: str) -> List[str]:
    """Write exception information.

    :param name: The exception's name; not used when there is none.
    """
    if information is None:
        return []
    words = context_words(information.non_secure, information.hyp)
    words += [name] if information.number else []
    words += ["cancels the last instruction"] if information.cancel else []
    return words + (["resume 0x%x" % information.resume] if information.resume is not None else [])


def timestamp_text(value: Optional[int], changed: bool) -> str:
    """Write a timestamp.

    :param value: None when its upper bits are not known.
    :param changed: Whether a clock's speed changed since the last one.
    """
    words = "upper bits not known" if value is None else "0x%x" % value
    return words + (", clock changed" if changed else "")
