"""The board's truth: loads and stores, traced by a fuller ETMv3."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from gdb_etm.board.t32 import decode
from gdb_etm.capture import BufferFormat
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import DataGap, GapReason
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.handlers import DATA_KINDS
from gdb_etm.protocols.etmv3.listing import list_packets
from gdb_etm.protocols.etmv3.packets import Kind
from tests.board import hand_m4
from tests.board.hand_m4 import Traced, trace
from tests.board.test_etmv3_unit import listed, truth, untold
from tests.board.transfers import Moved, Step, told

PROGRAMS = ("sort", "interrupts", "tables", "branches", "fpu", "tasks", "ticks", "transfers", "faults")
BOTH = hand_m4.ADDRESSES | hand_m4.VALUES
FULL = BOTH | hand_m4.CYCLES | hand_m4.TIMESTAMPS | hand_m4.BRANCHES

# OpenCSD takes the marker of an exception's stores for an exception of its own.
_DATA_PACKETS = {kind.value for kind in (*DATA_KINDS, Kind.EXCEPTION_ENTRY)}


def truth_of(result: Traced) -> List[Step]:
    """Return the truth's steps.

    Only its transfer shows that an exclusive store took place.
    """
    program = Program(result.capture.sources[0].images)
    events: List[List[str]] = []
    moved: List[List[Moved]] = []
    for line in result.lines:
        words = line.split()
        if words[0] in ("load", "store"):
            moved[-1].append(Moved(words[0] == "store", int(words[1], 16), int(words[2]), int(words[3], 16)))
        else:
            events.append([line])
            moved.append([])
    steps: List[Step] = []
    for lines, transfers in zip(events, moved):
        for event in truth(lines):
            if isinstance(event, int) and decode(program.read(event, 4), 0).is_store_exclusive():
                transfers = transfers[:-1]
            steps.append((event, tuple(transfers)))
    return steps


def run(program: str, folder: Path, control: int, size: int = 1 << 20, **options: Any) -> Tuple[Traced, List[Step]]:
    """Trace a program with its transfers; return the run and its truth."""
    result = trace(program, folder, control, size, data_trace=True, truth_data=True, **options)
    return result, truth_of(result)


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("control", [BOTH, FULL], ids=["both", "full"])
def test_every_transfer_is_the_truths(program: str, control: int, tmp_path: Path) -> None:
    result, real = run(program, tmp_path, control)
    assert not result.wrapped
    assert sum(len(transfers) for _, transfers in real) > 100
    assert told(result.capture) == real


PARTS = [
    (hand_m4.ADDRESSES, lambda each: each._replace(value=None)),
    (hand_m4.VALUES, lambda each: each._replace(address=None)),
]


@pytest.mark.parametrize("control, known", PARTS, ids=["addresses", "values"])
@pytest.mark.parametrize("program", ["interrupts", "transfers"])
def test_addresses_or_values_alone(program: str, control: int, known: Callable[[Moved], Moved], tmp_path: Path) -> None:
    result, real = run(program, tmp_path, control)
    assert told(result.capture) == [(what, tuple(map(known, transfers))) for what, transfers in real]


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["sort", "interrupts", "transfers"])
def test_a_buffer_that_wrapped_holds_the_end(program: str, tmp_path: Path) -> None:
    result, real = run(program, tmp_path, BOTH, 2048, sync=0x100)
    assert result.wrapped
    found = told(result.capture, (GapReason.TRACE_ON, GapReason.NOT_SYNCHRONISED, GapReason.UNPLACED))
    assert len(found) > 100
    # What a late value belongs to may be before the first address; of the first instruction all may be before it.
    first = next(at for at, (_, transfers) in enumerate(found) if transfers)
    assert first < 20
    assert [what for what, _ in found] == [what for what, _ in real[-len(found) :]]
    assert found[first + 1 :] == real[first + 1 - len(found) :]


def test_an_address_range_of_the_data(tmp_path: Path) -> None:
    """The filter may pass one word of a list, not those after."""
    stack = 0x2007FF00
    more = ((hand_m4.ACVR1 + 8, stack), (hand_m4.ACVR1 + 12, 0x20080000), (hand_m4.ACTR1 + 8, 4))
    more += ((hand_m4.ACTR1 + 12, 4), (hand_m4.VDCR3, 2))
    result, real = run("interrupts", tmp_path, BOTH, more=more)

    def inside(each: Moved) -> bool:
        return each.address is not None and stack <= each.address < 0x20080000

    assert told(result.capture) == [(what, tuple(filter(inside, transfers))) for what, transfers in real]
    assert any(transfers for _, transfers in told(result.capture))


def test_stores_to_one_word(tmp_path: Path) -> None:
    result, real = run("transfers", tmp_path, BOTH)
    counts: Dict[Optional[int], int] = {}
    for _, transfers in real:
        for each in transfers:
            counts[each.address] = counts.get(each.address, 0) + bool(each.store)
    address = max(counts, key=lambda each: counts[each]) or 0
    more = ((hand_m4.ACVR1, address), (hand_m4.ACTR1, 6), (hand_m4.VDCR1, 1), (hand_m4.VDCR3, 0))
    result, real = run("transfers", tmp_path, BOTH, more=more)

    def touches(each: Moved) -> bool:
        begin, size = each.address or 0, each.size or 0
        return bool(each.store) and begin <= address < begin + size

    assert told(result.capture) == [(what, tuple(filter(touches, transfers))) for what, transfers in real]


def test_data_that_is_suppressed(tmp_path: Path) -> None:
    result, real = run("sort", tmp_path, BOTH | hand_m4.SUPPRESS, faults="data-overflow:3000")
    (history,) = build(result.capture).values()
    reasons = {element.reason for _, element in history.elements() if isinstance(element, DataGap)}
    assert GapReason.SUPPRESSED in reasons and reasons <= {GapReason.SUPPRESSED, GapReason.UNPLACED}
    found = told(result.capture, (GapReason.TRACE_ON, GapReason.SUPPRESSED, GapReason.UNPLACED))
    assert [what for what, _ in found] == [what for what, _ in real]
    wrong = [at for at, (ours, theirs) in enumerate(zip(found, real)) if ours != theirs]
    # What is missing is missing in one place, and nothing is put where it does not belong.
    assert wrong and wrong[-1] - wrong[0] < 200
    for at in wrong:
        known = {each._replace(value=None) for each in real[at][1]}
        assert all(each in real[at][1] or each in known for each in found[at][1])


def test_an_overflow_with_data(tmp_path: Path) -> None:
    result, real = run("sort", tmp_path, BOTH, faults="overflow:3000")
    found = told(result.capture, (GapReason.TRACE_ON, GapReason.OVERFLOW, GapReason.UNPLACED))
    before = next(n for n, (left, right) in enumerate(zip(found, real)) if left != right)
    after = len(found) - before - 1
    assert before > 300 and after > 10000
    assert found[-after:] == real[-after:]


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["sort", "tables", "tasks", "transfers"])
def test_opencsd_agrees_on_the_instruction_side(program: str, tmp_path: Path) -> None:
    """OpenCSD gets the stream without data packets."""
    result, real = run(program, tmp_path, FULL)
    (source,) = result.capture.sources
    data = bytes(deframe(result.capture.buffer).streams[hand_m4.TRACE_ID].data)
    packets = list_packets(Etmv3Config.from_source(source), data, lambda position: position)
    rest = b"".join(packet.raw for packet in packets if packet.name not in _DATA_PACKETS)
    assert 0 < len(rest) < len(data)
    registers = {**source.registers, "ETMCR": source.registers["ETMCR"] & ~BOTH}
    capture = result.capture._replace(
        buffer=rest, format=BufferFormat.RAW, sources=(source._replace(registers=registers),)
    )
    assert listed(capture, tmp_path / "snapshot") == untold([what for what, _ in real])
