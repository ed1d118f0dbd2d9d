"""Real captures with OpenCSD's result, read and written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.lister import list_packets
from tests.shared import capture_folder

# Folder: buffer sizes in bytes, and for each source of the first buffer its protocol, core and bytes of memory;
# worked by hand from the ini files.
_KERNEL = 327680
_CC1 = 20 + 1894336 + 3152 + 240 + 16
CAPTURES = {
    "armv8_1m_branches": ([33], [("etmv4", "Cortex-M55", 436 + 2776)]),
    "juno_r1_1": ([65536, 1984], [("etmv4", "Cortex-A53", _KERNEL)] * 4 + [("etmv4", "Cortex-A57", _KERNEL)] * 2),
    "a57_single_step": ([128], [("etmv4", "Cortex-A57", 4096)]),
    "rp2350-m33-0": ([32768], [("etmv4", "Cortex-M33", 0)]),
    "lpc1769-m3": ([95376], [("etmv3", "Cortex-M3", 0)]),
    "v7m-svc": ([43], [("etmv4", "ARMv7-M", 24)]),
    "v8m-svc": ([43], [("etmv4", "Cortex-M33", 24)]),
    "init-short-addr": ([56], [("etmv4", "Cortex-A57", 0)]),
    "a55-test-tpiu": ([49152], [("etmv4", "Cortex-A55", 0)]),
    "bugfix-exact-match": (
        [1048576],
        [("etmv4", core, _CC1) for core in ("Cortex-A53", "Cortex-A72", "Cortex-A72") + ("Cortex-A53",) * 3],
    ),
    "TC2": (
        [32768],
        [("etmv3", "Cortex-A7", _KERNEL)] * 3 + [("ptm", "Cortex-A15", _KERNEL)] * 2 + [("itm", None, 0)],
    ),
    "Snowball": ([8192], [("ptm", "Cortex-A9", _KERNEL)] * 2),
    "trace_cov_a15": ([36], [("ptm", "Cortex-A15", 632 + 6576 + 304 + 16 + 576 + 262144 + 2 * 65536 + 16384)]),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_reads_what_the_ini_files_say(name: str) -> None:
    captures = read_snapshot(capture_folder(name))
    sizes, sources = CAPTURES[name]
    assert [len(capture.buffer) for capture in captures] == sizes
    assert [
        (source.protocol, source.core and source.core.type, sum(len(image.data) for image in source.images))
        for source in captures[0].sources
    ] == sources
    assert all(capture.end is BufferEnd.UNKNOWN for capture in captures)


def test_registers_lose_their_number_and_width() -> None:
    (capture,) = read_snapshot(capture_folder("a57_single_step"))
    (source,) = capture.sources
    assert source.registers["TRCIDR1"] == 0x4200F410
    assert source.registers["TRCACVR7"] == 0
    assert source.core is not None
    assert source.core.registers["x2"] == 0xFFD0C1C4
    assert source.images[0].address == 0xFFFEB448


def test_formats() -> None:
    formats = {name: read_snapshot(capture_folder(name))[0].format for name in CAPTURES}
    raw = {"armv8_1m_branches", "init-short-addr", "trace_cov_a15", "v7m-svc", "v8m-svc"}
    assert {name for name in formats if formats[name] is BufferFormat.RAW} == raw
    assert {name for name in formats if formats[name] is BufferFormat.DSTREAM} == {"a55-test-tpiu"}


def test_second_buffer_has_its_own_sources() -> None:
    first, second = read_snapshot(capture_folder("juno_r1_1"))
    assert [source.name for source in second.sources] == ["STM_12"]
    assert second.sources[0].protocol == "stm"
    assert first.name.endswith("juno_r1_1, buffer ETB_0")


def test_a_missing_dump_is_noted() -> None:
    (capture,) = read_snapshot(capture_folder("a55-test-tpiu"))
    (note,) = capture.notes
    assert note.endswith("device1.ini:450: mem_Cortex-A57_0.bin: no such file")


def test_devices_that_the_list_lacks_are_noted() -> None:
    """DS-5 names all cores in trace.ini, and lists the traced devices."""
    (capture,) = read_snapshot(capture_folder("trace_cov_a15"))
    (note,) = capture.notes
    assert note.endswith(
        "trace.ini:16: not in the device list, and passed over: " "Cortex-A7_0, Cortex-A7_1, Cortex-A7_2, Cortex-A15_1"
    )


def test_one_buffer_is_read_by_its_name() -> None:
    both = read_snapshot(capture_folder("juno_r1_1"))
    assert read_snapshot(capture_folder("juno_r1_1"), "ETB_1") == both[1:]


def test_shared_dumps_are_held_once() -> None:
    (capture,) = read_snapshot(capture_folder("bugfix-exact-match"))
    text = {id(source.images[1].data) for source in capture.sources}
    assert len(text) == 1


# Debian's 1.3.3 lists nothing for a Cortex-M55; the big one takes a minute and has nothing of its own here.
@pytest.mark.parametrize("name", [name for name in CAPTURES if name not in ("armv8_1m_branches", "bugfix-exact-match")])
def test_written_again_it_lists_the_same_packets(name: str, tmp_path: Path) -> None:
    folder = capture_folder(name)
    for index, capture in enumerate(read_snapshot(folder)):
        copy = str(tmp_path / str(index))
        written = write_snapshot(capture, copy)
        assert sorted(written) == sorted(os.path.join(copy, file) for file in os.listdir(copy))
        expected = list_packets(folder, *(("-src_name", "ETB_%d" % index) if index else ()))
        assert expected
        assert list_packets(copy) == expected


def test_fault_status_is_kept_and_others_pass_over_it(tmp_path: Path) -> None:
    """OpenCSD lists the same packets of a snapshot that holds it."""
    (capture,) = read_snapshot(capture_folder("v8m-svc"))
    status = {"shcsr": 0x70000, "cfsr": 0x8200, "hfsr": 1 << 30, "dfsr": 8, "mmfar": 0, "bfar": 0x30000000}
    secure = {"sfsr": 0x48, "sfar": 0x10000000}
    (source,) = capture.sources
    assert source.core is not None
    core = source.core._replace(registers={**source.core.registers, **status, **secure})
    write_snapshot(capture._replace(sources=(source._replace(core=core),)), str(tmp_path / "saved"))
    (read,) = read_snapshot(str(tmp_path / "saved"))
    assert read.sources[0].core is not None and read.sources[0].core.registers == core.registers
    assert list_packets(str(tmp_path / "saved")) == list_packets(capture_folder("v8m-svc")) != []
