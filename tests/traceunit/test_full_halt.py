"""Real pyOCD on the board: a full buffer that halts the core."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Tuple

import pytest
from pyocd.core.target import Target

from gdb_etm.capture import BufferEnd
from gdb_etm.traceunit.full_halt import FullHalt, FullHaltState
from gdb_etm.traceunit.session import TraceSession
from tests.firmware.build import elf
from tests.traceunit.live import Live, fixture_boards

__all__ = ["fixture_boards"]
CORE, BUFFERS = 0xE0046000, 0xE0048000
CONTROL, INEN, OUTEN, TRIGOUT, GATE, LAR = 0x000, 0x020, 0x0A0, 0x134, 0x140, 0xFB0
KEY = 0xC5ACCE55
# CTICONTROL, CTIINEN and CTIOUTEN, CTIGATE.
BLOCKS: Tuple[Tuple[int, int], ...] = tuple(
    (base + offset, words)
    for base in (CORE, BUFFERS)
    for offset, words in ((CONTROL, 1), (INEN, 8), (OUTEN, 8), (GATE, 1))
)


def begun(live: Live) -> Tuple[TraceSession, FullHalt]:
    """Trace endlessly, with a buffer that tells when it is full."""
    trace = live.trace_session()
    full = trace.full_halt
    assert full is not None
    live.run_endless_calls()
    trace.start()
    full.begin()
    trace.resume()
    return trace, full


def runs_until_halted(live: Live) -> None:
    live.core.resume()
    end = time.monotonic() + 20
    while live.core.get_state() != Target.State.HALTED:
        assert time.monotonic() < end, "nothing halts it"
        time.sleep(0.01)


def found(live: Live) -> Tuple[TraceSession, FullHalt]:
    """Do the same, with the trial."""
    trace, full = begun(live)
    live.run_for(0.02)
    trace.drain()
    assert full.state is FullHaltState.FOUND
    trace.resume()
    return trace, full


def proven(live: Live) -> Tuple[TraceSession, FullHalt]:
    trace, full = found(live)
    runs_until_halted(live)
    trace.drain()
    full.judge(True)
    assert full.halts
    trace.resume()
    return trace, full


def test_the_trial_finds_the_input_and_connects_nothing(boards: Any) -> None:
    live = boards(elf("rounds"))
    trace, full = begun(live)
    before = live.registers(*BLOCKS)
    live.run_for(0.02)
    assert live.registers(*BLOCKS) == before and not any(before[base] for base in (CORE, BUFFERS))
    trace.drain()
    assert full.route is not None and full.state is FullHaltState.FOUND
    assert (full.route.interface.component.address, full.route.number) == (BUFFERS, 2)
    trace.close()


@pytest.mark.parametrize("size", ["4096", "512"])
def test_each_piece_fills_most_of_the_buffer_and_loses_nothing(boards: Any, size: str) -> None:
    live = boards(elf("rounds"), **{"etb_size": size})
    trace, full = proven(live)
    lengths: List[int] = []
    for _ in range(4):
        runs_until_halted(live)
        capture = trace.drain()
        assert full.has_halted and capture.end is BufferEnd.STARTED
        lengths.append(len(capture.buffer))
        trace.resume()
    reserve = max(min(256, int(size) // 2), int(size) // 8)
    assert all(int(size) - reserve <= length < int(size) for length in lengths), lengths
    trace.close()


def test_ctrl_c_while_the_trial_is_read_loses_nothing(boards: Any) -> None:
    """What had been read was there before the trace."""
    live = boards(elf("rounds"), **{"etb_size": "65536"})
    trace, full = begun(live)
    live.run_for(0.02)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            trace.drain("first", interrupt)
    capture = trace.drain()
    assert capture.end is BufferEnd.STARTED and 0 < len(capture.buffer) < 65536 - 2 * 4096
    assert full.state is FullHaltState.FOUND
    trace.close()


def test_what_was_there_is_left_alone_and_put_back(boards: Any) -> None:
    live = boards(elf("rounds"))
    # Others have joined channel 3 of the buffer's, which is on, and channel 2 of the core's, which is not.
    words = ((BUFFERS + LAR, KEY), (BUFFERS + INEN + 12, 8), (BUFFERS + CONTROL, 1), (BUFFERS + GATE, 8))
    for address, value in (*words, (CORE + OUTEN, 4), (CORE + INEN, 4), (BUFFERS + LAR, 0)):
        live.port.write32(address, value)
    before = live.registers(*BLOCKS)
    trace, full = proven(live)
    now = live.registers(*BLOCKS)
    assert full.channel == 1 and now[BUFFERS + INEN + 12] == 8 and now[BUFFERS + GATE] == 0xA
    # What was off must not come alive.
    assert (now[CORE + OUTEN], now[CORE + INEN]) == (2, 0)
    runs_until_halted(live)
    trace.stop()
    steps: Dict[int, int] = {step.address: step.value for step in trace.restoration()}
    assert all(steps.get(address, value) == value for address, value in before.items())
    trace.close()
    assert live.registers(*BLOCKS) == before and live.port.read32(BUFFERS + 0xFB4) == 3
    assert live.port.read32(CORE + TRIGOUT) == 0
    # The core runs on, and nothing halts it.
    live.core.resume()
    time.sleep(0.1)
    assert live.core.get_state() == Target.State.RUNNING


def test_a_way_that_halts_nothing_is_given_up(boards: Any) -> None:
    live = boards(elf("rounds"))
    trace, full = found(live)
    runs_until_halted(live)
    trace.drain()
    full.judge(False)
    assert full.state is FullHaltState.ABSENT and not full.full_after(4096)
    assert not live.port.read32(CORE + CONTROL) and not live.port.read32(BUFFERS + CONTROL)
    trace.close()


def test_all_channels_in_use(boards: Any) -> None:
    live = boards(elf("rounds"))
    for address, value in ((BUFFERS + LAR, KEY), (BUFFERS + INEN, 0xF), (BUFFERS + CONTROL, 1)):
        live.port.write32(address, value)
    trace, full = begun(live)
    live.run_for(0.02)
    trace.drain()
    trace.resume()
    assert full.state is FullHaltState.ABSENT and full.channel is None
    assert live.port.read32(BUFFERS + INEN) == 0xF
    trace.close()


def test_a_reserve_that_is_too_small_grows_and_is_given_up(boards: Any) -> None:
    full = boards(elf("rounds")).trace_session().full_halt
    full.state = FullHaltState.PROVEN
    full.begin()
    assert full.full_after(4096) == 4096 - 512
    full.widen(4096)
    assert full.full_after(4096) == 4096 - 1024
    full.widen(4096)
    full.widen(4096)
    assert full.state is FullHaltState.ABSENT
