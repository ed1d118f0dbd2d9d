"""Histories of several halts in snapshot folders: property tests, damage, real captures."""

from __future__ import annotations

from pathlib import Path
from typing import List, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.capture import Beginning, BufferEnd, BufferFormat, Core, RawCapture, RecordedPiece, TraceSource, pieces_of
from gdb_etm.protocols.elements import Range
from gdb_etm.session.packet_listing import packets_of
from gdb_etm.session.progress import Meter
from gdb_etm.session.saved import histories_of, streams_of
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from gdb_etm.views.elements import element_rows
from tests.shared import read_capture

_NAMES = st.sampled_from(["r0", "sp", "pc", "xpsr", "msp_ns"])
_STATES = st.dictionaries(_NAMES, st.integers(0, 0xFFFFFFFF))
_TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x3FF, exclude_categories=("C", "Z")), max_size=20)
_PIECES = st.builds(
    RecordedPiece,
    st.integers(0, 40),
    st.sampled_from([BufferEnd.STARTED, BufferEnd.WRAPPED, BufferEnd.UNKNOWN]),
    _STATES,
    _STATES,
    st.booleans(),
    st.booleans(),
    _TEXTS,
    _TEXTS,
    _TEXTS,
    st.booleans(),
)
_PARTS = st.lists(_PIECES, min_size=1, max_size=5).filter(
    lambda pieces: any(one.begin or one.registers for one in pieces)
)


def capture_of(pieces: List[RecordedPiece]) -> RawCapture:
    core = Core("cpu_0", "Cortex-M33", pieces[-1].registers, (), Beginning(pieces[0].begin, ()))
    source = TraceSource("ETM_0", "etmv4", {"TRCTRACEIDR": 0x10}, core, ())
    buffer = bytes(at & 0xFF for at in range(sum(piece.size for piece in pieces)))
    return RawCapture(buffer, BufferFormat.FRAMES, (source,), pieces[0].end, pieces=tuple(pieces))


@given(_PARTS)
@settings(max_examples=60)
def test_what_is_known_of_each_halt_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: List[RecordedPiece]
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    written = capture_of(pieces)
    write_snapshot(written, str(folder))
    (found,) = read_snapshot(str(folder))
    assert found.pieces == written.pieces and found.buffer == written.buffer and not found.notes
    parts = pieces_of(found)
    assert b"".join(part.buffer for part in parts) == written.buffer
    assert [part.end for part in parts] == [piece.end for piece in pieces]


_HALTED = RecordedPiece(16, BufferEnd.STARTED, {"pc": 0x100}, {"pc": 0x200}, True, True, "", "halt in main", "", True)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("size=16", "size=17", "pieces of 33 bytes, in a buffer of 32"),
        ("end=0x200", "end=0x200,0x1", "2 values for 1 registers"),
        ("end=0x200", "end=zero", "'zero' is not a number"),
        ("oldest=started", "oldest=later", "'later' is not known"),
        ("names=PC", "other=PC", "has no key 'names'"),
        ("[piece2]", "[piece3]", "pieces of 16 bytes, in a buffer of 32"),
    ],
)
def test_damage_costs_the_halts_and_not_the_trace(tmp_path: Path, old: str, new: str, said: str) -> None:
    write_snapshot(capture_of([_HALTED, _HALTED]), str(tmp_path))
    file = tmp_path / "pieces.ini"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    root = tmp_path / "snapshot.ini"
    sizes = [line for line in root.read_text("utf-8").splitlines() if not line.startswith("pieces.ini=")]
    root.write_text("\n".join(sizes) + "\n", "utf-8")
    (found,) = read_snapshot(str(tmp_path))
    assert not found.pieces and len(found.buffer) == 32
    assert any(said in note and "as if it was read at one halt" in note for note in found.notes)


@pytest.mark.parametrize("name", ["Snowball", "TC2"])
def test_no_packet_goes_on_behind_a_halt(name: str) -> None:
    """Each piece begins anew, in the middle of a packet too."""
    capture = read_capture(name)
    cuts = [capture.buffer[160:-16], capture.buffer[:-32], capture.buffer[48:]]
    pieces = [_HALTED._replace(size=len(cut), end=BufferEnd.WRAPPED, begin={}, registers={}) for cut in cuts]
    whole = capture._replace(buffer=b"".join(cuts), pieces=tuple(pieces), end=BufferEnd.WRAPPED)
    packets, ranges, begin = [], [], 0
    for part in pieces_of(whole):
        for trace_id, packet in packets_of(streams_of(part, Meter(), None)):
            packets.append((trace_id, packet._replace(offset=begin + packet.offset)))
        ranges += [(begin + offset, *rest) for offset, *rest in ranges_of(part)]
        begin += len(part.buffer)
    assert list(packets_of(streams_of(whole, Meter(), None))) == packets
    assert ranges_of(whole) == ranges and ranges


def ranges_of(capture: RawCapture) -> List[Tuple[object, ...]]:
    found = element_rows(histories_of(capture, Meter(), None))
    return [row for row in found if isinstance(row[2], Range)]
