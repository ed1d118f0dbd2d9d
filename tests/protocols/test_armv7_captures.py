"""Real captures with OpenCSD's result: ETMv3 and PTM units.

Packets have to be the same, byte for byte.  Instructions, unknown addresses, exceptions, returns from them, gaps and
timestamps have to be the same and in the same order, and as many cycles before each of them.  What OpenCSD tells
otherwise is put right first:

- It tells a gap where it begins, whatever the reason of the first I-sync packet is; here a gap tells of the bytes
  before the first A-sync packet, and another one only that the first I-sync packet is not periodic.
- Where code is missing it tells that an address is unknown, and with ETMv3 again of every further P-header; here it is
  told once.
- Of PTM it does not tell the cycles of the first I-sync packet, nor of waypoints without code.
- In Snowball the units' ETMCCER has bit 28 clear: their timestamps are Gray-coded, and as numbers they go back and
  forth (58e963b9fd, 58e963b9d9, 58e963b94d); decoded they grow.  OpenCSD takes them for numbers.
"""

from __future__ import annotations

import gzip
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Union

import pytest

from gdb_etm.history.build import build, streams
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.armv7.fields import from_gray
from gdb_etm.protocols.elements import (
    Cycles,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
    Timestamp,
)
from tests.protocols.etmv4.test_decoder_captures import Fact, Json, expected_elements
from tests.shared import read_capture, shared

CAPTURES = ["TC2", "Snowball", "lpc1769-m3", "trace_cov_a15"]


def histories(name: str) -> Dict[int, ExecutionHistory]:
    return build(read_capture(name))


@pytest.mark.parametrize("name", CAPTURES)
def test_same_packets(name: str) -> None:
    expected: Dict[int, List[bytes]] = {}
    path = shared("captures", "expected", name + ".packets.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            _, trace_id, text, told = line.split("\t")
            if not told.startswith("NOTSYNC"):
                raw = bytes(int(byte, 16) for byte in text.strip("[] ;").split())
                expected.setdefault(int(trace_id, 16), []).append(raw)
    for stream in streams(read_capture(name)):
        assert stream.reader is not None
        config = stream.reader.config(stream.source)
        found = list(stream.reader.packets(config, stream.data, stream.offset_of))
        raws = [packet.raw for packet in found if packet.name != "not synchronised"]
        # OpenCSD says 0 of a buffer that is not formatted.
        assert raws == expected.pop(stream.trace_id if stream.trace_id in expected else 0)
        assert not [packet for packet in found if packet.name == "reserved"]
    assert not expected


def instructions(addresses: List[int], isa: str, taken: bool) -> Iterator[Fact]:
    """List a range's instructions; the last one has the range's outcome."""
    for address in addresses:
        yield "ran", hex(address), isa, taken or address != addresses[-1]


def ours(history: ExecutionHistory) -> Iterator[Fact]:
    """Give what OpenCSD tells too."""
    for _, element in history.elements():
        if isinstance(element, Range):
            yield from instructions(history.addresses(element), element.isa.name, element.taken)
        else:
            fact = event_fact(element)
            if fact is not None:
                yield fact


def event_fact(element: Union[Range, Event]) -> Optional[Fact]:
    if isinstance(element, Exception_):
        address = None if element.return_address is None else hex(element.return_address)
        return "exception", element.number, address
    if isinstance(element, ExceptionReturn):
        return ("exception_return",)
    if isinstance(element, Timestamp):
        return "timestamp", element.value
    if isinstance(element, Cycles):
        return "cycles", element.cycles
    if isinstance(element, Gap) and element.reason is GapReason.NO_CODE:
        return "unknown_address", hex(element.address or 0)
    if isinstance(element, Gap) and element.reason is not GapReason.NOT_SYNCHRONISED:
        return "gap", element.reason.name
    return None


def theirs(elements: List[Json], history: ExecutionHistory, gray: bool, before: Sequence[str]) -> Iterator[Fact]:
    """Give the same of OpenCSD's elements.

    :param gray: Whether timestamps are Gray-coded.
    :param before: Before which kinds of elements their cycles stand; after the others.
    """
    # Where tracing began with the first I-sync packet, that is a gap here too.
    begun = {offset for offset, event in history.elements() if event_fact(event) == ("gap", "TRACE_ON")}
    started = next((element["index"] for element in elements if element["kind"] == "gap"), None) in begun
    for element in elements:
        cycles = [("cycles", element["cycles"])] if element.get("cycles") else []
        if element["kind"] in before:
            yield from cycles
        if element["kind"] == "gap" and not started:
            started = True
        else:
            yield from element_facts(element, history, gray)
        if element["kind"] not in before:
            yield from cycles


def element_facts(element: Json, history: ExecutionHistory, gray: bool) -> Iterator[Fact]:
    kind = element["kind"]
    if kind == "range":
        isa = Isa[element["isa"]]
        executed = Range(int(element["start"], 16), int(element["end"], 16), 0, isa, element["taken"])
        yield from instructions(history.addresses(executed), isa.name, element["taken"])
    elif kind == "gap":
        yield "gap", "TRACE_ON"
    elif kind == "timestamp":
        value = int(element["value"], 16)
        yield kind, from_gray(value) if gray else value
    elif kind == "exception":
        yield kind, element["number"], element["return_address"]
    elif kind == "exception_return":
        yield (kind,)
    elif kind == "unknown_address":
        yield kind, element["address"]


def is_cycles(fact: Fact) -> bool:
    return fact[0] == "cycles"


def counted(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Drop counts after unknown addresses and at exception returns."""
    skipped = True
    for fact in facts:
        skipped = fact[0] == "unknown_address" or skipped and is_cycles(fact)
        if fact[0] != "exception_return" and not (skipped and is_cycles(fact)):
            yield fact


@pytest.mark.parametrize("name", CAPTURES)
def test_same_execution(name: str) -> None:
    expected = expected_elements(name)
    for trace_id, history in histories(name).items():
        told = theirs(expected[trace_id], history, name == "Snowball", ())
        assert [fact for fact in ours(history) if not is_cycles(fact)] == [fact for fact in told if not is_cycles(fact)]


@pytest.mark.parametrize("name, trace_id", [("TC2", 0x13), ("Snowball", 0x10), ("Snowball", 0x11)])
def test_ptm_counts_the_cycles_of_what_came_before(name: str, trace_id: int) -> None:
    history = histories(name)[trace_id]
    told = theirs(expected_elements(name)[trace_id], history, name == "Snowball", ("timestamp",))
    assert list(counted(ours(history))) == list(counted(told))


@pytest.mark.parametrize("trace_id", [0x10, 0x11, 0x12])
def test_etmv3_counts_cycles_before_instructions(trace_id: int) -> None:
    history = histories("TC2")[trace_id]
    told = theirs(expected_elements("TC2")[trace_id], history, False, ("range", "cycles", "context"))
    assert cycles_before(ours(history)) == cycles_before(told)


def cycles_before(facts: Iterable[Fact]) -> List[int]:
    """Give the cycles between each instruction and the one before it."""
    found: List[int] = []
    total = 0
    for fact in facts:
        if is_cycles(fact):
            assert isinstance(fact[1], int)
            total += fact[1]
        elif fact[0] == "ran":
            found.append(total)
            total = 0
    return found


@pytest.mark.parametrize("name", ["TC2", "Snowball"])
def test_time_goes_on(name: str) -> None:
    for history in histories(name).values():
        times = [element.value for _, element in history.elements() if isinstance(element, Timestamp)]
        assert len(times) > 1 and times == sorted(times)
