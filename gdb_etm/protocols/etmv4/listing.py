"""A stream's packets one by one, with their fields in words.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Dict, Final, Iterator, List

from gdb_etm.protocols.etmv4.conditional import CONDITIONAL_KINDS, SELECTIONS, Conditional, ConditionKeys, Element
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.exceptions import exception_name
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.packets import (
    ATOMS,
    FORM,
    NO_ADDRESSES,
    Address,
    ContextFields,
    Kind,
    push_address,
    read_address,
    read_context,
    read_continued,
    read_cycle_count,
    read_exception,
    read_timestamp,
    read_trace_info,
)
from gdb_etm.protocols.etmv4.reserved import reserved_field
from gdb_etm.protocols.etmv4.resolution import (
    Atoms,
    read_cancel,
    read_commit,
    read_cycle_commit,
    read_mispredict,
    read_sync_mark,
)
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.stream import list_stream

_KEYS_SHOWN: Final = 8


def list_packets(config: Etmv4Config, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
    """Iterate over the packets of a stream; see :func:`gdb_etm.protocols.stream.list_stream`."""
    kind_of = partial(packet_kind, config=config)
    return list_stream(FORM, build_table(config), kind_of, _Fields(config).words, data, offset_of)


class _Fields:
    # Puts a packet's fields in words; keeps the address registers and the timestamp up to date.

    def __init__(self, config: Etmv4Config) -> None:
        self._config = config
        self._addresses = NO_ADDRESSES
        self._timestamp = 0
        self._threshold = 0
        self._keys = ConditionKeys(config)
        self._by_kind: Dict[Kind, Callable[[bytes, int], str]] = {
            Kind.TRACE_INFO: self._trace_info,
            Kind.TIMESTAMP: self._timestamp_packet,
            Kind.EXCEPTION: self._exception,
            Kind.CYCLE_COUNT_1: self._cycle_count,
            Kind.CYCLE_COUNT_2: self._cycle_count,
            Kind.CYCLE_COUNT_3: self._cycle_count,
            Kind.NUMBERED_SYNC: _sync_mark,
            Kind.UNNUMBERED_SYNC: _sync_mark,
            Kind.COMMIT: lambda data, at: "%d" % read_commit(data, at),
            Kind.CANCEL_1: _cancel,
            Kind.CANCEL_2: _cancel,
            Kind.CANCEL_3: _cancel,
            Kind.MISPREDICT: lambda data, at: _after(read_mispredict(data, at)),
            Kind.EVENT: lambda data, at: "event %s" % ", ".join(str(n) for n in range(4) if data[at] >> n & 1),
            Kind.CONTEXT: lambda data, at: self._context(data, at + 1) if data[at] & 1 else "unchanged",
            Kind.ADDRESS_CONTEXT: self._address_context,
            Kind.EXACT_MATCH: self._address,
            Kind.SHORT_ADDRESS: self._address,
            Kind.LONG_ADDRESS: self._address,
            Kind.Q: self._q,
            Kind.ATOM: lambda data, at: _letters(ATOMS[data[at]]),
        }
        self._by_kind.update({kind: partial(self._conditional, kind) for kind in CONDITIONAL_KINDS})

    def words(self, kind: Kind, data: bytes, at: int) -> str:
        reserved = reserved_field(kind, data, at, self._config)
        if reserved and kind in CONDITIONAL_KINDS:
            self._keys.lose()
            return "reserved: %s" % reserved
        make = self._by_kind.get(kind)
        words = make(data, at) if make is not None else ""
        return "%s (reserved: %s)" % (words, reserved) if reserved else words

    def _trace_info(self, data: bytes, at: int) -> str:
        info, _ = read_trace_info(data, at)
        self._addresses = NO_ADDRESSES
        self._timestamp = 0
        self._threshold = info.cycle_threshold
        self._keys.reset()
        words = ["INFO=0x%02x" % info.info]
        if info.info & 1:
            words.append("cycle threshold %d" % info.cycle_threshold)
        if SELECTIONS.get(info.info >> 1 & 7, "none") != "none":
            words.append("conditional: %s" % SELECTIONS[info.info >> 1 & 7])
        if info.info >> 4 & 3:
            words.append("%s as P0" % SELECTIONS[info.info >> 4 & 3])
        if info.speculation:
            words.append("%d uncommitted" % info.speculation)
        if info.p0_key:
            words.append("P0 key %d" % info.p0_key)
        return ", ".join(words)

    def _timestamp_packet(self, data: bytes, at: int) -> str:
        self._timestamp, cycles, _ = read_timestamp(data, at, self._timestamp)
        return "0x%x" % self._timestamp + (", %d cycles" % cycles if cycles >= 0 else "")

    def _cycle_count(self, data: bytes, at: int) -> str:
        count = read_cycle_count(data, at, self._config.commit_mode)
        commits = read_cycle_commit(data, at, self._config)
        words = "%d cycles" % (self._threshold + count) if count >= 0 else "count unknown"
        return "commit %d, %s" % (commits, words) if commits > 0 else words

    def _conditional(self, kind: Kind, data: bytes, at: int) -> str:
        elements = self._keys.read(kind, data, at)
        return ", ".join(_elements(elements, self._config.condition_flags)) if elements is not None else "keys unknown"

    def _push(self, address: Address) -> str:
        self._addresses = push_address(self._addresses, address)
        return "0x%08x IS%d" % (address.address, address.is1)

    def _address(self, data: bytes, at: int) -> str:
        return self._push(read_address(data[at], data, at + 1, self._addresses)[0])

    def _address_context(self, data: bytes, at: int) -> str:
        address, after = read_address(data[at], data, at + 1, self._addresses)
        return "%s, %s" % (self._push(address), self._context(data, after))

    def _context(self, data: bytes, at: int) -> str:
        fields: ContextFields = read_context(self._config, data, at)[0]
        words: List[str] = ["EL%d" % fields.exception_level, "NS" if fields.non_secure else "S"]
        words.append("64-bit" if fields.sixty_four_bit else "32-bit")
        if fields.vmid >= 0:
            words.append("VMID 0x%x" % fields.vmid)
        if fields.context_id >= 0:
            words.append("Context ID 0x%x" % fields.context_id)
        return " ".join(words)

    def _exception(self, data: bytes, at: int) -> str:
        fields, after = read_exception(data, at)
        name, _ = exception_name(fields.number, self._config.m_profile)
        header = data[after]
        address, rest = read_address(header, data, after + 1, self._addresses)
        words = "%s, return address %s" % (name, self._push(address))
        if fields.elements == 2:
            words += ", also the target of the branch before"
        if fields.fault_pending:
            words += ", fault pending"
        return words + (", " + self._context(data, rest) if header < 0x90 else "")

    def _q(self, data: bytes, at: int) -> str:
        form = data[at] & 0xF
        if form == 0xF:
            return "unknown count"
        after = at + 1
        words = ""
        if form != 0xC:
            address, after = read_address(0x90 | form, data, after, self._addresses)
            words = self._push(address) + ", "
        return "%s%d instructions" % (words, read_continued(data, after)[0])


def _letters(atoms: Atoms) -> str:
    return "".join("E" if taken else "N" for taken in atoms)


def _after(atoms: Atoms) -> str:
    return "after %s" % _letters(atoms) if atoms else ""


def _sync_mark(data: bytes, at: int) -> str:
    mark = read_sync_mark(data, at)
    return _after(mark.atoms) if mark.number is None else "%d" % mark.number


def _cancel(data: bytes, at: int) -> str:
    cancel = read_cancel(data, at)
    words = ["%d" % cancel.elements, "mispredict" if cancel.mispredict else "", _after(cancel.atoms)]
    return ", ".join(filter(None, words))


def _elements(elements: List[Element], flags: bool) -> Iterator[str]:
    # C elements in a row share one word; of many only the first and the last key are shown.
    keys: List[int] = []
    for element in elements:
        if isinstance(element, Conditional):
            keys.append(element.key)
            continue
        if keys:
            yield _c_elements(keys)
            keys = []
        yield "R %d %s" % (element.key, _result(element.value, flags))
    if keys:
        yield _c_elements(keys)


def _c_elements(keys: List[int]) -> str:
    if len(keys) <= _KEYS_SHOWN:
        return "C " + " ".join("%d" % key for key in keys)
    return "C %d ... %d (%d)" % (keys[0], keys[-1], len(keys))


def _result(value: int, flags: bool) -> str:
    # A flag that is set in capitals, as debuggers show them.
    if not flags:
        return "passed" if value else "failed"
    return "".join(name if value >> 3 - bit & 1 else name.lower() for bit, name in enumerate("NZCV"))
