"""Property tests: after Ctrl-C each exchange gets its own reply."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from types import FrameType
from typing import IO, Iterator, Optional, Tuple

import pytest

from gdb_etm.access.stream import LineStream

Pipes = Tuple[LineStream, IO[bytes], IO[bytes]]


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    """A stream, and the other side's reader and writer."""
    to_us, from_them = os.pipe()
    to_them, from_us = os.pipe()
    stream = LineStream(os.fdopen(to_us, "rb", 0), os.fdopen(from_us, "wb", 0))
    reader, writer = os.fdopen(to_them, "rb"), os.fdopen(from_them, "wb", 0)
    yield stream, reader, writer
    stream.close()
    reader.close()
    writer.close()


def _answer(reader: IO[bytes], writer: IO[bytes], size: int) -> None:
    """Answer every line with a reply in two writes."""
    try:
        for line in reader:
            try:
                number = json.loads(line)["id"]
            except (ValueError, KeyError):
                number = None
            reply = json.dumps({"id": number, "words": "x" * size}).encode() + b"\n"
            writer.write(reply[: size // 2])
            writer.write(reply[size // 2 :])
    except (OSError, ValueError):
        pass  # the test is over and its pipes are closed


@pytest.mark.parametrize("size", [0, 30, 20000])
def test_an_interrupt_at_any_moment_leaves_the_stream_in_step(pipes: Pipes, size: int) -> None:
    stream, reader, writer = pipes
    threading.Thread(target=_answer, args=(reader, writer, size), daemon=True).start()

    def interrupt(number: int, frame: Optional[FrameType]) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    chance = random.Random(size)
    interrupted = 0
    try:
        for number in range(0, 600, 2):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 300e-6))
                stream.exchange({"id": number}, number, 10)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert stream.exchange({"id": number + 1}, number + 1, 10)["id"] == number + 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupted > 10


def test_a_line_may_come_in_any_split(pipes: Pipes) -> None:
    stream, _, writer = pipes
    line = json.dumps({"id": 1, "value": 5}).encode() + b"\n"
    for cut in range(len(line)):
        writer.write(line[:cut])
        with pytest.raises(TimeoutError):
            stream.receive(0.0)
        writer.write(line[cut:])
        assert stream.receive(1) == {"id": 1, "value": 5}


JUNK = [b"\n", b"words\n", b'{"id":\n', b"[1]\n", b"\xff\xfe\n", b'{"id": 7}\n', b"[" * 90000 + b"\n"]


@pytest.mark.parametrize("junk", JUNK)
def test_what_is_no_reply_to_this_request_is_dropped(pipes: Pipes, junk: bytes) -> None:
    stream, _, writer = pipes
    threading.Thread(target=writer.write, args=(junk + b'{"id": 8, "value": 1}\n',), daemon=True).start()
    assert stream.exchange({"id": 8}, 8, 5)["value"] == 1


def test_the_end_of_the_other_side_is_an_end(pipes: Pipes) -> None:
    stream, reader, writer = pipes
    writer.write(b'{"id": 1')
    writer.close()
    with pytest.raises(EOFError):
        stream.receive(5)
    reader.close()
    with pytest.raises(EOFError):
        stream.send({"id": 2})


def test_a_line_without_end_is_not_kept_for_ever(pipes: Pipes) -> None:
    stream, _, writer = pipes

    def flood() -> None:
        try:
            for _ in range(64):
                writer.write(b"x" * 65536)
        except (OSError, ValueError):
            pass  # the other side has closed, or the test has ended

    threading.Thread(target=flood, daemon=True).start()
    with pytest.raises(EOFError):
        stream.receive(10)
