"""Property test: a folder holds the old or the new snapshot.

Real captures are written, and the disk is full, or the process killed, at every call in turn that changes a file; what
is left must be read, by us and by OpenCSD's trc_pkt_lister.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from gdb_etm.capture import Core, MemoryImage, RawCapture
from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot import folder_writer
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.gdb_session import ROOT
from tests.lister import list_packets
from tests.shared import capture_folder
from tests.snapshot.test_round_trip import comparable, one_source

# Of the system, that a save makes.
CALLS = ("open", "write", "fsync", "replace", "mkdir", "unlink")


class FullDisk:
    """The module ``os`` with one failing call; half is written before.

    :param at: The number of the call that fails, from 0; None counts them.
    """

    def __init__(self, at: Optional[int], error: BaseException) -> None:
        self.at = at
        self.error = error
        self.calls: List[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) - 1 != self.at:
                return real(*arguments)
            if name == "write":
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
            raise self.error

        return call


def an_old_one() -> RawCapture:
    return one_source()._replace(buffer=b"what was there")


def a_new_one() -> RawCapture:
    core = Core("cpu_0", "Cortex-M33", {"pc": 0x100}, (MemoryImage(0x20000000, b"data", ""),))
    images = (MemoryImage(0x100, b"\x00\xbf" * 40, "code"),)
    return one_source(core=core, images=images, registers={"TRCCONFIGR": 1})._replace(buffer=bytes(range(256)))


def contents(folder: Path) -> Dict[str, bytes]:
    """Return all there is in a folder; of none, nothing."""
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


def of_an_empty_folder(path: Path) -> None:
    path.mkdir()


def of_an_old_snapshot(path: Path) -> None:
    write_snapshot(an_old_one(), str(path))
    (path / "notes.txt").write_text("the user's own")


@pytest.mark.parametrize("prepare", [lambda path: None, of_an_empty_folder, of_an_old_snapshot])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_every_call_that_fails_leaves_what_was_there(
    prepare: Any, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = 0
    for at in range(1000):
        folder = tmp_path / str(at)
        prepare(folder)
        before = contents(folder)
        disk = FullDisk(at, error)
        monkeypatch.setattr(folder_writer, "os", disk)
        is_old = False
        try:
            write_snapshot(a_new_one(), str(folder), replace=True)
        except (SnapshotError, KeyboardInterrupt) as told:
            failed += 1
            is_old = "replace" not in disk.calls[:at]
            assert isinstance(told, KeyboardInterrupt) or "No space left on device" in str(told)
        finally:
            monkeypatch.undo()
        if is_old:
            assert contents(folder) == before and folder.exists() == bool(before or prepare is of_an_empty_folder)
        else:
            # What fails from here on is the removal of the old snapshot's files.
            (found,) = read_snapshot(str(folder))
            assert found.buffer == a_new_one().buffer
        if len(disk.calls) <= at:
            break
    # Four calls for each of six files, and some for the folder.
    assert failed >= 18


KILLED = """
import os, sys
from gdb_etm.snapshot import folder_writer
from tests.snapshot.test_saving import FullDisk, a_new_one, write_snapshot

class Killed(FullDisk):
    def __getattr__(self, name):
        if self.at == len(self.calls) and name in ("open", "write", "fsync", "replace", "mkdir", "unlink"):
            os.kill(os.getpid(), 9)
        return super().__getattr__(name)

folder_writer.os = Killed(int(sys.argv[2]), OSError())
write_snapshot(a_new_one(), sys.argv[1], replace=True)
"""


def test_a_killed_save_leaves_a_whole_snapshot(tmp_path: Path) -> None:
    seen = set()
    for at in range(0, 60, 3):
        folder = tmp_path / str(at)
        of_an_old_snapshot(folder)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), str(at)], cwd=str(ROOT), timeout=60, check=False
        )
        (found,) = read_snapshot(str(folder))
        assert found.buffer in (an_old_one().buffer, a_new_one().buffer)
        seen.add((done.returncode, len(found.buffer)))
        if not done.returncode:
            break
        write_snapshot(a_new_one(), str(folder), replace=True)
        assert read_snapshot(str(folder))[0].buffer == a_new_one().buffer
    assert seen >= {(-signal.SIGKILL, 14), (0, 256)}


@pytest.mark.parametrize("tenths", range(11))
def test_a_limit_of_the_system(tenths: int, tmp_path: Path) -> None:
    """The system limits file sizes below the largest file."""
    written = write_snapshot(a_new_one(), str(tmp_path / "first"))
    limit = max(map(os.path.getsize, written)) * tenths // 10
    folder = tmp_path / "saved"
    of_an_old_snapshot(folder)
    before = contents(folder)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        write_snapshot(a_new_one(), str(folder), replace=True)
    except SnapshotError as error:
        assert tenths < 10 and "File too large" in str(error)
        assert contents(folder) == before
    else:
        assert tenths == 10 and read_snapshot(str(folder))[0].buffer == a_new_one().buffer
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_one_that_is_there_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    of_an_old_snapshot(folder)
    before = contents(folder)
    with pytest.raises(SnapshotError, match="saved: there is a snapshot already; only -f replaces it"):
        write_snapshot(a_new_one(), str(folder))
    assert contents(folder) == before
    for capture in (a_new_one(), an_old_one(), a_new_one()):
        written = write_snapshot(capture, str(folder), replace=True)
        assert {os.path.basename(path) for path in written} | {"notes.txt"} == set(contents(folder))
        assert comparable(read_snapshot(str(folder))[0]).buffer == capture.buffer


def test_what_is_not_the_old_snapshots_stays(tmp_path: Path) -> None:
    """Its root names files outside, and an unknown file is inside."""
    (tmp_path / "precious").write_text("outside")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "snapshot.ini").write_text("[device_list]\nd=../precious\n[trace]\nmetadata=notes.txt\n")
    (folder / "notes.txt").write_text("mine")
    write_snapshot(a_new_one(), str(folder), replace=True)
    assert read_snapshot(str(folder))[0].buffer == a_new_one().buffer
    assert (tmp_path / "precious").read_text() == "outside" and (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["TC2", "juno_r1_1", "a57_single_step"])
def test_what_is_cut_is_not_read_and_others_read_the_sizes(name: str, tmp_path: Path) -> None:
    """trc_pkt_lister passes over the section with the sizes."""
    capture = read_snapshot(capture_folder(name))[0]
    folder = tmp_path / name
    write_snapshot(capture, str(folder))
    text = (folder / "snapshot.ini").read_text()
    assert "[sizes]\ntrace.bin=%d\n" % len(capture.buffer) in text
    assert list_packets(str(folder)) == list_packets(capture_folder(name)) != []
    names = [line.partition("=")[0] for line in text.partition("[sizes]\n")[2].partition("\n\n")[0].splitlines()]
    assert sorted(names + ["snapshot.ini"]) == sorted(os.listdir(str(folder)))
    for cut in names + ["snapshot.ini"]:
        whole = (folder / cut).read_bytes()
        for length in {0, len(whole) // 2, len(whole) - 2}:
            (folder / cut).write_bytes(whole[:length])
            with pytest.raises(SnapshotError) as caught:
                read_snapshot(str(folder))
            told = "it holds %d bytes, and held %d when it was saved: it was cut, or changed" % (length, len(whole))
            assert cut == "snapshot.ini" or str(caught.value).endswith("%s: %s" % (cut, told))
        (folder / cut).write_bytes(whole)
    assert comparable(read_snapshot(str(folder))[0]).buffer == capture.buffer
