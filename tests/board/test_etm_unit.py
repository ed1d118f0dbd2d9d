"""The board's truth, and a differential run against OpenCSD: ETMv4."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple, Union

import pytest
from elftools.elf.elffile import ELFFile
from pyocd.core.target import Target

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.encode.encoder import DEBUG_HALT, LOCKUP
from gdb_etm.protocols.etmv4.encode.writer import exception_type
from gdb_etm.snapshot.writer import write_snapshot
from tests.board import hand
from tests.execution import Event, decoded
from tests.lister import ListedRange, list_execution

_REGISTERS = {"TRCCONFIGR": 0x010, "TRCTRACEIDR": 0x040, "TRCIDR8": 0x180}
_REGISTERS.update({"TRCIDR%d" % number: 0x1E0 + 4 * number for number in range(6)})
_REGISTERS.update({"TRCIDR%d" % number: 0x180 + 4 * (number - 8) for number in range(8, 14)})
CORES = {"m33": "Cortex-M33", "m7": "Cortex-M7"}
PROGRAMS = ("sort", "interrupts", "tables", "branches", "fpu", "tasks", "ticks")
PLAIN, STACKED, FULL = 0, hand.RETURN_STACK, hand.RETURN_STACK | hand.TIMESTAMPS | hand.CYCLES


class Run(NamedTuple):
    """A traced run of a program to its end."""

    capture: RawCapture
    wrapped: bool
    truth: List[Event]


def run(program: str, folder: Path, configuration: int = PLAIN, size: int = 1 << 20, **options: Any) -> Run:
    """Run a test program to its end, with trace."""
    return run_with_truth(program, folder, configuration, size, **options)[0]


def run_with_truth(
    program: str,
    folder: Path,
    configuration: int = PLAIN,
    size: int = 1 << 20,
    more: Tuple[Tuple[int, int], ...] = (),
    sync: int = 9,
    board: str = "m33",
    **options: Any,
) -> Tuple[Run, List[str]]:
    """Run a program with trace; return the run and its truth.

    :param more: Register writes.
    :param sync: A synchronisation point every 2 ** sync bytes.
    :param options: The board's.
    """
    elf = str(hand.FIRMWARE / (program + ".elf"))
    truth = folder / "truth"
    with hand.board(board, elf=elf, truth=str(truth), etb_size=size, **options) as session:
        skip = len(hand.read_truth(truth))
        hand.start_trace(session.target, configuration, sync, more)
        hand.run_to_halt(session)
        buffer, wrapped = hand.stop_trace(session.target)
        registers = read_registers(session.target)
        lines = hand.read_truth(truth)[skip + 1 :]
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", CORES[board], {}), tuple(load_elf(elf)))
    end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
    flow = [event(line) for line in lines if line.split()[0] not in ("load", "store")]
    return Run(RawCapture(buffer, BufferFormat.FRAMES, (source,), end), wrapped, flow), lines


def write_for_opencsd(capture: RawCapture, folder: Path) -> None:
    """Write a snapshot for OpenCSD.

    It does not know the name Cortex-M7; any core with the same exceptions does.
    """
    (source,) = capture.sources
    assert source.core is not None
    if source.core.type == CORES["m7"]:
        capture = capture._replace(sources=(source._replace(core=source.core._replace(type="Cortex-M4")),))
    write_snapshot(capture, str(folder))


def read_registers(target: Target) -> Dict[str, int]:
    return {name: target.read32(hand.ETM + offset) for name, offset in _REGISTERS.items()}


def event(line: str) -> Event:
    """Return a line of the truth as the trace should tell it."""
    words = line.split()
    if words[0].startswith("0x"):
        return int(words[0], 16)
    if words[0] == "lockup":
        return ("exception", LOCKUP, int(words[1], 16))
    if words[0] == "halt":
        return ("exception", DEBUG_HALT, int(words[1], 16))
    if words[0] == "exception":
        return ("exception", exception_type(int(words[1])), int(words[3], 16))
    return words[0]


def told(capture: RawCapture) -> List[Event]:
    """Decode; a wrapped buffer begins before its first synchronisation point."""
    return decoded(capture, (GapReason.TRACE_ON, GapReason.NOT_SYNCHRONISED))


def assert_ranges(found: List[Union[ListedRange, Event]], real: List[Event]) -> None:
    """Compare OpenCSD's ranges with instructions."""
    at = 0
    for item in found:
        if isinstance(item, ListedRange):
            part = real[at : at + item.instructions]
            assert part[0] == item.start and part[-1] in (item.end - 2, item.end - 4), (item, part)
            assert all(isinstance(address, int) for address in part)
            at += item.instructions
        else:
            assert real[at] == item
            at += 1
    assert at == len(real)


@pytest.mark.sweep
@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("configuration", [PLAIN, STACKED, FULL], ids=["plain", "stacked", "full"])
def test_executed_is_decoded(program: str, configuration: int, board: str, tmp_path: Path) -> None:
    result = run(program, tmp_path, configuration, board=board)
    assert not result.wrapped
    assert told(result.capture) == result.truth


