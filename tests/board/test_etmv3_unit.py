"""The board's truth, and a differential run against OpenCSD: ETMv3."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Sequence

import pytest

from gdb_etm.capture import RawCapture
from gdb_etm.history.build import build
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import Cycles, Gap, GapReason, Range, TraceEvent
from gdb_etm.protocols.etmv3.encode.encoder import NO_EXECUTION, exception_type
from gdb_etm.snapshot.writer import write_snapshot
from tests.board import hand_m4
from tests.board.hand_m4 import Traced, trace
from tests.execution import Event, decoded
from tests.firmware.build import symbol
from tests.firmware.cortex_m4.build import elf
from tests.lister import ListedRange, list_execution

PROGRAMS = ("sort", "interrupts", "tables", "branches", "fpu", "tasks", "ticks", "faults")
PLAIN, BRANCHES, TIMED = 0, hand_m4.BRANCHES, hand_m4.TIMESTAMPS
CONFIGURATIONS = pytest.mark.parametrize("control", [PLAIN, BRANCHES, TIMED], ids=["plain", "branches", "timed"])


def truth(lines: Sequence[str]) -> List[Event]:
    """Return the truth without halts and lockup."""
    found: List[Event] = []
    for line in lines:
        words = line.split()
        if words[0].startswith("0x"):
            found.append(int(words[0], 16))
        elif words[0] == "exception":
            address = int(words[3], 16)
            known = None if address == NO_EXECUTION else address
            found.append(("exception", exception_type(int(words[1])), known))
        elif words[0] == "exception-return":
            found.append(words[0])
    return found


def told(capture: RawCapture) -> List[Event]:
    """Decode; a wrapped buffer begins before its first synchronisation point."""
    return decoded(capture, (GapReason.TRACE_ON, GapReason.NOT_SYNCHRONISED))


def failed(capture: RawCapture) -> List[int]:
    """Return the addresses of instructions whose condition failed in the trace."""
    (history,) = build(capture).values()
    blocks = Blocks(Program(capture.sources[0].images))
    found: List[int] = []
    for _, element in history.elements():
        if isinstance(element, Range) and not element.taken:
            last = blocks.addresses(element.start, element.end, element.isa)[-1]
            insn = blocks.instruction(last, element.isa)
            assert insn is not None
            found += [last] if insn.kind is InstructionKind.OTHER else []
    return found


def listed(capture: RawCapture, folder: Path) -> List[Event]:
    """Return what OpenCSD tells; it does not say where exceptions return to."""
    write_snapshot(capture, str(folder))
    found: List[Event] = []
    for item in list_execution(str(folder)):
        if isinstance(item, ListedRange):
            assert item.instructions == 1
            found.append(item.start)
        else:
            found.append(item)
    return found


def untold(events: Sequence[Event]) -> List[Event]:
    return [(each[0], each[1], None) if isinstance(each, tuple) else each for each in events]


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
@CONFIGURATIONS
def test_executed_is_decoded(program: str, control: int, tmp_path: Path) -> None:
    result = trace(program, tmp_path, control)
    assert not result.wrapped
    assert told(result.capture) == truth(result.lines)


@pytest.mark.parametrize("program", ["branches", "interrupts", "ticks"])
def test_failed_conditions_are_told(program: str, tmp_path: Path) -> None:
    result = trace(program, tmp_path)
    blocks = Blocks(Program(result.capture.sources[0].images))
    real = [int(line.split()[0], 16) for line in result.lines if line.endswith("failed")]
    found = [blocks.instruction(address, Isa.T32) for address in real]
    expected = [
        address for address, insn in zip(real, found) if insn is not None and insn.kind is InstructionKind.OTHER
    ]
    assert failed(result.capture) == expected
    assert len(expected) > 5


# Where OpenCSD does not take cancelled instructions back, see tests/protocols/etmv3/test_encoder_walks.py.
@pytest.mark.parametrize("program", ["sort", "tables", "branches", "fpu", "tasks"])
@CONFIGURATIONS
def test_opencsd_agrees(program: str, control: int, tmp_path: Path) -> None:
    result = trace(program, tmp_path, control)
    assert listed(result.capture, tmp_path / "snapshot") == untold(truth(result.lines))


@pytest.mark.parametrize("program", ["sort", "ticks"])
@pytest.mark.parametrize("control", [PLAIN, BRANCHES | TIMED], ids=["plain", "full"])
def test_a_buffer_that_wrapped_holds_the_end(program: str, control: int, tmp_path: Path) -> None:
    result = trace(program, tmp_path, control, 2048)
    assert result.wrapped and len(result.capture.buffer) == 2048
    found = told(result.capture)
    assert len(found) > 500
    assert found == truth(result.lines)[-len(found) :]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_small_buffer_that_wrapped_holds_the_end(program: str, tmp_path: Path) -> None:
    """The fuller unit synchronises as often as one wants."""
    control = BRANCHES | TIMED | hand_m4.CYCLES
    result = trace(program, tmp_path, control, 512, sync=0x80, data_trace=True)
    assert result.wrapped and len(result.capture.buffer) == 512
    found = told(result.capture)
    assert len(found) > 50
    assert found == truth(result.lines)[-len(found) :]
    if program in ("sort", "tables", "tasks"):
        assert listed(result.capture, tmp_path / "snapshot") == untold(found)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_cycle_is_counted(program: str, tmp_path: Path) -> None:
    result = trace(program, tmp_path, hand_m4.CYCLES, data_trace=True)
    assert told(result.capture) == truth(result.lines)
    (history,) = build(result.capture).values()
    counts = [event.cycles for _, event in history.elements() if isinstance(event, Cycles)]
    # The first count is of the time before, which nobody knows.
    assert counts[0] is None
    blocks = Blocks(Program(result.capture.sources[0].images))
    steps = [line.split() for line in result.lines]
    expected = 0
    for step, following in zip(steps, steps[1:]):
        if step[0].startswith("0x") and len(step) == 1:
            expected += _cost(blocks, int(step[0], 16), following)
    # Cancelled instructions took time as well.
    assert expected <= sum(count or 0 for count in counts[1:]) <= expected * 1.1
    if program in ("sort", "tables", "fpu"):
        assert sum(count or 0 for count in counts[1:]) == expected
        assert listed(result.capture, tmp_path / "snapshot") == untold(truth(result.lines))


def _cost(blocks: Blocks, address: int, following: Sequence[str]) -> int:
    # As the board has it: a branch that is taken 3 cycles, one that is not none, others one for each halfword.
    insn = blocks.instruction(address, Isa.T32)
    assert insn is not None
    after = address + insn.size
    if insn.kind not in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
        return insn.size // 2
    passed_by = (
        insn.kind is InstructionKind.DIRECT
        and insn.target != after
        and "0x%08x" % after in (following[0], following[-1])
    )
    return 0 if passed_by else 3


def test_what_the_dwt_matches(tmp_path: Path) -> None:
    """A unit without comparators traces while the DWT's match (IHI 0014Q, 3.5)."""
    path = elf("sort")
    first = symbol(path, "run")
    block = first & ~0x3F
    # Comparator 1 matches 64 bytes; FUNCTION 8 tells the trace unit of instructions.
    watch = ((0x030, block), (0x034, 6), (0x038, 8))
    result = trace("sort", tmp_path, watch=watch, more=((hand_m4.TEEVR, 0x21),))
    assert told(result.capture) == [
        each for each in truth(result.lines) if isinstance(each, int) and block <= each < block + 64
    ]
    # Function 1 of the event: unless it matches.
    result = trace("sort", tmp_path, watch=watch, more=((hand_m4.TEEVR, 0x4021),))
    assert told(result.capture) == [
        each for each in truth(result.lines) if isinstance(each, int) and not block <= each < block + 64
    ]


