"""The board's truth, and a differential run against OpenCSD: PTM."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import pytest

from gdb_etm.board.cortex_a_board import CORE_DEBUG, ETB, PTM
from gdb_etm.board.trace_enable import ACVR1, TECR1, TSSCR
from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.history.store import TracedInstruction
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.elements import Context, Cycles, Gap, GapReason, Timestamp
from gdb_etm.protocols.ptm.encode.encoder import DEBUG_HALT
from gdb_etm.snapshot.writer import write_snapshot
from tests.board import hand_a9
from tests.board.hand import KEY, LAR
from tests.board.hand_a9 import BROADCAST, CONTEXT_ID, CYCLES, RETURN_STACK, TIMESTAMPS
from tests.board.test_etm_unit import assert_ranges
from tests.execution import Event, decoded
from tests.firmware.build import size, symbol
from tests.firmware.cortex_a.build import PROGRAMS, elf
from tests.lister import list_execution

_REGISTERS = {"ETMCR": 0x000, "ETMIDR": 0x1E4, "ETMCCER": 0x1E8, "ETMTRACEIDR": 0x200}
ACTR1 = 0x080
CONFIGURATIONS = {
    "plain": 0,
    "cycles": CYCLES,
    "stack": RETURN_STACK,
    "broadcast": BROADCAST,
    "all": CYCLES | RETURN_STACK | TIMESTAMPS | CONTEXT_ID,
    "times": BROADCAST | TIMESTAMPS | CONTEXT_ID,
}


class Run(NamedTuple):
    """A traced run of a program to its end."""

    capture: RawCapture
    wrapped: bool
    truth: List[Event]


def run(
    program: str,
    folder: Path,
    control: int = 0,
    size: int = 1 << 20,
    sync: int = 0x400,
    more: Tuple[Tuple[int, int], ...] = (),
    **options: Any,
) -> Run:
    """Run a test program to its end with the trace unit on."""
    truth = folder / "truth"
    with hand_a9.board(elf=elf(program), truth=str(truth), etb_size=size, **options) as script:
        script.start_trace(control, sync, more)
        registers: Dict[str, int] = {name: script.read(PTM + offset) for name, offset in _REGISTERS.items()}
        script.run_to_halt()
        buffer, wrapped = script.stop_trace(control)
        lines = hand_a9.read_truth(truth)
    return Run(captured(program, registers, buffer, wrapped), wrapped, [event(line) for line in lines if known(line)])


def captured(program: str, registers: Dict[str, int], buffer: bytes, wrapped: bool) -> RawCapture:
    """Make a capture of what was read from the board."""
    source = TraceSource("PTM_0", "ptm", registers, Core("cpu_0", "Cortex-A9", {}), tuple(load_elf(elf(program))))
    return RawCapture(buffer, BufferFormat.FRAMES, (source,), BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED)


def known(line: str) -> bool:
    """Check whether the trace contains a line of the truth.

    PFTv1.0 has no exception returns.
    """
    return line.split()[0] not in ("exception-return", "resume")


def event(line: str) -> Event:
    """Return a line of the truth as the trace should tell it."""
    words = line.split()
    if words[0] == "halt":
        return ("exception", DEBUG_HALT, int(words[1], 16))
    if words[0] == "exception":
        return ("exception", int(words[1]), int(words[3], 16))
    return int(words[0], 16)


def told(capture: RawCapture) -> List[Event]:
    """Decode; a wrapped buffer begins before its first synchronisation point."""
    return decoded(capture, (GapReason.TRACE_ON, GapReason.NOT_SYNCHRONISED))


# OpenCSD takes a branch packet that tells a security state, and no exception, for an exception, and passes over what
# ran before it; type 0 is no exception (IHI 0035B, 4.5.4).
TOLD_ALIKE = [program for program in PROGRAMS if program != "worlds"]


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_executed_is_decoded(program: str, configuration: str, tmp_path: Path) -> None:
    result = run(program, tmp_path, CONFIGURATIONS[configuration])
    assert not result.wrapped
    assert told(result.capture) == result.truth
    if program in TOLD_ALIKE:
        write_snapshot(result.capture, str(tmp_path / "snapshot"))
        assert_ranges(list_execution(str(tmp_path / "snapshot")), result.truth)


@pytest.mark.parametrize("program", ["sort-a32", "sort-t32", "tables-a32", "tables-t32", "branches-t32", "modes"])
@pytest.mark.parametrize("configuration", ["all", "times"])
def test_a_buffer_that_wrapped_holds_the_end(program: str, configuration: str, tmp_path: Path) -> None:
    result = run(program, tmp_path, CONFIGURATIONS[configuration] | BROADCAST, 512, 0x80)
    assert result.wrapped and len(result.capture.buffer) == 512
    found = told(result.capture)
    assert len(found) > 100
    assert found == result.truth[-len(found) :]
    write_snapshot(result.capture, str(tmp_path / "snapshot"))
    assert_ranges(list_execution(str(tmp_path / "snapshot")), found)


def test_the_program_runs_to_its_end(tmp_path: Path) -> None:
    for program in PROGRAMS:
        assert run(program, tmp_path).truth[-1] == ("exception", DEBUG_HALT, symbol(elf(program), "finished"))


def test_both_security_states_are_told(tmp_path: Path) -> None:
    contexts = [item for item in events(run("worlds", tmp_path).capture) if isinstance(item, Context)]
    assert [item.non_secure for item in contexts] == [False, True] * 2 + [False]


def test_context_ids_are_told(tmp_path: Path) -> None:
    contexts = [item for item in events(run("modes", tmp_path, CONTEXT_ID).capture) if isinstance(item, Context)]
    assert [item.context_id for item in contexts] == [0, 0x1234, 0x56789ABC]


@pytest.mark.parametrize("program", ["modes", "steps-t32"])
def test_every_cycle_is_counted(program: str, tmp_path: Path) -> None:
    """A cycle is an instruction; the last count is the halt's."""
    result = run(program, tmp_path, CONFIGURATIONS["all"])
    counts = [item.cycles or 0 for item in events(result.capture) if isinstance(item, Cycles)]
    assert sum(counts) == sum(isinstance(item, int) for item in result.truth)


