"""The board's truth: what ran on a Cortex-M0+ is decoded."""

from __future__ import annotations

import random
from pathlib import Path
from typing import List

import pytest

from gdb_etm.capture import BufferEnd, MemoryImage
from gdb_etm.history.build import build
from gdb_etm.protocols.elements import Exception_, Gap
from tests.board import witness
from tests.firmware.build import PROGRAMS as T32_PROGRAMS
from tests.firmware.build import elf as t32_elf
from tests.firmware.build import symbol
from tests.firmware.cortex_m0.build import FOR_M23, PROGRAMS, elf, elf_m23
from tests.protocols.damage import damaged
from tests.protocols.mtb.boards import BUFFER, EN, FLOW, MASTER, Event, MtbRun, compare, decoded, told
from tests.protocols.possible import Judge

MICROBIT = Path("/usr/share/firmware-microbit-micropython/firmware.hex")
LARGEST, SMALLEST = 65536, 64
DWT, TSTART, TSTOP = 0xE0001000, 0x10, 0x14
# What an nRF51 has (nRF51 Reference Manual, 8 and 9): factory information, of it the sizes of a page and of the flash.
FACTORY, USER, ROM_TABLE = 0x10000000, 0x10001000, 0xF0000000
FACTS = {0x010: 1024, 0x014: 256}
# The board's own device there.
UART = 0x40004000
_AUTOSTOP, _AUTOHALT = 1, 2


