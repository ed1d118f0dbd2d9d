"""Data packets, and the instructions that made the transfers.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 4.11, 7.4 and 7.5: one data
packet for each transfer of up to 32 bits.

Data packets belong to the data instruction traced last.  The last packet is the last transfer's (7.4.5), so the others
are known only when all have come: instructions keep their packets up to the end.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.program.isa import Isa, is_wide
from gdb_etm.program.transfers import EXCEPTION_ENTRY, EXCEPTION_RETURN, Parts, TransferPart, TransferRole, transfers
from gdb_etm.protocols.elements import DataGap, Event, Exception_, ExceptionReturn, GapReason, Transfer
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.packets import (
    NO_ADDRESS,
    DataAddress,
    Kind,
    count_end,
    has_data_address,
    read_data_address,
    read_value,
)
from gdb_etm.protocols.recorder import Recorder


class _Item:
    # One data packet of an instruction.
    __slots__ = ("offset", "address", "value", "traced", "failed")

    def __init__(self, offset: int, address: Optional[int], traced: bool) -> None:
        self.offset = offset
        self.address = address
        self.value: Optional[int] = None
        self.traced = traced
        self.failed = False


class _Carrier:
    # An instruction or an exception with the packets of its transfers.
    __slots__ = ("entry", "event", "parts", "items", "complete")

    def __init__(self, entry: int, event: Optional[Event], parts: Parts) -> None:
        self.entry = entry
        self.event = event
        self.parts = parts
        self.items: List[_Item] = []
        self.complete = True


class DataMatcher:
    """Collects the transfers of one stream.

    :param config: The unit's configuration.
    :param recorder: Takes the transfers in the end, and gaps at once.
    """

    def __init__(self, config: Etmv3Config, recorder: Recorder) -> None:
        self._config = config
        self._recorder = recorder
        self._carriers: List[_Carrier] = []
        self._current: Optional[_Carrier] = None
        self._address: Optional[DataAddress] = None
        self._outstanding: Dict[int, List[_Item]] = {}
        self._last: Optional[_Item] = None
        self._reported = False

    def begin(self, entry: int, parts: Parts) -> None:
        """Take a data instruction: the last of a recording's entry."""
        self._carry(_Carrier(entry, None, parts))

    def begin_event(self, event: Optional[Event]) -> None:
        """Take an exception's entry or return, whose stacking is traced (7.5).

        :param event: None for an entry whose exception has not come yet.
        """
        parts = EXCEPTION_RETURN if isinstance(event, ExceptionReturn) else EXCEPTION_ENTRY
        self._carry(_Carrier(-1, event, parts))

    def enter(self) -> None:
        """Take an exception entry packet."""
        events, places = self._recorder.events, self._recorder.event_entries
        index = len(events)
        while index and places[index - 1] == len(self._recorder.order):
            index -= 1
            if isinstance(events[index], Exception_):
                self.begin_event(events[index])
                return
        self.begin_event(None)

    def taken(self, event: Exception_) -> None:
        """Take note of an exception."""
        current = self._current
        if current is not None and current.event is None and current.entry < 0:
            current.event = event

    def _carry(self, carrier: _Carrier) -> None:
        self._current = carrier
        self._carriers.append(carrier)
        self._reported = False

    def lose(self) -> None:
        """Take note that what follows belongs to nothing that is known."""
        current = self._current
        if current is not None and current.entry >= 0:
            # Of a stack frame nobody knows how many there are.
            current.complete = current.complete and len(current.items) >= len(_data_only(current.parts))
        self._current = None
        self._outstanding.clear()

    def desynchronise(self) -> None:
        """Forget what packets are compressed against, as when synchronisation is lost."""
        self.lose()
        self._address = None
        self._last = None

    def cancelled(self, entry: int) -> None:
        """Take note that the last instruction of an entry did not complete."""
        self._drop([carrier for carrier in self._carriers[-1:] if carrier.entry == entry])

    def forget(self, event: Event) -> None:
        """Take note that an event was taken back."""
        self._drop([carrier for carrier in self._carriers[-1:] if carrier.event is event])

    def _drop(self, carriers: List[_Carrier]) -> None:
        for carrier in carriers:
            self._carriers.remove(carrier)
            if self._current is carrier:
                self._current = None
            if carrier.items:
                detail = "%d of an instruction that did not complete" % len(carrier.items)
                self._recorder.event(DataGap(carrier.items[0].offset, GapReason.UNPLACED, detail))

    # Packets.

    def packet(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        """Take a data packet."""
        offset = self._recorder.offset_of(position)
        if kind is Kind.OUT_OF_ORDER_DATA:
            self._late_value(data, at, offset)
        elif kind is Kind.STORE_FAILED:
            if self._last is not None:
                self._last.failed = True
        elif kind is Kind.DATA_SUPPRESSED:
            self._recorder.event(DataGap(offset, GapReason.SUPPRESSED, ""))
            if self._current is not None:
                self._current.complete = False
            self.lose()
            # Up to ETMv3.2 a full address follows, and until then there is none to go by (7.4.6).
            self._reported = True
        else:
            self._transfer(kind, data, at, offset)

    def _transfer(self, kind: Kind, data: bytes, at: int, offset: int) -> None:
        address, at_value = self._read_address(kind, data, at)
        item = _Item(offset, address, kind is not Kind.NOT_TRACED)
        if kind is Kind.NORMAL_DATA:
            if self._config.data_values:
                item.value = read_value(data[at], data, at_value)
            self._last = item
        elif kind is Kind.PLACEHOLDER:
            self._outstanding.setdefault(data[at] >> 2 & 3, []).append(item)
        if self._current is not None:
            self._current.items.append(item)
        elif not self._reported:
            self._reported = True
            detail = "instructions are not traced" if self._config.data_only else ""
            self._recorder.event(DataGap(offset, GapReason.UNPLACED, detail))

    def _read_address(self, kind: Kind, data: bytes, at: int) -> Tuple[Optional[int], int]:
        header = data[at]
        at += 1
        if not self._config.data_addresses or not has_data_address(kind, header):
            return None, at
        whole = count_end(data, at, len(data)) - at == 5
        found, after = read_data_address(data, at, self._address or NO_ADDRESS)
        if whole or self._address is not None:
            self._address = found
        return (found.address if self._address is not None else None), after

    def _late_value(self, data: bytes, at: int, offset: int) -> None:
        # A tag stands for more than one transfer where an instruction makes several: the oldest comes first.
        waiting = self._outstanding.get(data[at] >> 5 & 3)
        if waiting:
            item = waiting.pop(0)
            item.value = read_value(data[at], data, at + 1)
            self._last = item
        else:
            self._last = None
            self._recorder.event(DataGap(offset, GapReason.UNPLACED, "out of order, and nothing waits for it"))

    # The end.

    def finish(self) -> None:
        """Put the transfers where they belong."""
        indices = {id(event): index for index, event in enumerate(self._recorder.events)}
        for carrier in self._carriers:
            found = tuple(self._transfers(carrier))
            if not found:
                continue
            if carrier.entry >= 0:
                self._recorder.transfers[carrier.entry] = found
            elif carrier.event is not None and id(carrier.event) in indices:
                self._recorder.event_transfers[indices[id(carrier.event)]] = found
            else:
                detail = "%d of an exception that was not traced" % len(found)
                self._recorder.event(DataGap(found[0].offset, GapReason.UNPLACED, detail))

    def _transfers(self, carrier: _Carrier) -> List[Transfer]:
        parts = _data_only(carrier.parts)
        # The last packet is the last transfer's; of a stack frame it is the first that is known.
        first = len(parts) - len(carrier.items) if carrier.entry >= 0 else 0
        certain = carrier.complete and first >= 0
        found: List[Transfer] = []
        before: Optional[TransferPart] = None
        address: Optional[int] = None
        for index, item in enumerate(carrier.items, first):
            part = parts[index] if certain and index < len(parts) else _any(parts)
            address = item.address if item.address is not None else self._following(address, before, part)
            before = part
            if item.traced:
                store = part.store if part is not None else None
                size = part.size if part is not None else None
                role = part.role if part is not None else TransferRole.DATA
                value = None if item.failed else item.value
                found.append(Transfer(item.offset, store, size, address, value, certain, role))
                if item.failed:
                    found.append(Transfer(item.offset, True, size, None, 1, certain, TransferRole.STATUS))
        return found

    def _following(
        self, address: Optional[int], before: Optional[TransferPart], part: Optional[TransferPart]
    ) -> Optional[int]:
        # Without an address of its own a transfer follows the one before it. In ETMv3.0 the instruction decides: both
        # of SWP's are at one address (7.4.2).
        if address is None or before is None or part is None or part.role is TransferRole.COPROCESSOR:
            return None
        if self._config.version == 0 and before.offset is not None and part.offset is not None:
            return address + part.offset - before.offset
        return address + before.size


def _data_only(parts: Parts) -> Parts:
    # A packet of its own says whether an exclusive store took place.
    return tuple([part for part in parts if part.role is not TransferRole.STATUS])


def _any(parts: Parts) -> Optional[TransferPart]:
    # What can be said of a transfer when it is not known which one it is.
    alike = set([part._replace(offset=None) for part in parts])
    return alike.pop() if len(alike) == 1 else None


def data_parts(code: bytes, isa: Isa, coprocessor: bool) -> Parts:
    """Give an instruction's transfers in trace order; empty for none.

    :param code: The instruction's bytes.
    :param coprocessor: Whether transfers between the processor's and a coprocessor's registers are traced too.
    """
    parts = tuple([part for part in transfers(code, 0, isa) if part.role is not TransferRole.OPERAND])
    if not parts and coprocessor and len(code) == 4:
        return _coprocessor(code, isa)
    return parts


def _coprocessor(code: bytes, isa: Isa) -> Parts:
    if isa is Isa.T32:
        first = code[0] | code[1] << 8
        if not is_wide(first) or first >> 13 != 7 or first & 0xEC00 != 0xEC00:
            return ()
        word = first << 16 | code[2] | code[3] << 8
    else:
        word = int.from_bytes(code, "little")
    load = bool(word & 0x00100000)
    if word & 0x0F000010 == 0x0E000010:
        return (TransferPart(not load, 4, None, TransferRole.COPROCESSOR),)  # MCR, MRC
    if word & 0x0FE00000 == 0x0C400000:
        return (TransferPart(not load, 4, None, TransferRole.COPROCESSOR),) * 2  # MCRR, MRRC
    return ()