def test_timestamps_are_in_their_places(tmp_path: Path) -> None:
    """A tick is an instruction on this board."""
    (history,) = build(run("modes", tmp_path, TIMESTAMPS, sync=0x80).capture).values()
    ran = stamps = 0
    for item in history.walk(1, len(history)):
        if isinstance(item, Timestamp):
            assert item.value == ran
            stamps += 1
        ran += isinstance(item, TracedInstruction)
    assert stamps > 20


def test_the_return_stack_leaves_addresses_out(tmp_path: Path) -> None:
    plain = run("steps-a32", tmp_path)
    stacked = run("steps-a32", tmp_path, RETURN_STACK)
    assert told(stacked.capture) == told(plain.capture)
    assert stream_length(stacked.capture) < stream_length(plain.capture)


def test_the_unit_synchronises_as_often_as_it_is_told(tmp_path: Path) -> None:
    result = run("sort-a32", tmp_path, BROADCAST, sync=0x200)
    data = bytes(deframe(result.capture.buffer).streams[hand_a9.TRACE_ID].data)
    points = [match.start() for match in re.finditer(bytes(5) + b"\x80\x08", data)]
    assert len(points) > 6
    assert all(0x200 <= later - earlier < 0x220 for earlier, later in zip(points, points[1:]))


def inside(program: str, *names: str) -> List[Tuple[int, int]]:
    """Return each function's first address and its end."""
    return [(symbol(elf(program), name), symbol(elf(program), name) + size(elf(program), name)) for name in names]


@pytest.mark.parametrize("excludes", [False, True])
def test_an_address_range(excludes: bool, tmp_path: Path) -> None:
    ((first, past),) = inside("sort-t32", "quick_sort")
    more = ((TECR1, excludes << 24 | 2), (ACVR1 + 8, first), (ACVR1 + 12, past), (ACTR1 + 8, 1), (ACTR1 + 12, 1))
    result = run("sort-t32", tmp_path, more=more)
    found = [item for item in told(result.capture) if isinstance(item, int)]
    wanted = [item for item in result.truth if isinstance(item, int) and excludes != (first <= item < past)]
    # From where it was left or begun to the next waypoint there is more in the trace.
    assert 0 < len(wanted) < len(result.truth)
    at = iter(found)
    assert all(address in at for address in wanted)
    assert len(found) < len(wanted) * 1.5


