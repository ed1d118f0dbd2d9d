"""A stream's packets one by one, with their fields in words.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), chapter 7.
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Iterator, List, Optional

from gdb_etm.protocols.armv7.fields import NO_REFERENCE, Branch
from gdb_etm.protocols.armv7.listing import (
    NOT_KNOWN_YET,
    FieldWords,
    context_words,
    information_words,
    reference_text,
    timestamp_text,
)
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.decoder import FORM
from gdb_etm.protocols.etmv3.exceptions import exception_name
from gdb_etm.protocols.etmv3.headers import build_table
from gdb_etm.protocols.etmv3.packets import (
    ATOMS,
    CYCLE_ATOMS,
    NO_ADDRESS,
    DataAddress,
    Kind,
    count_end,
    has_data_address,
    read_branch,
    read_count,
    read_data_address,
    read_sync,
    read_value,
)
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.stream import kind_in_header, list_stream


def list_packets(config: Etmv3Config, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
    """Iterate over the packets of a stream; see :func:`gdb_etm.protocols.stream.list_stream`."""
    return list_stream(FORM, build_table(config), kind_in_header, _Fields(config).words, data, offset_of)


class _Fields(FieldWords[Kind]):
    def __init__(self, config: Etmv3Config) -> None:
        super().__init__(config)
        self._config = config
        self._atoms = CYCLE_ATOMS if config.cycle_accurate else ATOMS
        self._address: Optional[DataAddress] = None
        self._by_kind = {
            Kind.BRANCH: self._branch,
            Kind.ISYNC: self._isync,
            Kind.ISYNC_CYCLES: self._isync,
            Kind.P_HEADER: lambda data, at: self._atoms[data[at]],
            Kind.CYCLE_COUNT: lambda data, at: _cycles(read_count(data, at + 1)[0]),
            Kind.TIMESTAMP: self._timestamp_packet,
            Kind.CONTEXT_ID: self._context_id,
            Kind.VMID: self._vmid,
            Kind.NORMAL_DATA: partial(self._data, Kind.NORMAL_DATA),
            Kind.PLACEHOLDER: partial(self._data, Kind.PLACEHOLDER),
            Kind.NOT_TRACED: partial(self._data, Kind.NOT_TRACED),
            Kind.OUT_OF_ORDER_DATA: _late,
            Kind.RESERVED: self._reserved,
        }

    def _reserved(self, data: bytes, at: int) -> str:
        self._address = None
        return super()._reserved(data, at)

    def _branch(self, data: bytes, at: int) -> str:
        branch = read_branch(self._config, data, at, self._reference or NO_REFERENCE)
        words = self._branch_words(branch)
        if self._reference is None:
            words[0] = NOT_KNOWN_YET
        else:
            self._reference = branch.reference
        return ", ".join(words)

    def _branch_words(self, branch: Branch) -> List[str]:
        number = branch.information.number if branch.information is not None else 0
        name, _ = exception_name(number, self._config.m_profile)
        return [reference_text(branch.reference)] + information_words(branch.information, name)

    def _isync(self, data: bytes, at: int) -> str:
        sync = read_sync(self._config, data, at)
        words = [sync.reason.value]
        if sync.start is not None:
            self._reference = sync.start
            words.append(("load or store at " if sync.current is not None else "") + reference_text(sync.start))
        if sync.current is not None:
            self._reference = sync.current.reference
            current = self._branch_words(sync.current)
            words += ["executing " + current[0]] + current[1:]
        words += context_words(sync.non_secure, sync.hyp, sync.context_id)
        if sync.cycles is not None:
            words.append(_cycles(sync.cycles))
        return ", ".join(words)

    def _timestamp_packet(self, data: bytes, at: int) -> str:
        _, value = self._clock.take(data, at + 1, len(data))
        return timestamp_text(value, bool(data[at] & 4))

    def _data(self, kind: Kind, data: bytes, at: int) -> str:
        header = data[at]
        words = ["tag %d" % (header >> 2 & 3)] if kind is Kind.PLACEHOLDER else []
        at += 1
        if self._config.data_addresses and has_data_address(kind, header):
            whole = count_end(data, at, len(data)) - at == 5
            found, at = read_data_address(data, at, self._address or NO_ADDRESS)
            if whole or self._address is not None:
                self._address = found
                words.append("at 0x%08x" % found.address + (" big-endian" if found.big_endian else ""))
            else:
                words.append("at an address whose upper bits are not known")
        if kind is Kind.NORMAL_DATA and self._config.data_values:
            words.append("value 0x%x" % read_value(header, data, at))
        return ", ".join(words)


def _late(data: bytes, at: int) -> str:
    return "tag %d, value 0x%x" % (data[at] >> 5 & 3, read_value(data[at], data, at + 1))


def _cycles(count: int) -> str:
    return "%d cycles" % count if count else "cycles unknown"
