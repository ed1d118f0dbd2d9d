"""Vectors worked by hand: snapshots with one thing wrong.

The message must name file and line.

Property test: whatever the ini files say, the folder is read or refused.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.capture import RawCapture
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot import folder
from gdb_etm.snapshot.reader import read_snapshot

GOOD = {
    "snapshot.ini": """\
[snapshot]
version=1.0
[device_list]
device0=cpu_0.ini
device1=etm_0.ini
[trace]
metadata=trace.ini
""",
    "cpu_0.ini": """\
; a comment
[device]
name=cpu_0
class=Core
type=Cortex-M33
[regs]
PC(size:32)=0x100  # another
SP=4096
[dump.text]
file="code.bin"
address=0x100
length=4
offset=0x2
space=S
""",
    "etm_0.ini": """\
[device]
name=etm_0
class=TRACE_SOURCE
type=ETM4.2
[regs]
TRCCONFIGR(id:0x4)=0x1
""",
    "trace.ini": """\
[trace_buffers]
buffers=buffer0
[buffer0]
name=ETB_0
file=trace.bin
format=coresight
[source_buffers]
etm_0=ETB_0
[core_trace_sources]
cpu_0=etm_0
""",
    "code.bin": "abcdefgh",
    "trace.bin": "0123456789abcdef",
}


def folder_with(path: Path, file: str = "", old: str = "", new: Optional[str] = "") -> str:
    """Write the good folder with one text replaced.

    ``new=None`` leaves the file out.
    """
    for name, text in GOOD.items():
        if name == file:
            assert old in text
            if new is None:
                continue
            text = text.replace(old, new, 1)
        (path / name).write_bytes(text.encode())
    return str(path)


def test_the_good_folder_is_good(tmp_path: Path) -> None:
    (capture,) = read_snapshot(folder_with(tmp_path))
    (source,) = capture.sources
    assert (source.protocol, dict(source.registers)) == ("etmv4", {"TRCCONFIGR": 1})
    assert source.core is not None
    assert (source.core.type, dict(source.core.registers)) == ("Cortex-M33", {"pc": 0x100, "sp": 4096})
    ((address, data, name),) = source.images
    assert (address, data, name) == (0x100, b"cdef", str(tmp_path / "code.bin"))


def changed(path: Path, file: str, old: str, new: str) -> RawCapture:
    """Read the good folder with one piece of text replaced."""
    (capture,) = read_snapshot(folder_with(path, file, old, new))
    return capture


def test_optional_parts(tmp_path: Path) -> None:
    capture = changed(tmp_path, "trace.ini", "[core_trace_sources]\ncpu_0=etm_0\n", "")
    assert (capture.sources[0].core, capture.sources[0].images) == (None, ())
    capture = changed(tmp_path, "trace.ini", "[source_buffers]\netm_0=ETB_0\n", "")
    assert [source.name for source in capture.sources] == ["etm_0"]
    capture = changed(tmp_path, "snapshot.ini", "[snapshot]\nversion=1.0\n", "[clusters]\nCluster 0=cpu_0\n")
    assert capture.sources[0].core is not None
    capture = changed(tmp_path, "cpu_0.ini", "length=4\noffset=0x2\nspace=S\n", "\r\n")
    assert capture.sources[0].images[0].data == b"abcdefgh"
    capture = changed(tmp_path, "etm_0.ini", "type=ETM4.2", "type=ELA600")
    assert capture.sources[0].protocol == "ela600"


def test_what_is_known_of_the_beginning(tmp_path: Path) -> None:
    capture = changed(tmp_path, "trace.ini", "format=coresight", "format=coresight\nomitted=nothing\nchanged=nothing")
    assert capture.is_whole and capture.is_untouched and not read_snapshot(folder_with(tmp_path))[0].is_whole
    dumps = "[begin]\nR0=7\n[begin_dump1]\nfile=code.bin\naddress=0x20000000\nlength=3\n" + (
        "[begin_dump2]\nfile=gone.bin\naddress=0x20000100\n"
    )
    capture = changed(tmp_path, "cpu_0.ini", "space=S\n", "space=S\n" + dumps)
    core = capture.sources[0].core
    assert core is not None and core.begin is not None and core.begin.registers == {"r0": 7}
    assert [(image.address, image.data) for image in core.begin.memory] == [(0x20000000, b"abc")]
    assert capture.notes == ("%s:22: gone.bin: no such file" % (tmp_path / "cpu_0.ini"),)
    assert [image.address for image in capture.sources[0].images] == [0x100] and core.memory == ()


def test_devices_that_the_list_lacks_are_told_and_passed_over(tmp_path: Path) -> None:
    more = "cpu_1=etm_1\ncpu_2=etm_2\ncpu_0=etm_0\n"
    capture = changed(tmp_path, "trace.ini", "cpu_0=etm_0\n", more)
    assert [(source.name, source.core and source.core.name) for source in capture.sources] == [("etm_0", "cpu_0")]
    assert capture.notes == (
        "%s:10: not in the device list, and passed over: cpu_1, etm_1, cpu_2, etm_2" % (tmp_path / "trace.ini"),
    )
    capture = changed(tmp_path, "trace.ini", "etm_0=ETB_0\n", "etm_9=ETB_0\netm_0=ETB_0\netm_8=ETB_9\n")
    assert [source.name for source in capture.sources] == ["etm_0"]
    assert capture.notes[0].endswith("trace.ini:8: not in the device list, and passed over: etm_9, etm_8")
    capture = changed(tmp_path, "trace.ini", "cpu_0=", "".join("cpu_%d=\n" % one for one in range(9)) + "cpu_0=")
    assert capture.notes[0].endswith("passed over: cpu_1, cpu_2, cpu_3, cpu_4 and 4 more")


def test_one_buffer_that_is_missing_leaves_the_others(tmp_path: Path) -> None:
    path = folder_with(tmp_path)
    text = GOOD["trace.ini"].replace("buffers=buffer0", "buffers=buffer1, buffer0, buffer2")
    (tmp_path / "trace.ini").write_text(text + "[buffer1]\nname=ETB_1\nfile=gone.bin\nformat=coresight\n")
    (capture,) = read_snapshot(path)
    assert capture.buffer == GOOD["trace.bin"].encode() and capture.name == path + ", buffer ETB_0"
    assert [note.rpartition("trace.ini:")[2] for note in capture.notes] == [
        "2: no section [buffer2] for this buffer",
        "13: gone.bin: no such file",
    ]
    with pytest.raises(SnapshotError, match="gone.bin: no such file"):
        read_snapshot(path, "ETB_1")
    assert [one.notes for one in read_snapshot(path, "ETB_0")] == [()]
    with pytest.raises(SnapshotError, match="no buffer ETB_2; there are: ETB_1, ETB_0$"):
        read_snapshot(path, "ETB_2")


def test_other_devices_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "cti_0.ini").write_text("[device]\nname=cti_0\nclass=cross_trigger\n[regs]\nCTICONTROL(0x000)=1\n")
    capture = changed(tmp_path, "snapshot.ini", "[trace]", "device2=cti_0.ini\n[trace]")
    assert [source.name for source in capture.sources] == ["etm_0"]


BAD = [
    ("cpu_0.ini", "type=Cortex-M33\n", "", "cpu_0.ini", 2, "[device] has no key 'type'"),
    ("snapshot.ini", "", None, "snapshot.ini", None, "no such file"),
    ("snapshot.ini", "[trace]", "[other]", "snapshot.ini", None, "no section [trace]"),
    ("snapshot.ini", "[device_list]", "[list]", "snapshot.ini", None, "no section [device_list]"),
    ("snapshot.ini", "metadata=", "meta=", "snapshot.ini", 6, "[trace] has no key 'metadata'"),
    ("snapshot.ini", "version=1.0", "version=2.0", "snapshot.ini", 2, "snapshot version 2.0 is not known; 1.0 is"),
    ("snapshot.ini", "etm_0.ini", "cpu_0.ini", "snapshot.ini", 5, "a second device of name 'cpu_0'"),
    ("snapshot.ini", "[trace]", "[trace", "snapshot.ini", 6, "section name without closing bracket"),
    ("snapshot.ini", "[snapshot]\n", "", "snapshot.ini", 1, "key 'version' stands before any section"),
    ("cpu_0.ini", "", None, "snapshot.ini", 4, "cpu_0.ini: no such file"),
    ("cpu_0.ini", "name=cpu_0", "name=", "cpu_0.ini", 3, "key 'name' has no value"),
    ("cpu_0.ini", "name=cpu_0", "name", "cpu_0.ini", 3, "neither [section] nor key=value"),
    ("cpu_0.ini", "[device]", "[devices]", "cpu_0.ini", None, "no section [device]"),
    ("cpu_0.ini", "=0x100  #", "=0xZZ  #", "cpu_0.ini", 7, "PC(size:32): '0xZZ' is not a number"),
    ("cpu_0.ini", "=4096", "=-1", "cpu_0.ini", 8, "SP: '-1' is not a number"),
    ("cpu_0.ini", "SP=", "PC=", "cpu_0.ini", 8, "register pc is there twice"),
    ("cpu_0.ini", "SP=", "(x)=", "cpu_0.ini", 8, "no register name before the equals sign"),
    ("cpu_0.ini", "address=0x100", "address=0x1FFFFFFFFFFFFFFFF", "cpu_0.ini", 11, "does not fit in 64 bits"),
    ("cpu_0.ini", "address=0x100", "address=0xFFFFFFFFFFFFFFFE", "cpu_0.ini", 11, "pass the end of memory"),
    ("cpu_0.ini", "address=0x100", "addr=0x100", "cpu_0.ini", 9, "[dump.text] has no key 'address'"),
    ("cpu_0.ini", "length=4", "length=4\nlength=4", "cpu_0.ini", 13, "[dump.text] has two keys 'length'"),
    ("cpu_0.ini", "length=4", "length=7", "cpu_0.ini", 10, "7 bytes from offset 2: the file holds 8"),
    ("cpu_0.ini", "offset=0x2", "offset=9", "cpu_0.ini", 10, "4 bytes from offset 9: the file holds 8"),
    ("cpu_0.ini", '"code.bin"', "../code.bin", "cpu_0.ini", 10, "'../code.bin' leads out of the snapshot folder"),
    ("cpu_0.ini", '"code.bin"', "a\\..\\..\\b", "cpu_0.ini", 10, "leads out of the snapshot folder"),
    ("cpu_0.ini", '"code.bin"', "/etc/passwd", "cpu_0.ini", 10, "'/etc/passwd' leads out of the snapshot folder"),
    ("cpu_0.ini", '"code.bin"', ".", "cpu_0.ini", 10, ".: it is a directory, not a file"),
    ("etm_0.ini", "0x1", "0x10000000000000000", "etm_0.ini", 6, "does not fit in 64 bits"),
    ("etm_0.ini", "=0x1", "=" + "9" * 5000, "etm_0.ini", 6, "is not a number"),
    ("trace.ini", "", None, "snapshot.ini", 7, "trace.ini: no such file"),
    ("trace.ini", "[trace_buffers]", "[x]", "trace.ini", None, "no section [trace_buffers]"),
    ("trace.ini", "buffers=buffer0", "buffers=buffer1", "trace.ini", 2, "no section [buffer1] for this buffer"),
    ("trace.ini", "buffers=buffer0", "buffers=,", "trace.ini", 2, "no buffer is named"),
    ("trace.ini", "name=ETB_0\n", "", "trace.ini", 3, "[buffer0] has no key 'name'"),
    ("trace.ini", "format=coresight", "format=gzip", "trace.ini", 6, "buffer format 'gzip' is not known"),
    ("trace.ini", "format=coresight", "format=coresight\noldest=x", "trace.ini", 7, "'x' is not known"),
    ("trace.ini", "format=coresight", "format=coresight\nomitted=x", "trace.ini", 7, "'x' is not known"),
    ("cpu_0.ini", "[regs]", "[begin]\nR0=1\nR0=2\n[regs]", "cpu_0.ini", 8, "register r0 is there twice"),
    ("trace.ini", "cpu_0=etm_0", "etm_0=cpu_0", "trace.ini", 10, "'etm_0' is a device of class 'trace_source'"),
    ("trace.bin", "", None, "trace.ini", 5, "trace.bin: no such file"),
]


@pytest.mark.parametrize("file, old, new, where, line, message", BAD)
def test_the_message_names_file_and_line(
    file: str, old: str, new: Optional[str], where: str, line: Optional[int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder_with(tmp_path, file, old, new))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / where), line)
    place = str(tmp_path / where) + (":%d: " % line if line else ": ")
    assert str(caught.value).startswith(place)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder_with(tmp_path)
    monkeypatch.setattr(folder, "MAX_BYTES", 19)
    with pytest.raises(SnapshotError, match=r"trace.ini:5: more than 19 bytes in all"):
        read_snapshot(path)
    monkeypatch.setattr(folder, "MAX_BYTES", 20)
    read_snapshot(path)


def test_a_huge_sparse_file_is_refused_unread(tmp_path: Path) -> None:
    path = folder_with(tmp_path)
    os.truncate(tmp_path / "trace.bin", 1 << 40)
    with pytest.raises(SnapshotError, match="more than 1073741824 bytes in all"):
        read_snapshot(path)
    folder_with(tmp_path)
    os.truncate(tmp_path / "etm_0.ini", 1 << 40)
    with pytest.raises(SnapshotError, match="etm_0.ini: it holds 1099511627776 bytes; at most 4194304 are read"):
        read_snapshot(path)


@pytest.mark.parametrize("size", range(0, sum(map(len, GOOD.values())), 7))
def test_a_folder_cut_anywhere_is_read_or_refused(size: int, tmp_path: Path) -> None:
    left = size
    for name, text in GOOD.items():
        (tmp_path / name).write_bytes(text[:left].encode())
        left = max(0, left - len(text))
    try:
        read_snapshot(str(tmp_path))
    except SnapshotError as error:
        assert error.path.startswith(str(tmp_path))


@given(
    st.sampled_from([name for name in GOOD if name.endswith(".ini")]),
    st.integers(0, 200),
    st.integers(0, 20),
    st.one_of(st.text(max_size=20), st.text("[]=0x9.,/\\;\n\0abcdef_", max_size=20)),
)
def test_any_text_is_read_or_refused(file: str, start: int, length: int, text: str) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder_with(Path(path))
        old = GOOD[file]
        (Path(path) / file).write_bytes((old[:start] + text + old[start + length :]).encode())
        try:
            read_snapshot(path)
        except SnapshotError as error:
            assert str(error).startswith(path) and str(error).isprintable()
