"""The board's truth: r7, r11, sp and lr from the flow."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from gdb_etm.history.build import build
from gdb_etm.program.image import Program, load_elf
from gdb_etm.recovery.values import CoreState
from gdb_etm.replay.flow import FOLLOWED, Flow
from gdb_etm.traceunit.options import TraceOptions
from tests.firmware.build import elf
from tests.firmware.programs import board_of
from tests.recovery.truth import Run, prepare
from tests.traceunit.live import fixture_boards

__all__ = ["fixture_boards"]

RAM, SIZE = 0x20000000, 0x80000
# EXC_RETURN of Thread mode in Non-secure state.
THREAD_CODE = 0xFFFFFFB8
_SECONDS = 30


def truth_of(path: Path) -> List[Tuple[int, Dict[str, int]]]:
    """Read the addresses of the executed instructions, with the registers before each."""
    found = []
    registers: Dict[str, int] = {}
    for line in path.read_text().splitlines():
        if line.startswith("registers"):
            registers.update((name, int(value, 16)) for name, value in (word.split("=") for word in line.split()[1:]))
        elif line.startswith("0x"):
            found.append((int(line.split()[0], 16), dict(registers)))
    return found


@pytest.mark.parametrize(
    "name, share", [("sort", 90), ("interrupts", 90), ("faults", 90), ("tables", 60), ("tasks", 0)]
)
def test_nothing_is_told_that_was_not_so(name: str, share: int, boards: Any, tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    live = boards(elf(name), etb_size=1 << 15, truth=str(truth), truth_registers=1)
    session = live.trace_session()
    session.start(TraceOptions())
    live.core.resume()
    end = time.monotonic() + _SECONDS
    while live.core.get_state() is not live.core.State.HALTED and time.monotonic() < end:
        time.sleep(0.01)
    registers = {each: live.core.read_core_register(each) for each in (*FOLLOWED, "psp", "control")}
    memory = bytes(live.core.read_memory_block8(RAM, SIZE))

    def read(address: int, size: int) -> Optional[bytes]:
        return memory[address - RAM : address - RAM + size] if RAM <= address <= RAM + SIZE - size else None

    history = next(iter(build(session.drain(name), Program(load_elf(elf(name)))).values()))
    flow = Flow(history, CoreState({}, read), CoreState(registers, read), THREAD_CODE)
    told = truth_of(truth)[-len(history) :]
    known = asked = 0
    for number in random.Random(1).sample(range(1, len(history) + 1), min(500, len(history))):
        address, before = told[number - 1]
        assert history.instruction(number).address == address
        for register, index in FOLLOWED.items():
            value = flow.register(number, index)
            assert value in (None, before[register]), "%s before %d at 0x%x" % (register, number, address)
            asked += register in ("sp", "lr")
            known += register in ("sp", "lr") and value is not None
    assert 100 * known >= share * asked


# Programs with threads, of which several are left at one place.
THREADS = ("kernel-O2", "mainstack-O0", "mainstack-O2", "station-O2", "gateway-flto", "plant-O0")


@pytest.mark.parametrize("program", THREADS)
def test_nor_of_threads(program: str, tmp_path: Path) -> None:
    board = board_of(program) or "m33"
    run = Run(prepare(program, tmp_path, 70001, board), program, board)
    first = run.start(5000)
    history = run.history(first)
    code = THREAD_CODE if board == "m33" else 0xFFFFFFF9
    flow = Flow(history, CoreState({}, lambda address, size: None), run.end(), code)
    known = 0
    for number in range(1, len(history) + 1):
        for register, index in FOLLOWED.items():
            value = flow.register(number, index)
            assert value in (None, run.value(register, first + number - 1)), (number, register)
            known += value is not None
    assert known > 500
