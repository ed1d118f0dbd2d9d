"""Real captures, repeated: gaps within remembered trace are found."""

from __future__ import annotations

from typing import Iterator, Tuple

import pytest

from gdb_etm.history.build import streams
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Event, Gap, Range
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.histories import same
from tests.shared import capture_folder


def repeated(name: str, trace_id: int) -> ExecutionHistory:
    """Decode a stream ten times in a row."""
    (capture,) = read_snapshot(capture_folder(name))
    (stream,) = [one for one in streams(capture) if one.trace_id == trace_id]
    assert stream.reader is not None
    decoder = stream.reader.decoder(stream.reader.config(stream.source), Program(stream.source.images))
    recorder = decoder.decode(bytes(stream.data) * 10, same)
    assert recorder.table.has_gaps
    return ExecutionHistory(recorder, stream.source, decoder.automaton.blocks, capture.end)


def gaps(history: ExecutionHistory) -> Iterator[Tuple[int, Event]]:
    """Find gaps by going through everything."""
    before = 0
    for _, element in history.elements():
        if isinstance(element, Range):
            before += element.instructions
        elif isinstance(element, Gap):
            yield before, element


@pytest.mark.parametrize("name, trace_id", [("TC2", 0x10), ("TC2", 0x13), ("Snowball", 0x10), ("lpc1769-m3", 2)])
def test_gaps_within_runs(name: str, trace_id: int) -> None:
    history = repeated(name, trace_id)
    found = [(before, event) for before, event in history.interruptions() if isinstance(event, Gap)]
    assert found == list(gaps(history))
    assert len(found) > 100