@pytest.mark.sweep
@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("configuration", [PLAIN, STACKED, FULL], ids=["plain", "stacked", "full"])
def test_opencsd_agrees(program: str, configuration: int, board: str, tmp_path: Path) -> None:
    result = run(program, tmp_path, configuration, board=board)
    write_for_opencsd(result.capture, tmp_path / "snapshot")
    assert_ranges(list_execution(str(tmp_path / "snapshot")), result.truth)


@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_buffer_that_wrapped_holds_the_end(program: str, board: str, tmp_path: Path) -> None:
    result = run(program, tmp_path, FULL | hand.BROADCAST, 512, sync=7, board=board)
    assert result.wrapped and len(result.capture.buffer) == 512
    found = told(result.capture)
    assert len(found) > (100 if board == "m33" else 50)
    assert found == result.truth[-len(found) :]
    write_for_opencsd(result.capture, tmp_path / "snapshot")
    assert_ranges(list_execution(str(tmp_path / "snapshot")), found)


def test_the_buffer_asks_for_synchronisation(tmp_path: Path) -> None:
    """The unit's period is fixed at 1024 bytes; the buffer's is 512."""
    result = run("sort", tmp_path, hand.BROADCAST, 4096)
    assert result.wrapped
    data = bytes(deframe(result.capture.buffer).streams[hand.TRACE_ID].data)
    points = [match.start() for match in re.finditer(bytes(11) + b"\\x80\x01", data)]
    assert len(points) >= 6
    assert all(500 < later - earlier < 700 for earlier, later in zip(points, points[1:]))


def test_an_include_range(tmp_path: Path) -> None:
    symbols = {symbol.name: symbol for symbol in function_symbols("sort")}
    first = symbols["quick_sort"].entry.st_value & ~1
    last = first + symbols["quick_sort"].entry.st_size - 2
    more = ((0x400, first), (0x408, last), (0x480, 0), (0x488, 0), (0x084, 1), (0x088, 0), (0x03C, 0))
    result = run("sort", tmp_path, STACKED, more=more, comparators=1)
    found = [item for item in told(result.capture) if isinstance(item, int)]
    inside = [item for item in result.truth if isinstance(item, int) and first <= item <= last]
    assert [address for address in found if first <= address <= last] == inside
    assert 0 < len(inside) < len(result.truth) / 2
    # Blocks are traced whole, but this function's begin and end in it; what it calls is a gap.
    assert found == inside


def test_an_overflow_is_a_gap(tmp_path: Path) -> None:
    result = run("sort", tmp_path, STACKED, faults="overflow:500")
    (history,) = build(result.capture).values()
    reasons = [item.reason for item in history.events if isinstance(item, Gap)]
    assert reasons.count(GapReason.OVERFLOW) == 1
    found = [item for item in told(result.capture) if not isinstance(item, str)]
    before = next(n for n, (left, right) in enumerate(zip(found, result.truth)) if left != right)
    rest = found[before:]
    assert before > 100 and len(rest) > 100
    assert rest == result.truth[-len(rest) :]


def test_a_lockup(tmp_path: Path) -> None:
    """A bus fault becomes a HardFault, whose handler faults again."""
    # movs r0, #1; lsls r0, r0, #30 (0x40000000 holds nothing); bl next; nop; next: ldr r0, [r0]
    code = struct.pack("<6H", 0x2001, 0x0780, 0xF000, 0xF801, 0xBF00, 0x6800)
    truth = tmp_path / "truth"
    with hand.board(truth=str(truth)) as session:
        target = session.target
        target.write_memory_block8(0x100, code)
        target.write_memory_block32(0, [0x20010000, 0x101, 0x101, 0x101])
        target.reset_and_halt()
        skip = len(hand.read_truth(truth))
        hand.start_trace(target, STACKED)
        target.resume()
        hand.poll(target, 0xE000EDF0, 1 << 19, 1 << 19)
        target.halt()
        buffer, _ = hand.stop_trace(target)
        registers = read_registers(target)
        real = [event(line) for line in hand.read_truth(truth)[skip:] if not line.startswith("resume")]
    image = MemoryImage(0x100, code + bytes(4), "code")
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", "Cortex-M33", {}), (image,))
    capture = RawCapture(buffer, BufferFormat.FRAMES, (source,), BufferEnd.STARTED)
    assert [number for kind, number, _ in filter(is_exception, real)] == [3, LOCKUP, DEBUG_HALT]
    assert told(capture) == real
    write_snapshot(capture, str(tmp_path / "snapshot"))
    assert_ranges(list_execution(str(tmp_path / "snapshot")), real)


def is_exception(item: Event) -> bool:
    return isinstance(item, tuple)


def function_symbols(program: str) -> List[Any]:
    with open(hand.FIRMWARE / (program + ".elf"), "rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        return [symbol for symbol in table.iter_symbols() if symbol.entry.st_info.type == "STT_FUNC"]
