"""Vectors worked by hand: malicious snapshots, and other folders."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import List

import pytest

from gdb_etm.capture import MemoryImage, disjoint
from gdb_etm.errors import SnapshotError
from gdb_etm.files import RegularFile
from gdb_etm.snapshot import folder
from gdb_etm.snapshot.reader import read_snapshot
from tests.snapshot.test_bad_input import GOOD, folder_with


def refusal(path: str) -> str:
    """Return the line that a snapshot is refused with."""
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """Return the names of files read from now on."""
    names: List[str] = []
    real = folder.open_regular

    def spy(path: str, most: int) -> RegularFile:
        names.append(os.path.basename(path))
        return real(path, most)

    monkeypatch.setattr(folder, "open_regular", spy)
    return names


@pytest.mark.parametrize("name", GOOD)
def test_links_out_of_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "snap").mkdir()
    path = folder_with(tmp_path / "snap")
    (tmp_path / "snap" / name).rename(tmp_path / name)
    for target in (str(tmp_path / name), "../" + name, "nowhere/../../" + name, "/nowhere"):
        (tmp_path / "snap" / name).symlink_to(target)
        assert refusal(path).endswith("%r leads out of the snapshot folder" % name)
        (tmp_path / "snap" / name).unlink()


def test_linked_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "snap").mkdir()
    path = folder_with(tmp_path / "snap", "cpu_0.ini", '"code.bin"', "inner/code.bin")
    (tmp_path / "code.bin").write_text("abcdefgh")
    (tmp_path / "snap" / "inner").symlink_to("..")
    assert refusal(path).endswith("cpu_0.ini:10: 'inner/code.bin' leads out of the snapshot folder")


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    """As is one to the folder itself, which is the user's own."""
    (tmp_path / "snap").mkdir()
    folder_with(tmp_path / "snap")
    (tmp_path / "snap" / "code.bin").rename(tmp_path / "snap" / "real.bin")
    (tmp_path / "snap" / "code.bin").symlink_to("real.bin")
    (tmp_path / "link").symlink_to("snap")
    (capture,) = read_snapshot(str(tmp_path / "link"))
    assert capture.sources[0].images[0].data == b"cdef"


@pytest.mark.parametrize("name", GOOD)
def test_no_file_is_waited_for(name: str, tmp_path: Path) -> None:
    path = folder_with(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert refusal(path).endswith("it is a FIFO, not a file")


def test_twenty_thousand_dumps_are_refused_unread(tmp_path: Path, opened: List[str]) -> None:
    dumps = "".join("[dump%d]\nfile=code.bin\naddress=%d\n" % (one, one) for one in range(20000))
    path = folder_with(tmp_path, "cpu_0.ini", "[dump.text]", dumps + "[dump.text]")
    assert "cpu_0.ini:24579: more than 8192 sections" in refusal(path)
    assert opened == ["snapshot.ini", "cpu_0.ini"]


def test_the_dumps_of_all_devices_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = "".join("[dump%d]\nfile=code.bin\naddress=%d\n" % (one, one) for one in range(5))
    path = folder_with(tmp_path, "cpu_0.ini", "[dump.text]", dumps + "[dump.text]")
    monkeypatch.setattr(folder, "MAX_DUMPS", 7)
    (capture,) = read_snapshot(path)
    assert len(capture.sources[0].images) == 6
    monkeypatch.setattr(folder, "MAX_DUMPS", 5)
    assert refusal(path).endswith("cpu_0.ini:25: more than 5 dumps in all")


def test_a_million_sections_are_refused_unparsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: List[str]
) -> None:
    path = folder_with(tmp_path)
    (tmp_path / "etm_0.ini").write_text("[a]\n" * 1000000)
    real, parsed = folder.parse_ini, []
    monkeypatch.setattr(folder, "parse_ini", lambda text, name: [parsed.append(name), real(text, name)][1])
    assert refusal(path).endswith("etm_0.ini: more than 131072 lines in the ini files")
    assert parsed == [str(tmp_path / "snapshot.ini"), str(tmp_path / "cpu_0.ini")]
    assert opened == ["snapshot.ini", "cpu_0.ini", "code.bin", "etm_0.ini"]


