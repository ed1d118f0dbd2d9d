"""Real captures, decoded by several processes and by one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest

from gdb_etm.history.build import DecoderCache, StreamPart, decode_parts, parts
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.session import decode_pool
from gdb_etm.session.decode_pool import decode_together
from gdb_etm.session.decoding import decode_capture
from gdb_etm.session.progress import Meter
from gdb_etm.snapshot.reader import read_snapshot
from tests.commands.captures import shared_by
from tests.history.test_recording import content
from tests.shared import capture_folder
from tests.terminal import are_gone, children

BIG = 9 << 18


class Started(List[int]):
    """The processes that were started, by their ids."""


@pytest.fixture()
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Watch which processes are started."""
    found = Started()
    plain = subprocess.Popen

    def popen(*arguments: Any, **options: Any) -> Any:
        process = plain(*arguments, **options)
        found.append(process.pid)
        return process

    monkeypatch.setattr(decode_pool.subprocess, "Popen", popen)
    return found


def juno() -> List[StreamPart]:
    """Five units that share a buffer."""
    return parts(read_snapshot(capture_folder("juno_r1_1"))[0])


def same(found: List[Recorder], todo: List[StreamPart]) -> bool:
    """Compare with what decoding here gives."""
    return [content(one) for one in found] == [content(one) for one in decode_parts(todo, DecoderCache())]


@pytest.mark.parametrize("most", [1, 2, 3, 8])
def test_the_result_is_the_same(most: int, started: Started) -> None:
    todo = juno()
    told: List[int] = []
    found = decode_together(todo, DecoderCache(), sys.executable, most, told.append)
    assert same(found, todo)
    assert sum(told) == sum(part.size for part in todo)
    assert bool(started) == (most > 1) and not children(os.getpid()) and are_gone(started)


def script(path: Path, text: str) -> str:
    """Write a program that takes the place of the interpreter."""
    path.write_text("#!%s\nimport os, struct, sys, time\n%s" % (sys.executable, text))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sys.exit(3)",
        "os.close(0); time.sleep(0.2)",
        "os.kill(os.getpid(), 9)",
        "sys.stdin.buffer.read(); print('Traceback')",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(b'nonsense' * 99999)",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(struct.pack('<BQ', 1, 1 << 40))",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(struct.pack('<BQ', 2, 1 << 60))",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(struct.pack('<BQ', 2, 100) + bytes(50))",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(struct.pack('<BQ', 2, 100) + bytes(100))",
        "sys.stdin.buffer.read(); sys.stdout.buffer.write(struct.pack('<BQ', 1, 5)); time.sleep(0.2)",
    ],
)
def test_a_process_that_does_not_do_its_work_is_not_needed(text: str, tmp_path: Path, started: Started) -> None:
    todo = juno()
    python = script(tmp_path / "python", text)
    assert same(decode_together(todo, DecoderCache(), python, 3), todo)
    assert started and not children(os.getpid()) and are_gone(started)


def test_without_an_interpreter(tmp_path: Path) -> None:
    todo = juno()
    assert same(decode_together(todo, DecoderCache(), str(tmp_path / "none"), 3), todo)


def test_an_interruption_leaves_nothing_behind(started: Started) -> None:
    def interrupt(size: int) -> None:
        raise KeyboardInterrupt

    cache = DecoderCache()
    todo = juno()
    with pytest.raises(KeyboardInterrupt):
        decode_together(todo, cache, sys.executable, 3, interrupt)
    assert started and not children(os.getpid()) and are_gone(started)
    # What was learned of the program so far does no harm.
    assert same(decode_parts(todo, cache), todo)


def test_big_captures_with_several_ids_are_shared_out(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdb_etm.session.decode_pool.processors", lambda: 2)
    capture = shared_by("bugfix-exact-match", 2, BIG)
    histories = decode_capture(capture, Meter())
    assert len(started) == 1 and are_gone(started)
    assert list(histories) == [0x20, 0x21]
    one, other = histories.values()
    assert len(one) == len(other) > 5 * BIG
    monkeypatch.setattr("gdb_etm.session.decode_pool.processors", lambda: 1)
    alone = decode_capture(capture, Meter())
    assert len(started) == 1
    for trace_id, history in alone.items():
        shared = histories[trace_id]
        assert len(history) == len(shared) and history.events == shared.events
        for number in range(1, len(history), len(history) // 10):
            assert list(history.walk(number, number + 999)) == list(shared.walk(number, number + 999))


def test_small_ones_are_not(started: Started) -> None:
    decode_capture(read_snapshot(capture_folder("juno_r1_1"))[0], Meter())
    assert not started
