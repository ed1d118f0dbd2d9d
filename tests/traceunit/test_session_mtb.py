"""Real pyOCD on board m0: trace sessions of an MTB."""

from __future__ import annotations

import time
from dataclasses import replace
from struct import unpack
from typing import Any

import pytest
from pyocd.core.target import Target

from gdb_etm.capture import BufferEnd, BufferFormat
from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.traceunit.options import TraceOptions
from tests.firmware.build import elf as t32_elf
from tests.firmware.build import size, symbol
from tests.firmware.cortex_m0.build import elf, elf_m23
from tests.traceunit import live as boards_of

fixture_boards = boards_of.fixture_boards

MTB = 0x41006000
PLACE = BufferPlace(0x20040000, 1024, False)
OPTIONS = TraceOptions(buffer=PLACE)


def test_unit_and_buffer_are_one(boards: Any) -> None:
    session = boards(elf("sort"), "m0").trace_session()
    assert session.path.source is session.path.sink and session.path.source.kind is ComponentKind.MTB
    assert not session.links
    with pytest.raises(UnsupportedError, match="an MTB writes into the program's RAM: where"):
        session.start()


def test_a_run_and_what_is_put_back(boards: Any) -> None:
    live = boards(elf("sort"), "m0")
    places = (MTB, 3), (PLACE.address, PLACE.size // 4)
    for n in range(PLACE.size // 4):
        live.port.write32(PLACE.address + 4 * n, n * 0x01010101)
    before = live.registers(*places)
    session = live.trace_session()
    plan = session.start(OPTIONS)
    assert plan.value("MTB_MASTER") == 0x80 | 6
    live.fill(session)
    capture = session.drain()
    assert capture.format is BufferFormat.RAW and capture.end is BufferEnd.WRAPPED and len(capture.buffer) == 1024
    (source,) = capture.sources
    assert source.registers["MTB_MASTER"] >> 31 and source.registers["VTOR"] == 0
    session.resume()
    assert session.status().unit.enabled and session.status().sink.filled == 0
    session.close()
    assert live.registers(*places) == before


def test_it_goes_on_after_a_reset(boards: Any) -> None:
    live = boards(elf("sort"), "m0")
    session = live.trace_session()
    session.start(OPTIONS)
    live.core.reset_and_halt()
    assert not session.status().unit.enabled
    session.rearm()
    assert session.status().unit.enabled
    live.run_for(0.05)
    assert session.drain().buffer


def test_a_pointer_that_somebody_moved(boards: Any) -> None:
    live = boards(elf("sort"), "m0")
    session = live.trace_session()
    session.start(OPTIONS)
    live.port.write32(MTB, 0x10)
    capture = session.drain()
    assert not capture.buffer and capture.end is BufferEnd.UNKNOWN
    assert "something has moved MTB_POSITION to 0x10" in capture.notes[0]


def test_a_buffer_outside_of_the_ram(boards: Any) -> None:
    session = boards(elf("sort"), "m0").trace_session()
    with pytest.raises(CaptureError, match="is not in the RAM that the MTB reaches: from 0x20000000"):
        session.start(TraceOptions(buffer=BufferPlace(0x30000000, 1024)))
    # The next start begins anew.
    session.start(OPTIONS)
    assert session.status().unit.enabled


@pytest.mark.parametrize("options", [dict(cycle_count=1), dict(timestamps=True), dict(branch_broadcast=True)])
def test_what_it_cannot_trace(boards: Any, options: Any) -> None:
    session = boards(elf("sort"), "m0").trace_session()
    with pytest.raises(UnsupportedError, match="a Micro Trace Buffer traces branches, and all of them"):
        session.start(TraceOptions(buffer=PLACE, **options))


def test_start_and_stop_points(boards: Any) -> None:
    path = elf_m23("nested")
    live = boards(path, "m23")
    session = live.trace_session()
    start, stop = symbol(path, "IRQ2_Handler"), symbol(path, "entered")
    plan = session.start(TraceOptions(buffer=PLACE, start_at=(start,), stop_at=(stop,)))
    assert (plan.value("MTB_TSTART"), plan.value("MTB_TSTOP")) == (2, 1)
    # EN is 0 until the start point runs.
    assert live.port.read32(0xE0043004) & 0x80000060 == 0x60 and session.status().unit.enabled
    live.run_for(0.3)
    capture = session.drain()
    words = unpack("<%dI" % (len(capture.buffer) // 4), capture.buffer)
    packets = list(zip(words[::2], words[1::2]))
    # It starts in the handler, whose first branch is a call of that function.
    firsts = [source & ~1 for source, destination in packets if destination & 1]
    assert len(firsts) > 5 and all(start <= one < start + size(path, "IRQ2_Handler") for one in firsts)
    # Where that begins the trace stops: no branch comes from within.
    branches = [source for source, _ in packets if not source & 1]
    assert not any(stop <= source < stop + size(path, "entered") for source in branches)
    session.close()
    assert not live.port.read32(0xE0043004) & 0x80000060


def test_start_points_that_it_has_not(boards: Any) -> None:
    session = boards(elf("sort"), "m0").trace_session()
    with pytest.raises(UnsupportedError, match="what starts and stops this MTB is the chip maker's own"):
        session.start(TraceOptions(buffer=PLACE, start_at=(0x100,)))
    other = boards(elf_m23("sort"), "m23").trace_session()
    with pytest.raises(UnsupportedError, match="of the DWT's comparators 2 are free, and 3 are needed"):
        other.start(TraceOptions(buffer=PLACE, start_at=(0x100, 0x102), stop_at=(0x104,)))


def _await_halt(live: Any) -> None:
    for _ in range(500):
        if live.core.get_state() is Target.State.HALTED:
            return
        time.sleep(0.01)
    raise AssertionError("it runs on")


def test_the_core_halts_at_the_watermark(boards: Any) -> None:
    # DDI 0486, 3.2.3: AUTOHALT sets MASTER.HALTREQ when the pointer comes to WATERMARK.
    live = boards(elf("sort"), "m0")
    before = live.registers((MTB, 3))
    session = live.trace_session()
    session.start(replace(OPTIONS, halts_when_full=True))
    assert live.port.read32(MTB + 8) == 0x40000 + 896 | 2
    for _ in range(3):
        live.core.resume()
        _await_halt(live)
        assert live.port.read32(MTB + 4) >> 9 & 1 and live.port.read32(0xE000ED30) & 1 << 4
        capture = session.drain()
        # Seven eighths, and nothing of it was overwritten.
        assert len(capture.buffer) == 896 and capture.end is BufferEnd.STARTED
        assert capture.sources[0].registers["MTB_MASTER"] >> 9 & 1
        session.resume()
        assert not live.port.read32(MTB + 4) >> 9 & 1
    session.close()
    assert live.registers((MTB, 3)) == before


def test_it_stops_after_so_many_bytes(boards: Any) -> None:
    live = boards(elf("sort"), "m0")
    before = live.registers((MTB, 3))
    session = live.trace_session()
    session.start(replace(OPTIONS, stop_after=64))
    assert live.port.read32(MTB + 8) == 0x40000 + 64 | 1
    live.run_for(0.05)
    assert not session.status().unit.enabled
    # What a reset has stopped is started again; this is not.
    session.rearm()
    assert not session.status().unit.enabled
    capture = session.drain()
    assert len(capture.buffer) == 64 and not capture.sources[0].registers["MTB_MASTER"] >> 31
    session.resume()
    assert session.status().unit.enabled
    session.close()
    assert live.registers((MTB, 3)) == before


def test_so_many_after_a_start_point(boards: Any) -> None:
    # TSTART is the trigger: the trace is what came after it.
    path = elf_m23("nested")
    live = boards(path, "m23")
    session = live.trace_session()
    start = symbol(path, "IRQ2_Handler")
    session.start(TraceOptions(buffer=PLACE, start_at=(start,), stop_after=48))
    live.run_for(0.3)
    buffer = session.drain().buffer
    (source, destination) = unpack("<II", buffer[:8])
    assert len(buffer) == 48 and destination & 1 and start <= source < start + size(path, "IRQ2_Handler")
    # The next start points start nothing: AUTOSTOP has the last word (DDI 0486, 2.4).
    assert not live.port.read32(0xE0043004) >> 31


@pytest.mark.parametrize("wanted, why", [(1024, "holds at most 1016"), (2048, "holds at most 1016")])
def test_watermarks_that_are_too_far(boards: Any, wanted: int, why: str) -> None:
    session = boards(elf("sort"), "m0").trace_session()
    with pytest.raises(UnsupportedError, match=why):
        session.start(replace(OPTIONS, stop_after=wanted))
    with pytest.raises(UnsupportedError, match="--stop-after is for a Micro Trace Buffer"):
        boards(t32_elf("sort"), "m33").trace_session().start(TraceOptions(stop_after=64))


def test_one_watermark() -> None:
    with pytest.raises(ValueError, match="one watermark"):
        TraceOptions(stop_after=64, halts_when_full=True)
    with pytest.raises(ValueError, match="packets have 8 bytes"):
        TraceOptions(stop_after=20)


def test_what_is_left_for_whoever_restores(boards: Any) -> None:
    """With the debugger killed, these writes put registers and lent RAM back."""
    live = boards(elf("sort"), "m0")
    places = (MTB, 3), (PLACE.address, PLACE.size // 4)
    for n in range(PLACE.size // 4):
        live.port.write32(PLACE.address + 4 * n, n * 0x01010101)
    before = live.registers(*places)
    session = live.trace_session()
    session.start(OPTIONS)
    live.fill(session)
    steps = session.restoration()
    # The MTB is off before its buffer is the program's again.
    assert (steps[0].address, steps[0].value) == (MTB + 4, 0)
    for step in steps:
        step.port.write32(step.address, step.value)
    assert live.registers(*places) == before
    # An array that the program keeps for the trace needs nothing.
    session.start(TraceOptions(buffer=PLACE._replace(is_reserved=True)))
    assert not any(PLACE.address <= step.address for step in session.restoration() if step.address < MTB)
