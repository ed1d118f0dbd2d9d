"""Real pyOCD on board m0: trace sessions of an MTB."""

from __future__ import annotations

from struct import unpack
from typing import Any

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat
from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.traceunit.options import TraceOptions
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
