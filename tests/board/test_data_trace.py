"""The board's truth: every load and store of a Cortex-M7."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, List, Sequence, Tuple

import pytest

from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.protocols import elements
from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.listing import list_data_packets
from tests.board import hand
from tests.board.test_etm_unit import Run, event, function_symbols, run_with_truth
from tests.board.transfers import Moved, Step, told
from tests.execution import EXCEPTION_RETURN, Event

PROGRAMS = ("sort", "interrupts", "tables", "branches", "fpu", "tasks", "ticks", "transfers")
INSTRUCTIONS = hand.LOADS | hand.STORES | hand.TIMESTAMPS
BOTH = INSTRUCTIONS | hand.ADDRESSES | hand.VALUES
FULL = BOTH | hand.RETURN_STACK | hand.CYCLES


def truth_of(lines: Sequence[str]) -> List[Step]:
    """Return the truth's steps."""
    steps: List[Tuple[Event, List[Moved]]] = []
    for line in lines:
        words = line.split()
        if words[0] in ("load", "store"):
            steps[-1][1].append(Moved(words[0] == "store", int(words[1], 16), int(words[2]), int(words[3], 16)))
        else:
            steps.append((event(line), []))
    return [(what, tuple(moved)) for what, moved in steps]


def assert_same(found: Sequence[Step], real: Sequence[Step]) -> None:
    """Compare the owners and all their transfers."""
    assert [what for what, _ in found] == [what for what, _ in real]
    for at, (ours, truth) in enumerate(zip(found, real)):
        assert ours == truth, at


def run(program: str, folder: Path, configuration: int, size: int = 1 << 20, **options: Any) -> Tuple[Run, List[Step]]:
    """Trace a program with its transfers; return the run and its truth."""
    result, lines = run_with_truth(program, folder, configuration, size, board="m7", truth_data=True, **options)
    return result, truth_of(lines)


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("configuration", [BOTH, FULL], ids=["both", "full"])
def test_every_transfer_is_the_truths(program: str, configuration: int, tmp_path: Path) -> None:
    result, truth = run(program, tmp_path, configuration)
    assert not result.wrapped
    assert sum(len(transfers) for _, transfers in truth) > 100
    assert_same(told(result.capture), truth)


@pytest.mark.parametrize("speculation", [0, 1, 40])
def test_speculation_of_another_depth(speculation: int, tmp_path: Path) -> None:
    result, truth = run("transfers", tmp_path, FULL, speculation=speculation)
    assert_same(told(result.capture), truth)


@pytest.mark.parametrize("program", ["sort", "interrupts", "ticks", "transfers"])
def test_a_buffer_that_wrapped_holds_the_end(program: str, tmp_path: Path) -> None:
    result, truth = run(program, tmp_path, BOTH, 4096)
    assert result.wrapped
    found = told(result.capture, (GapReason.TRACE_ON, GapReason.NOT_SYNCHRONISED))
    assert len(found) > 300
    # Transfers before the first marker cannot be put anywhere.
    first = next(at for at, (_, transfers) in enumerate(found) if transfers)
    assert first < len(found) / 4
    assert [what for what, _ in found[:first]] == [what for what, _ in truth[-len(found) :][:first]]
    assert_same(found[first + 1 :], truth[first + 1 - len(found) :])


PARTS = [
    (hand.ADDRESSES, lambda each: each._replace(value=None)),
    (hand.VALUES, lambda each: each._replace(address=None)),
]


@pytest.mark.parametrize("data, known", PARTS, ids=["addresses", "values"])
def test_addresses_or_values_alone(data: int, known: Callable[[Moved], Moved], tmp_path: Path) -> None:
    result, truth = run("interrupts", tmp_path, INSTRUCTIONS | data)
    assert_same(told(result.capture), [(what, tuple(map(known, transfers))) for what, transfers in truth])


def test_loads_alone(tmp_path: Path) -> None:
    """Pushes of exceptions are traced, as they are P0 elements."""
    result, truth = run("interrupts", tmp_path, BOTH & ~hand.STORES)
    wanted = [
        (what, tuple(each for each in transfers if not each.store) if isinstance(what, int) else transfers)
        for what, transfers in truth
    ]
    assert_same(told(result.capture), wanted)


def test_an_overflow_of_the_data_stream_alone(tmp_path: Path) -> None:
    result, truth = run("sort", tmp_path, BOTH, faults="data-overflow:3000")
    found = told(result.capture, (GapReason.TRACE_ON, GapReason.OVERFLOW))
    assert [what for what, _ in found] == [what for what, _ in truth]
    wrong = [at for at, (ours, real) in enumerate(zip(found, truth)) if ours != real and at < len(truth) - 200]
    # What is missing is missing in one place, and nothing is put where it does not belong.
    assert wrong and wrong[-1] - wrong[0] < 200
    for at in wrong:
        real = {each._replace(value=None) for each in truth[at][1]}
        assert all(each in truth[at][1] or each in real for each in found[at][1])


