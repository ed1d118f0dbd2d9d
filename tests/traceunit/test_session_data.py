"""Real pyOCD on the Cortex-M7: data trace in a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from gdb_etm.traceunit.options import DataTrace, TraceOptions
from tests.firmware.build import elf

from .live import fixture_boards

A_SYNC = bytes(11) + b"\x80"

__all__ = ["fixture_boards"]


def test_both_streams_are_captured_and_kept(boards: Any, tmp_path: Path) -> None:
    live = boards(elf("sort"), "m7", etb_size=1 << 20)
    session = live.trace_session()
    assert session.unit.title == "ETMv4.0" and "data" in session.unit.abilities
    plan = session.start(TraceOptions(data=DataTrace.BOTH))
    assert plan.value("TRCCONFIGR") == 0x31807
    live.run_for(0.1)
    capture = session.drain("first")
    (source,) = capture.sources
    config = Etmv4Config.from_source(source)
    assert (config.trace_id, config.data_trace_id, config.max_speculation) == (0x10, 0x11, 8)
    assert (config.p0_keys, config.p1_keys) == (32, 32)
    streams = deframe(capture.buffer).streams
    assert sorted(streams) == [0x10, 0x11]
    assert all(bytes(stream.data).startswith(A_SYNC) for stream in streams.values())
    program = tuple(load_elf(elf("sort")))
    capture = capture._replace(sources=(source._replace(images=program),))
    write_snapshot(capture, str(tmp_path))
    (kept,) = read_snapshot(str(tmp_path))
    (again,) = build(kept).values()
    (history,) = build(capture).values()
    told = [history.transfers(number) for number in range(1, len(history) + 1)]
    assert sum(map(len, told)) > 1000
    assert told == [again.transfers(number) for number in range(1, len(history) + 1)]