@pytest.mark.sweep
@pytest.mark.parametrize("size", [SMALLEST, 1024, LARGEST])
@pytest.mark.parametrize("name", PROGRAMS)
def test_executed_is_decoded(name: str, size: int) -> None:
    run = MtbRun("m0", elf(name), size)
    run.run(16_000)
    assert run.machine.failure is None
    ran = run.result()
    # A packet for each 15 instructions, or more.
    assert compare(ran) >= min(len(run.recorder.addresses), size // 8)
    assert (ran.capture.end is BufferEnd.STARTED) == (size == LARGEST or len(ran.capture.buffer) < size)


@pytest.mark.parametrize("size", [SMALLEST, LARGEST])
@pytest.mark.parametrize("name", T32_PROGRAMS)
def test_executed_is_decoded_on_a_cortex_m33(name: str, size: int) -> None:
    # Wide branches, IT blocks, table branches, and ISB as a packet.
    run = MtbRun("m33,mtb", t32_elf(name), size)
    run.run(16_000)
    assert run.machine.failure is None
    assert compare(run.result()) >= min(len(run.recorder.addresses), size // 8)


@pytest.mark.parametrize("size", [SMALLEST, LARGEST])
@pytest.mark.parametrize("path", [*map(elf_m23, FOR_M23), elf("tasks"), elf("interrupts"), elf("faults")])
def test_executed_is_decoded_on_a_cortex_m23(path: str, size: int) -> None:
    run = MtbRun("m23", path, size)
    run.run(16_000)
    assert run.machine.failure is None
    assert compare(run.result()) >= min(len(run.recorder.addresses), size // 8)


@pytest.mark.parametrize("board, path", [("m23", t32_elf("sort")), ("m0", elf_m23("sort")), ("m0", t32_elf("sort"))])
def test_a_program_of_a_larger_core_faults(board: str, path: str) -> None:
    # The start-up code has no handler that fits it, either.
    run = MtbRun(board, path, LARGEST)
    run.run(50_000)
    assert any(event[:2] == ("exception", 3) for event in run.recorder.events)


def test_there_are_nested_chained_and_early_exceptions() -> None:
    # What the program is there for: else the test above shows little.
    run = MtbRun("m0", elf("nested"), LARGEST)
    run.run(16_000)
    assert run.machine.core.engine.pc - symbol(elf("nested"), "finished") < 4
    taken = [event for event in run.recorder.events if event[0] == "exception"]
    handlers = {symbol(elf("nested"), name + "_Handler") for name in ("IRQ0", "IRQ1", "PendSV", "SVC")}
    assert sum(address == 0xFFFFFFFE for _, _, address in taken) > 20
    assert sum(address in handlers for _, _, address in taken) > 3


@pytest.mark.parametrize("name", ["nested", "tasks", "sort"])
def test_halts_at_any_place(name: str) -> None:
    # Each part begins where the one before ended.
    choose = random.Random(name)
    run = MtbRun("m0", elf(name), 4096)
    for _ in range(60):
        run.machine.run(choose.randrange(1, 120))
        run.machine.write(witness.DHCSR, 4, witness.HALT)
        ran = run.result()
        compare(ran)
        (history,) = build(ran.capture).values()
        last = history.events[len(history.events) - 1]
        assert isinstance(last, Exception_) and last.return_address == run.machine.core.engine.pc & ~1
        run.empty()


def test_single_steps() -> None:
    run = MtbRun("m0", elf("tasks"), SMALLEST)
    for _ in range(250):
        run.machine.write(witness.DHCSR, 4, witness.HALT)
        run.empty()
        run.machine.write(witness.DHCSR, 4, witness.HALT)
        run.machine.write(witness.DHCSR, 4, witness.STEP)
        while not run.machine.core.halted:
            run.machine.run(1)
        compare(run.result())


def test_without_a_known_beginning() -> None:
    run = MtbRun("m0", elf("sort"), LARGEST)
    run.run(3000)
    ran = run.result(begin=False)
    (history,) = build(ran.capture).values()
    found = decoded(history)
    # What came before the first branch is not known.
    assert isinstance(found[0], str) and "TRACE_ON" in found[0]
    assert found[1:] == ran.truth[-len(found[1:]) :]


def test_stopped_at_a_watermark() -> None:
    run = MtbRun("m0", elf("sort"), 4096, BUFFER + 1024 & 0xFFFFF | _AUTOSTOP)
    run.run(16_000)
    ran = run.result()
    assert len(ran.capture.buffer) == 1024 and not run.read(MASTER) & EN
    (history,) = build(ran.capture).values()
    found = decoded(history)
    assert found[:-1] == ran.truth[: len(found) - 1] and "stopped before" in str(found[-1])


def test_halted_at_a_watermark() -> None:
    run = MtbRun("m0", elf("sort"), 4096, BUFFER + 1024 & 0xFFFFF | _AUTOHALT)
    parts: List[Event] = []
    for _ in range(5):
        while not run.machine.core.halted:
            run.machine.run(5000)
        ran = run.result()
        assert len(ran.capture.buffer) == 1024 and compare(ran) > 100
        parts += ran.truth
        run.empty()
    assert parts == [one for one in run.recorder.stream if isinstance(one, int)][: len(parts)]


def test_start_and_stop_by_comparators() -> None:
    # A Cortex-M23: comparator 0 at a function starts the trace, 1 at another stops it (100231, TSTART, TSTOP).
    path = elf_m23("script")
    run = MtbRun("m23", path, LARGEST)
    start, stop = symbol(path, "push"), symbol(path, "heap_allocate")
    run.machine.write(witness.DHCSR, 4, witness.HALT)
    run.machine.write(witness.DEMCR, 4, 1 << 24)
    for number, address in enumerate((start, stop)):
        run.machine.write(DWT + 0x20 + 16 * number, 4, address)
        run.machine.write(DWT + 0x28 + 16 * number, 4, 0x402)
    run.write(TSTART, 1)
    run.write(TSTOP, 2)
    run.write(MASTER, run.read(MASTER) & ~EN | 0x60)
    run.machine.write(witness.DHCSR, 4, witness.RUN)
    run.run(16_000)
    (history,) = build(run.result().capture).values()
    found = decoded(history)
    # Pieces of what ran, and between them gaps; none but the first instructions after a start are missing.
    pieces: List[List[Event]] = [[]]
    for one in found:
        if isinstance(one, str) and "TRACE_ON" in one:
            pieces.append([])
        else:
            assert not isinstance(one, str) or "Gap" not in one
            pieces[-1].append(one)
    truth = told(run.recorder.stream)
    at = 0
    for piece in pieces[1:]:
        at = next(n for n in range(at, len(truth)) if truth[n : n + len(piece)] == piece)
        assert stop not in piece[1:]
        at += len(piece)
    assert len(pieces) > 3 and sum(map(len, pieces)) > 300


def test_a_program_that_stops_the_trace_itself() -> None:
    run = MtbRun("m0", elf("sort"), LARGEST)
    run.machine.run(2000)
    run.write(MASTER, run.read(MASTER) & ~EN)
    run.machine.run(2000)
    run.write(MASTER, run.read(MASTER) | EN)
    run.machine.run(2000)
    run.machine.write(witness.DHCSR, 4, witness.HALT)
    (history,) = build(run.result().capture).values()
    assert [event.reason.name for _, event in history.interruptions() if isinstance(event, Gap)] == ["TRACE_ON"]
    found = decoded(history)
    at = next(n for n, one in enumerate(found) if isinstance(one, str))
    stream = run.recorder.addresses
    assert found[:at] == stream[:at] and found[at + 1 :] == stream[-len(found[at + 1 :]) :]


def test_a_reset_stops_the_trace() -> None:
    run = MtbRun("m0", elf("sort"), LARGEST)
    run.machine.run(2000)
    run.machine.write(0xE000ED0C, 4, 0x05FA0004)
    assert not run.read(MASTER) & EN and run.read(FLOW) == 0
    run.machine.run(2000)
    run.machine.write(witness.DHCSR, 4, witness.HALT)
    (history,) = build(run.result().capture).values()
    found = decoded(history)
    assert found[:-1] == run.recorder.addresses[: len(found) - 1] and "stopped before" in str(found[-1])


@pytest.mark.parametrize("name", ["nested", "faults", "script"])
def test_damage(name: str) -> None:
    run = MtbRun("m0", elf(name), 2048)
    run.run(6_000)
    capture = run.result().capture
    judge = Judge(build(capture)[0].program)
    for seed in range(40):
        buffer = damaged(capture.buffer, random.Random(seed))
        (history,) = build(capture._replace(buffer=buffer)).values()
        assert not judge.impossible(list(history.elements()), [])


class Peripherals:
    """Registers that read 1 until they are written.

    What a program waits for has always happened.
    """

    size = 0x1000

    def __init__(self, base: int) -> None:
        self.base = base
        self._written = dict(FACTS) if base == FACTORY else {}

    def read32(self, offset: int) -> int:
        return int(self._written.get(offset, 1)) or 1

    def write32(self, offset: int, value: int) -> None:
        self._written[offset] = value


def hexadecimal(path: Path) -> List[MemoryImage]:
    """Read an Intel HEX file's memory below 1 MiB."""
    memory, base, end = bytearray(b"\xff" * 0x100000), 0, 0
    for line in path.read_text("ascii").split():
        record = bytes.fromhex(line[1:])
        count, offset, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        if kind in (2, 4):
            base = int.from_bytes(record[4:6], "big") << (16 if kind == 4 else 4)
        elif kind == 0 and base + offset < len(memory):
            memory[base + offset : base + offset + count] = record[4 : 4 + count]
            end = max(end, base + offset + count)
    return [MemoryImage(0, bytes(memory[:end]), path.name)]


@pytest.mark.skipif(not MICROBIT.exists(), reason="Debian's firmware-microbit-micropython is not installed")
@pytest.mark.parametrize("size", [256, 4096, LARGEST])
def test_micropython_of_the_microbit(size: int) -> None:
    # A program that nobody here wrote, for a Cortex-M0; up to where it writes to its flash, which ends in HardFault.
    bases = [FACTORY, USER, ROM_TABLE, 0x50000000, *range(0x40000000, 0x40020000, 0x1000)]
    pages = [Peripherals(base) for base in bases if base != UART]
    run = MtbRun("m0", None, size, images=hexadecimal(MICROBIT), devices=pages)
    run.run(17_000)
    assert compare(run.result()) > size // 8
    assert len(set(run.recorder.addresses)) > 2900
