"""Property test, some by hand: written snapshots are read back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Dict, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.capture import Beginning, BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot

_NAMES = st.text("abcXYZ019_-. /\u00e9", min_size=1, max_size=12).filter(lambda text: text == text.strip())
_ETMV4_REGISTERS = st.dictionaries(
    st.sampled_from(["TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR12", "TRCACVR3", "TRCNOSUCHR"]),
    st.integers(0, 2**64 - 1),
)
_MARKS = st.dictionaries(
    st.integers(0, 3), st.text("ab0 %;#=,()[]\"'<\u00e9", max_size=12).filter(lambda text: text == text.strip())
)
_CORE_REGISTERS = st.dictionaries(st.sampled_from(["pc", "sp", "xpsr", "q0"]), st.integers(0, 2**128 - 1))
# Apart from each other, because overlapping images are cut (below); far up, to reach 64-bit addresses.
_IMAGES = st.dictionaries(st.integers(0, 2**44 - 1), st.binary(min_size=1, max_size=40), max_size=3)


@st.composite
def captures(draw: st.DrawFn) -> RawCapture:
    """Any capture that a snapshot can hold."""
    names = iter(draw(st.lists(_NAMES, min_size=8, max_size=8, unique=True)))
    cores: Dict[int, Tuple[Core, Tuple[MemoryImage, ...]]] = {}
    sources = []
    for _ in range(draw(st.integers(0, 4))):
        protocol = draw(st.sampled_from(["etmv4", "etmv3", "ptm", "stm", "itm"]))
        registers = draw(_ETMV4_REGISTERS) if protocol == "etmv4" else {}
        which = draw(st.integers(0, 3))
        if which and which not in cores:
            images = tuple(MemoryImage(page << 20, data, "") for page, data in draw(_IMAGES).items())
            begun = [MemoryImage(page << 20, data, "") for page, data in draw(_IMAGES).items()]
            state = draw(_CORE_REGISTERS)
            begin = Beginning(state, tuple(begun)) if state and draw(st.booleans()) else None
            cores[which] = (Core(next(names), "Cortex-M33", draw(_CORE_REGISTERS), (), begin), images)
        core, images = cores[which] if which else (None, ())
        marks = tuple(draw(_MARKS).items())
        sources.append(TraceSource(next(names), protocol, registers, core, images, marks))
    return RawCapture(
        draw(st.binary(max_size=64)),
        draw(st.sampled_from(list(BufferFormat))),
        tuple(sources),
        draw(st.sampled_from(list(BufferEnd))),
        is_whole=draw(st.booleans()),
        is_untouched=draw(st.booleans()),
    )


def comparable(capture: RawCapture) -> RawCapture:
    """Leave out what says where a capture lies."""
    return capture._replace(sources=tuple(map(_bare, capture.sources)), name="")


def _bare(source: TraceSource) -> TraceSource:
    core = source.core
    if core is not None:
        core = core._replace(memory=_nameless(core.memory))
    if core is not None and core.begin is not None:
        core = core._replace(begin=core.begin._replace(memory=_nameless(core.begin.memory)))
    return source._replace(core=core, images=_nameless(source.images))


def _nameless(images: Tuple[MemoryImage, ...]) -> Tuple[MemoryImage, ...]:
    return tuple(image._replace(name="") for image in images)


@given(captures())
def test_round_trip(capture: RawCapture) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_snapshot(capture, folder)
        (again,) = read_snapshot(folder)
        assert comparable(again) == comparable(capture)
        assert read_snapshot(folder + "/snapshot.ini") == [again]


def one_source(**changes: object) -> RawCapture:
    """Make a capture of one source, with fields of the source changed."""
    source = TraceSource("ETM_0", "etmv4", {}, Core("cpu_0", "Cortex-M33", {}), ())
    return RawCapture(b"", BufferFormat.FRAMES, (source._replace(**changes),), BufferEnd.WRAPPED)


def test_overlapping_images_are_cut_so_that_the_earlier_wins(tmp_path: Path) -> None:
    images = (MemoryImage(0x10, b"elf!", "elf"), MemoryImage(0x0E, b"01234567", "ram"), MemoryImage(0x11, b"xx", "in"))
    write_snapshot(one_source(images=images), str(tmp_path))
    (capture,) = read_snapshot(str(tmp_path))
    read = [(image.address, image.data) for image in capture.sources[0].images]
    assert read == [(0x10, b"elf!"), (0x0E, b"01"), (0x14, b"67")]


def test_types_carry_the_version_of_the_id_register(tmp_path: Path) -> None:
    # ETMIDR of an ETM-M3 (ETMv3.5) and of a Cortex-A9's PTM (PFTv1.0), as TC2 and Snowball have them.
    for protocol, value, expected in (("etmv3", 0x410CF250, "ETM3.5"), ("ptm", 0x411CF301, "PTM1.0")):
        folder = tmp_path / protocol
        write_snapshot(one_source(protocol=protocol, registers={"ETMIDR": value}), str(folder))
        assert "type=%s\n" % expected in (folder / "source_0.ini").read_text()


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"name": "a=b"}, "'a=b' cannot be a name in a snapshot"),
        ({"name": ""}, "'' cannot be a name in a snapshot"),
        ({"name": "cpu_0"}, "'cpu_0' names both a core and a trace source"),
        ({"core": None, "images": (MemoryImage(0, b"1", ""),)}, "trace source 'ETM_0' has memory but no core"),
        ({"core": Core("c\n", "Cortex-M33", {})}, "cannot be a name in a snapshot"),
    ],
)
def test_what_cannot_be_said_is_refused(changes: Dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError) as caught:
        write_snapshot(one_source(**changes), str(tmp_path / "new"))
    assert message in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_sources_that_disagree_are_refused(tmp_path: Path) -> None:
    first = one_source().sources[0]
    second = first._replace(name="ITM_0", images=(MemoryImage(0, b"1", ""),))
    with pytest.raises(SnapshotError, match="two trace sources disagree about core 'cpu_0'"):
        write_snapshot(one_source()._replace(sources=(first, second)), str(tmp_path))
    with pytest.raises(SnapshotError, match="two trace sources of name 'ETM_0'"):
        write_snapshot(one_source()._replace(sources=(first, first)), str(tmp_path))


def test_words_of_events_send_nothing_to_a_terminal(tmp_path: Path) -> None:
    write_snapshot(one_source(marks=((1, "exec \x1b[2J\u009bmain\n"),)), str(tmp_path))
    (capture,) = read_snapshot(str(tmp_path))
    assert capture.sources[0].marks == ((1, "exec ?[2J?main?"),)


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_in_the_way_is_named(replace: bool, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    os.mkfifo(tmp_path / "fifo")
    for name in ("out", "fifo", "out/inner"):
        with pytest.raises(SnapshotError, match="(out|fifo): File exists"):
            write_snapshot(one_source(), str(tmp_path / name), replace)


def test_memory_that_the_program_changed_is_marked_and_wins() -> None:
    core = Core("cpu_0", "Cortex-M33", {"pc": 0x100}, (MemoryImage(0x20000010, b"now!", ""),))
    code = MemoryImage(0x100, b"\x00\xbf", ""), MemoryImage(0x20000000, bytes(range(32)), "")
    source = TraceSource("ETM_0", "etmv4", {}, core, code)
    with tempfile.TemporaryDirectory() as folder:
        write_snapshot(RawCapture(b"", BufferFormat.FRAMES, (source,), BufferEnd.STARTED), folder)
        (again,) = read_snapshot(folder)
        write_snapshot(again, folder, replace=True)
        assert comparable(read_snapshot(folder)[0]) == comparable(again)
    (found,) = comparable(again).sources
    assert found.core is not None
    assert [(image.address, image.data) for image in found.core.memory] == [(0x20000010, b"now!")]
    assert {image.address: image.data for image in found.images} == {
        0x20000010: b"now!",
        0x100: b"\x00\xbf",
        0x20000000: bytes(range(16)),
        0x20000014: bytes(range(20, 32)),
    }
