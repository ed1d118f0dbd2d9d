"""A stream's packets one by one, with their fields in words.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.
"""

from __future__ import annotations

from typing import Callable, Iterator

from gdb_etm.protocols.armv7.exceptions import exception_name
from gdb_etm.protocols.armv7.fields import NO_REFERENCE
from gdb_etm.protocols.armv7.listing import (
    NOT_KNOWN_YET,
    FieldWords,
    context_words,
    information_words,
    reference_text,
    timestamp_text,
)
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.decoder import FORM
from gdb_etm.protocols.ptm.headers import build_table
from gdb_etm.protocols.ptm.packets import (
    ATOMS,
    Kind,
    read_branch,
    read_count,
    read_sync,
    read_timestamp_count,
    read_update,
)
from gdb_etm.protocols.stream import kind_in_header, list_stream


def list_packets(config: PtmConfig, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
    """Iterate over the packets of a stream; see :func:`gdb_etm.protocols.stream.list_stream`."""
    return list_stream(FORM, build_table(config), kind_in_header, _Fields(config).words, data, offset_of)


class _Fields(FieldWords[Kind]):
    def __init__(self, config: PtmConfig) -> None:
        super().__init__(config)
        self._config = config
        self._by_kind = {
            Kind.ATOM: self._atom,
            Kind.BRANCH: self._branch,
            Kind.ISYNC: self._isync,
            Kind.WAYPOINT_UPDATE: self._update,
            Kind.TIMESTAMP: self._timestamp_packet,
            Kind.CONTEXT_ID: self._context_id,
            Kind.VMID: self._vmid,
            Kind.RESERVED: self._reserved,
        }

    def _atom(self, data: bytes, at: int) -> str:
        if self._config.cycle_accurate:
            return "%s, %s" % ("N" if data[at] & 2 else "E", _cycles(read_count(data, at)))
        return "".join("E" if taken else "N" for taken in ATOMS[data[at]])

    def _branch(self, data: bytes, at: int) -> str:
        branch = read_branch(data, at, self._reference or NO_REFERENCE)
        number = branch.information.number if branch.information is not None else 0
        words = information_words(branch.information, exception_name(number))
        if self._reference is None:
            words.insert(0, NOT_KNOWN_YET)
        else:
            self._reference = branch.reference
            words.insert(0, reference_text(branch.reference))
        if self._config.cycle_accurate:
            words.append(_cycles(read_count(data, branch.after)))
        return ", ".join(words)

    def _update(self, data: bytes, at: int) -> str:
        if self._reference is None:
            return NOT_KNOWN_YET
        self._reference = read_update(data, at, self._reference)
        return reference_text(self._reference)

    def _isync(self, data: bytes, at: int) -> str:
        sync = read_sync(self._config, data, at)
        self._reference = sync.start
        words = [sync.reason.value, reference_text(sync.start)] + context_words(
            sync.non_secure, sync.hyp, sync.context_id
        )
        if sync.cycles is not None:
            words.append(_cycles(sync.cycles))
        return ", ".join(words)

    def _timestamp_packet(self, data: bytes, at: int) -> str:
        after, value = self._clock.take(data, at + 1, len(data))
        words = timestamp_text(value, bool(data[at] & 4))
        count = read_timestamp_count(self._config, data, after)
        return words if count is None else "%s, %s" % (words, _cycles(count))


def _cycles(count: int) -> str:
    return "%d cycles" % count