def test_start_and_stop_addresses(tmp_path: Path) -> None:
    first, last = symbol(elf("modes"), "ask"), symbol(elf("modes"), "load_nothing")
    more = ((TECR1, 3 << 24), (TSSCR, 2 << 16 | 1), (ACVR1, first), (ACVR1 + 4, last), (ACTR1, 1), (ACTR1 + 4, 1))
    result = run("modes", tmp_path, more=more)
    found = [item for item in told(result.capture) if isinstance(item, int)]
    begin = result.truth.index(first)
    # The load that follows the stop address takes an exception, where the trace ends.
    end = result.truth.index(last)
    assert found == [item for item in result.truth[begin : end + 2] if isinstance(item, int)]


def test_an_overflow_is_a_gap(tmp_path: Path) -> None:
    result = run("sort-t32", tmp_path, faults="overflow:500")
    gaps = [item.reason for item in events(result.capture) if isinstance(item, Gap)]
    assert gaps.count(GapReason.OVERFLOW) == 1
    found = told(result.capture)
    found.remove(next(item for item in found if isinstance(item, str)))
    before = next(n for n, (left, right) in enumerate(zip(found, result.truth)) if left != right)
    rest = found[before:]
    assert before > 100 and len(rest) > 100
    assert rest == result.truth[-len(rest) :]


def test_a_script_halts_the_core_and_lets_it_run(tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    with hand_a9.board(elf=elf("sort-a32"), truth=str(truth), etb_size=1 << 20) as script:
        script.write(CORE_DEBUG + LAR, KEY)
        script.start_trace(BROADCAST)
        # A halt is traced if what comes before it is.
        while not script.read(ETB + hand_a9.RWP):
            pass
        script.write(CORE_DEBUG + hand_a9.DRCR, 1)
        script.run_to_halt()
        where = hand_a9.read_truth(truth)[-1]
        script.write(CORE_DEBUG + hand_a9.DRCR, 2)
        script.run_to_halt()
        buffer, _ = script.stop_trace(BROADCAST)
        registers = {name: script.read(PTM + offset) for name, offset in _REGISTERS.items()}
        lines = hand_a9.read_truth(truth)
    result = Run(captured("sort-a32", registers, buffer, False), False, [event(line) for line in lines if known(line)])
    assert where.startswith("halt") and lines.count(where.replace("halt", "resume")) == 1
    assert told(result.capture) == result.truth
    write_snapshot(result.capture, str(tmp_path / "snapshot"))
    assert_ranges(list_execution(str(tmp_path / "snapshot")), result.truth)


def test_the_core_runs_by_itself(tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    with hand_a9.board(elf=elf("sort-a32"), truth=str(truth), hold=False) as script:
        script.run_to_halt()
        assert len(hand_a9.read_truth(truth)) > 1000


def test_a_locked_unit_takes_no_writes() -> None:
    with hand_a9.board() as script:
        script.write(PTM + hand_a9.TRACEIDR, 0x22)
        assert script.read(PTM + hand_a9.TRACEIDR) == 0
        script.write(PTM + LAR, KEY)
        # ETMCR.PowerDown is set after a reset: the others take no writes.
        script.write(PTM + hand_a9.TRACEIDR, 0x22)
        assert script.read(PTM + hand_a9.TRACEIDR) == 0
        script.write(PTM + hand_a9.CR, 1 << 10)
        script.write(PTM + hand_a9.TRACEIDR, 0x22)
        assert script.read(PTM + hand_a9.TRACEIDR) == 0x22


def events(capture: RawCapture) -> Sequence[object]:
    """Return the events of the one core's history."""
    (history,) = build(capture).values()
    return history.events


def stream_length(capture: RawCapture) -> int:
    """Return how many bytes the trace unit wrote."""
    return len(deframe(capture.buffer).streams[hand_a9.TRACE_ID].data)