def test_an_overflow_of_the_instruction_stream(tmp_path: Path) -> None:
    result, truth = run("sort", tmp_path, BOTH, faults="overflow:3000")
    found = [step for step in told(result.capture) if not isinstance(step[0], str) or step[0] == EXCEPTION_RETURN]
    before = next(n for n, (left, right) in enumerate(zip(found, truth)) if left != right)
    after = len(found) - before - 100
    assert before > 300 and after > 10000
    assert_same(found[-after:], truth[-after:])


def test_without_the_filter_event_there_is_no_data(tmp_path: Path) -> None:
    result, truth = run("tables", tmp_path, BOTH, more=((0x0A0, 0x1000),))
    absent, *found = told(result.capture)
    assert "GapReason.ABSENT" in str(absent) and found == [(what, ()) for what, _ in truth]


def test_exceptions_without_their_transfers(tmp_path: Path) -> None:
    result, truth = run("interrupts", tmp_path, BOTH, more=((0x0A0, 0x0001),))
    assert_same(told(result.capture), [(what, transfers if isinstance(what, int) else ()) for what, transfers in truth])


# Registers of comparators and ViewData (IHI 0064, 7.3), all 0 but what a filter needs.
_UNUSED = {offset: 0 for offset in (0x084, 0x088, 0x0A4, 0x0A8, *range(0x400, 0x600, 4))}
_UNUSED.update({offset: 0 for offset in (*range(0x100, 0x180, 4), *range(0x208, 0x2E0, 4))})
_EITHER, _STORES = 3, 2


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["sort", "tasks"])
@pytest.mark.parametrize(
    "kind, control, wanted",
    [
        (_EITHER, 1 << 3, lambda inside, store: inside),
        (_EITHER, 1 << 19, lambda inside, store: not inside),
        (_STORES, 1 << 3, lambda inside, store: inside and store),
    ],
    ids=["include", "exclude", "stores"],
)
def test_data_addresses_that_are_traced(
    program: str, kind: int, control: int, wanted: Callable[[bool, bool], bool], tmp_path: Path
) -> None:
    """4.1.4: TRCVDARCCTLR with a range of data addresses."""
    _, truth = run(program, tmp_path, BOTH)
    addresses = sorted(each.address or 0 for _, transfers in truth for each in transfers)
    first, last = addresses[len(addresses) // 4], addresses[len(addresses) * 3 // 4]
    writes = {**_UNUSED, 0x430: first, 0x438: last, 0x4B0: kind, 0x4B8: kind, 0x0A8: control}
    result, truth = run(program, tmp_path, BOTH, more=tuple(writes.items()), resources="full")

    def is_traced(each: Moved) -> bool:
        assert each.address is not None and each.size is not None
        return wanted(each.address <= last and first < each.address + each.size, bool(each.store))

    expected = [(what, tuple(filter(is_traced, transfers))) for what, transfers in truth]
    count = sum(len(transfers) for _, transfers in expected)
    assert 0 < count < len(addresses)
    assert_same(only_traced(told(result.capture)), expected)


def test_instructions_whose_data_is_traced(tmp_path: Path) -> None:
    """4.1.4: instruction addresses in TRCVDARCCTLR; all instructions are traced."""
    _, truth = run("sort", tmp_path, BOTH)
    movers = sorted({what for what, transfers in truth if isinstance(what, int) and transfers})
    first, last = movers[len(movers) // 3], movers[len(movers) * 2 // 3]
    writes = {**_UNUSED, 0x430: first, 0x438: last, 0x0A8: 1 << 3}
    result, truth = run("sort", tmp_path, BOTH, more=tuple(writes.items()), resources="full")
    expected = [
        (what, transfers if not isinstance(what, int) or first <= what <= last else ()) for what, transfers in truth
    ]
    assert_same(only_traced(told(result.capture)), expected)


def only_traced(steps: Sequence[Step]) -> List[Step]:
    """Leave out transfers of which nothing was traced."""
    return [(what, tuple(each for each in moved if each.value is not None)) for what, moved in steps]


def test_events_in_both_streams(tmp_path: Path) -> None:
    """7.3.28: DATAEN puts event 0 into the data stream too."""
    (entry,) = [each.entry.st_value & ~1 for each in function_symbols("sort") if each.name == "quick_sort"]
    filters = {**_UNUSED, 0x400: entry, 0x208: 0x00040001, 0x020: 2, 0x024: 0x11}
    result, truth = run("sort", tmp_path, BOTH, more=tuple(filters.items()), resources="full")
    assert_same(told(result.capture), truth)
    calls = sum(what == entry for what, _ in truth)
    (history,) = build(result.capture).values()
    assert sum(isinstance(item, elements.TraceEvent) for item in history.events) == calls > 3
    data = bytes(deframe(result.capture.buffer).streams[hand.TRACE_ID + 1].data)
    config = Etmv4Config.from_source(result.capture.sources[0])
    packets = list_data_packets(config, data, lambda position: position)
    assert sum(packet.name == "Event" for packet in packets) == calls