def test_start_and_stop_at_what_the_dwt_matches(tmp_path: Path) -> None:
    start, stop = symbol(elf("sort"), "run"), symbol(elf("sort"), "finished")
    watch = ((0x020, start), (0x024, 0), (0x028, 8), (0x050, stop), (0x054, 0), (0x058, 8))
    more = ((hand_m4.TECR1, 1 << 25), (hand_m4.TESSEICR, 1 | 8 << 16))
    result = trace("sort", tmp_path, watch=watch, more=more)
    real = truth(result.lines)
    assert told(result.capture) == real[real.index(start) :]
    # The core halted at the stop address, so the block is still on.
    assert result.status & 4


def test_ranges_and_single_addresses_of_the_fuller_unit(tmp_path: Path) -> None:
    path = elf("sort")
    first = symbol(path, "run")
    pair: Sequence[Any] = ((hand_m4.ACVR1, first), (hand_m4.ACVR1 + 4, first + 32))
    types = ((hand_m4.ACTR1, 1), (hand_m4.ACTR1 + 4, 1))
    more = (*pair, *types, (hand_m4.TECR1, 1))
    result = trace("sort", tmp_path, more=more, data_trace=True)
    inside = [each for each in truth(result.lines) if isinstance(each, int) and first <= each < first + 32]
    assert told(result.capture) == inside
    result = trace("sort", tmp_path, more=(*pair, *types, (hand_m4.TECR1, 0), (hand_m4.TECR2, 1)), data_trace=True)
    assert told(result.capture) == [each for each in inside if each == first]


def test_the_trigger_is_told_once(tmp_path: Path) -> None:
    watched = symbol(elf("sort"), "run")
    watch = ((0x020, watched), (0x024, 0), (0x028, 8))
    result = trace("sort", tmp_path, watch=watch, more=((hand_m4.TRIGGER, 0x20),))
    (history,) = build(result.capture).values()
    assert [event.number for _, event in history.elements() if isinstance(event, TraceEvent)] == [0]
    assert result.status & 8
    assert told(result.capture) == truth(result.lines)


def gaps(result: Traced) -> List[GapReason]:
    (history,) = build(result.capture).values()
    return [element.reason for _, element in history.elements() if isinstance(element, Gap)]


def test_an_overflow(tmp_path: Path) -> None:
    result = trace("sort", tmp_path, faults="overflow:1000")
    assert gaps(result) == [GapReason.TRACE_ON, GapReason.OVERFLOW]
    found = decoded(result.capture, (GapReason.TRACE_ON, GapReason.OVERFLOW))
    real = truth(result.lines)
    before = next(n for n, (left, right) in enumerate(zip(found, real)) if left != right)
    after = len(found) - before
    assert before > 1000 and after > 10000
    assert found[-after:] == real[-after:]


def test_a_processor_that_stalls_overflows_nothing(tmp_path: Path) -> None:
    result = trace("sort", tmp_path, hand_m4.STALL, faults="overflow:1000")
    assert told(result.capture) == truth(result.lines)