def test_devices_and_buffers_are_counted(tmp_path: Path) -> None:
    for number in range(1030):
        text = "[device]\nname=d%d\nclass=cti\n" % number
        (tmp_path / ("d%d.ini" % number)).write_text(text)
    more = "".join("d%d=d%d.ini\n" % (one, one) for one in range(1030))
    assert "more than 1024 devices" in refusal(folder_with(tmp_path, "snapshot.ini", "[trace]", more + "[trace]"))
    names = ",".join("b%d" % one for one in range(65))
    path = folder_with(tmp_path, "trace.ini", "buffers=buffer0", "buffers=" + names)
    assert refusal(path).endswith("trace.ini:2: 65 buffers; at most 64 are read")


def test_overlapping_pieces_are_cut_in_one_pass() -> None:
    """Ten thousand nested pieces add two ends each, nothing more."""
    images = [MemoryImage(10000 - one, bytes([one % 251]) * (2 * one + 1), "") for one in range(10000)]
    pieces = disjoint(images)
    assert len(pieces) == 2 * len(images) - 1 and sum(len(piece.data) for piece in pieces) == 2 * len(images) - 1
    chance = random.Random(1)
    for _ in range(200):
        images = [MemoryImage(chance.randrange(60), bytes([one]) * chance.randrange(20), "") for one in range(12)]
        expected = {}
        for image in reversed(images):
            expected.update({image.address + at: byte for at, byte in enumerate(image.data)})
        pieces = disjoint(images)
        assert sum(len(piece.data) for piece in pieces) == len(expected)
        assert {piece.address + at: byte for piece in pieces for at, byte in enumerate(piece.data)} == expected


@pytest.mark.parametrize("name", [name for name in GOOD if name.endswith(".ini")])
def test_a_byte_order_mark_is_accepted(name: str, tmp_path: Path) -> None:
    expected = read_snapshot(folder_with(tmp_path))
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + GOOD[name].replace("\n", "\r\n").encode())
    assert read_snapshot(str(tmp_path)) == expected


def test_names_send_nothing_to_a_terminal(tmp_path: Path) -> None:
    path = folder_with(tmp_path, "cpu_0.ini", "Cortex-M33", "Cortex\x1b[2J\u202e\u009b-M33")
    (capture,) = read_snapshot(path)
    assert capture.sources[0].core is not None and capture.sources[0].core.type == "Cortex?[2J??-M33"
    assert "'?[2J' is not a number" in refusal(folder_with(tmp_path, "cpu_0.ini", "4096", "\x1b[2J"))


@pytest.mark.parametrize(
    "content, told",
    [
        (b"\x7fELF\x01\x01\x01", "it is an ELF file, and no snapshot folder; name it with --elf, after the folder"),
        (b"PERFILE2\0\0", "it is a recording of Linux perf, and no snapshot folder; "),
        (b"PK\x03\x04rest", "it is a zip archive; unpack it, and name the folder"),
        (b"\x1f\x8b\x08", "it is packed by gzip; unpack it"),
        (b"[device]\n", "it is one file of a snapshot; name its folder, in which there is snapshot.ini"),
        (b"\x00" * 11 + b"\x80", "it is a file of 12 bytes, and no snapshot folder; "),
        (b"", "it is a file of 0 bytes, and no snapshot folder; "),
    ],
)
def test_a_file_is_told_for_what_it_is(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "some").write_bytes(content)
    assert refusal(str(tmp_path / "some")).startswith("%s: %s" % (tmp_path / "some", told))


def test_other_things_are_told_for_what_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refusal(str(tmp_path / "fifo")) == "%s: it is a FIFO, not a file" % (tmp_path / "fifo")
    assert refusal(str(tmp_path / "none")) == "%s: no such file" % (tmp_path / "none" / "snapshot.ini")
