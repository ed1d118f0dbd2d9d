"""Decoded elements, one a line, as text or JSON objects."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from gdb_etm.history.build import data_trace_id
from gdb_etm.history.store import ConditionResult, ExecutionHistory, OwnedTransfer, TracedInstruction
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    DataGap,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
    Timestamp,
)
from gdb_etm.protocols.packet import Packet
from gdb_etm.views.schema import SCHEMA

Value = Union[str, int, bool, None]
# What a line can show: of the instruction stream, or a load or store of the data stream.
Element = Union[Range, Event, ConditionResult, OwnedTransfer]
# Offset in the buffer, trace ID, and what is there.
Row = Tuple[int, int, Element]
_ISA_NAMES = [isa.name for isa in Isa]
_NO_CODE = GapReason.NO_CODE


def element_object(trace_id: int, offset: int, element: Element) -> Dict[str, Value]:
    """Make the JSON object of an element.

    Every object has ``index`` (offset in the buffer), ``id`` (trace ID) and ``kind``; addresses and timestamps are
    hexadecimal strings, counts are numbers.
    """
    kind, fields = _fields(element)
    found: Dict[str, Value] = {"schema": SCHEMA, "index": offset, "id": trace_id, "kind": kind}
    found.update(fields)
    return found


def end_object(trace_id: int, offset: int) -> Dict[str, Value]:
    """Make the object that follows a stream's last element."""
    return {"schema": SCHEMA, "index": offset, "id": trace_id, "kind": "end"}


def packet_object(trace_id: int, packet: Packet) -> Dict[str, Value]:
    """Make a packet's JSON object.

    It has ``index``, ``id``, ``bytes`` in hexadecimal, ``name`` and ``fields``.
    """
    return {
        "schema": SCHEMA,
        "kind": "packet",
        "index": packet.offset,
        "id": trace_id,
        "bytes": packet.raw.hex(),
        "name": packet.name,
        "fields": packet.fields,
    }


class InstructionWords(NamedTuple):
    """What is said of an instruction; None where it is not known."""

    function: Optional[str]
    # Such as ``"rx.c:121"``, and the line itself.
    line: Optional[str]
    source: Optional[str]


def instruction_object(
    trace_id: int, instruction: TracedInstruction, words: InstructionWords, text: str, passed: Optional[bool]
) -> Dict[str, Value]:
    """Make the JSON object of an executed instruction.

    :param words: Its function and source line.
    :param text: It in assembler.
    :param passed: Whether it passed its condition; None, which is left out, where it has none or the trace does not
        tell.
    """
    condition: Dict[str, Value] = {} if passed is None else {"passed": passed}
    return {
        "schema": SCHEMA,
        "number": instruction.number,
        "id": trace_id,
        "kind": "instruction",
        "address": hex(instruction.address),
        "size": instruction.size,
        "isa": instruction.isa.name,
        "text": text,
        **words._asdict(),
        **condition,
    }


def element_text(trace_id: int, offset: int, element: Element) -> str:
    """Write an element as a line: offset, trace ID, kind, fields."""
    if isinstance(element, Range):
        # As the others, without a dictionary: most lines are of these, of cycles and of missing code.
        start, end, instructions, isa, taken = element
        words = (offset, trace_id, start, end, _ISA_NAMES[isa], instructions, taken)
        return "%8d  %02x  range             start=0x%x end=0x%x isa=%s instructions=%d taken=%s" % words
    if isinstance(element, Cycles) and element.cycles is not None:
        return "%8d  %02x  cycles            cycles=%d" % (offset, trace_id, element.cycles)
    if isinstance(element, Gap) and element.reason is _NO_CODE and element.address is not None:
        return "%8d  %02x  unknown_address   address=0x%x" % (offset, trace_id, element.address)
    kind, fields = _fields(element)
    text = " ".join("%s=%s" % (name, value) for name, value in fields.items() if value is not None)
    return ("%8d  %02x  %-16s  %s" % (offset, trace_id, kind, text)).rstrip()


def _fields(element: Element) -> Tuple[str, Dict[str, Value]]:
    if isinstance(element, OwnedTransfer):
        return "transfer", _transfer_fields(element)
    if isinstance(element, Range):
        return "range", {
            "start": hex(element.start),
            "end": hex(element.end),
            "isa": element.isa.name,
            "instructions": element.instructions,
            "taken": element.taken,
        }
    if isinstance(element, ConditionResult):
        return "condition", {"instruction": element.number, "passed": element.passed}
    if isinstance(element, Gap):
        return _gap_fields(element)
    if isinstance(element, DataGap):
        return "data_gap", _with_detail({"reason": element.reason.value}, element.detail)
    if isinstance(element, Exception_):
        address = None if element.return_address is None else hex(element.return_address)
        return "exception", {"type": element.number, "name": element.name, "return_address": address}
    if isinstance(element, ExceptionReturn):
        return "exception_return", {}
    if isinstance(element, Timestamp):
        return "timestamp", _with_cycles({"value": hex(element.value)}, element.cycles)
    if isinstance(element, Cycles):
        return "cycles", _with_cycles({}, element.cycles)
    if isinstance(element, Context):
        return "context", _context_fields(element)
    return "event", {"event": element.number}


def _transfer_fields(owned: OwnedTransfer) -> Dict[str, Value]:
    transfer = owned.transfer
    return {
        "store": transfer.store,
        "size": transfer.size,
        "address": None if transfer.address is None else hex(transfer.address),
        "value": None if transfer.value is None else hex(transfer.value),
        "role": transfer.role.name.lower(),
        "certain": transfer.certain,
        "instruction": owned.number,
        "owner": None if owned.event is None else owned.event.offset,
    }


def _gap_fields(gap: Gap) -> Tuple[str, Dict[str, Value]]:
    if gap.reason is GapReason.NO_CODE and gap.address is not None:
        return "unknown_address", {"address": hex(gap.address)}
    kind = "no_sync" if gap.reason in (GapReason.NOT_SYNCHRONISED, GapReason.BAD_PACKET) else "gap"
    return kind, _with_detail({"reason": gap.reason.value}, gap.detail)


def _with_detail(fields: Dict[str, Value], detail: str) -> Dict[str, Value]:
    if detail:
        fields["detail"] = detail
    return fields


def _with_cycles(fields: Dict[str, Value], cycles: Optional[int]) -> Dict[str, Value]:
    if cycles is not None:
        fields["cycles"] = cycles
    return fields


def _context_fields(context: Context) -> Dict[str, Value]:
    fields: Dict[str, Value] = {
        "exception_level": context.exception_level,
        "non_secure": context.non_secure,
        "sixty_four_bit": context.sixty_four_bit,
    }
    if context.context_id is not None:
        fields["context_id"] = hex(context.context_id)
    if context.vmid is not None:
        fields["vmid"] = hex(context.vmid)
    return fields


def element_rows(histories: Mapping[int, ExecutionHistory]) -> Iterator[Row]:
    """Go through all elements in the order of the buffer.

    :param histories: Histories by trace ID.
    :returns: Each with its offset and its trace ID.
    """

    def of(trace_id: int, history: ExecutionHistory) -> Iterator[Row]:
        elements = history.elements()
        return ((offset, trace_id, one) for offset, one in elements if not isinstance(one, DataGap))

    def conditions_of(trace_id: int, history: ExecutionHistory) -> Iterator[Row]:
        return ((offset, trace_id, one) for offset, one in history.conditions())

    def data_of(trace_id: int, history: ExecutionHistory) -> Iterator[Row]:
        data_id = data_trace_id(history.source)
        id_of_data = trace_id if data_id is None else data_id
        return ((offset, id_of_data, one) for offset, one in history.data_elements())

    makers = (of, conditions_of, data_of)
    return merge_rows([make(*item) for make in makers for item in histories.items()])


def merge_rows(sources: List[Iterator[Row]]) -> Iterator[Row]:
    """Merge rows by offset, and then in the order of their sources."""
    # Mostly one source has many rows in turn.
    waiting = []
    for order, rows in enumerate(sources):
        for row in rows:
            waiting.append((row[0], order, row, rows))
            break
    heapify(waiting)
    while len(waiting) > 1:
        _, order, row, rows = heappop(waiting)
        until, other = waiting[0][:2]
        yield row
        for row in rows:
            if row[0] >= until and (row[0] > until or order > other):
                heappush(waiting, (row[0], order, row, rows))
                break
            yield row
    for _, _, row, rows in waiting:
        yield row
        yield from rows


def history_objects(
    trace_id: int,
    history: ExecutionHistory,
    shown: Tuple[int, int],
    words: Callable[[int], InstructionWords],
    text: Callable[[TracedInstruction], str],
) -> Iterator[Dict[str, Value]]:
    """Describe instructions, the events around them, loads and stores.

    :param shown: The first instruction's number, and the last one's.
    :param words: Gives function and source line of an address.
    :param text: Writes an instruction.
    """
    for item in history.walk(*shown):
        if isinstance(item, TracedInstruction):
            passed = history.outcome(item.number)
            yield instruction_object(trace_id, item, words(item.address), text(item), passed)
            owned = [OwnedTransfer(one, item.number, None) for one in history.transfers(item.number)]
        else:
            yield element_object(trace_id, item.offset, item)
            owned = [OwnedTransfer(one, None, item) for one in history.event_transfers(item)]
        for transfer in owned:
            yield element_object(trace_id, transfer.transfer.offset, transfer)
