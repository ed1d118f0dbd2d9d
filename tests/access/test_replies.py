"""Worked by hand: replies of another kind, never ending, or not read."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import nullcontext
from typing import IO, Any, Callable, ContextManager, Dict, Iterator, List, Tuple

import pytest

from gdb_etm.access import channels
from gdb_etm.access import client as client_module
from gdb_etm.access import stream as stream_module
from gdb_etm.access.client import Client, attach
from gdb_etm.access.stream import LineStream
from gdb_etm.access.wire import Hello
from gdb_etm.errors import AccessError
from gdb_etm.replay import wires
from gdb_etm.replay.wires import Wire
from tests.access.test_hello import said
from tests.sockets.visitors import come_in

Ends = Tuple[Client, IO[bytes], IO[bytes]]


@pytest.fixture(name="ends")
def fixture_ends() -> Iterator[Ends]:
    """A client, and the reader and the writer of the other side."""
    to_us, from_them = os.pipe()
    to_them, from_us = os.pipe()
    stream = LineStream(os.fdopen(to_us, "rb", 0), os.fdopen(from_us, "wb", 0))
    reader, writer = os.fdopen(to_them, "rb"), os.fdopen(from_them, "wb", 0)
    yield Client(stream, said()), reader, writer
    stream.close()
    for file in (reader, writer):
        file.close()


def answer(ends: Ends, **fields: Any) -> None:
    """Answer the next request."""
    _, reader, writer = ends

    def run() -> None:
        number = json.loads(reader.readline())["id"]
        writer.write(json.dumps({"id": number, **fields}).encode() + b"\n")

    threading.Thread(target=run, daemon=True).start()


CALLS = {
    "value": lambda client: client.port().read32(0),
    "value of the debug port": lambda client: client.debug_port(),
    "states": lambda client: client.states(),
    "lines": lambda client: client.log(),
    "versions": lambda client: client.versions(),
    "registers": lambda client: client.registers(),
    "words": lambda client: client.port().read_block(0, 4),
}
WRONG: List[Any] = [None, True, -1, 1 << 70, 1.5, "1", "x" * 9, [[]], {"a": -1}, {"a": "b"}, {"a": None}]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_reply_of_another_kind_is_an_error_of_access(name: str, wrong: Any, ends: Ends) -> None:
    call: Callable[[Client], Any] = CALLS[name]
    answer(ends, **{name.partition(" ")[0]: wrong})
    try:
        found = call(ends[0])
    except AccessError as error:
        assert "\n" not in str(error)
    else:
        assert (name, wrong) in [("states", [[]]), ("lines", [[]]), *(("versions", one) for one in WRONG[-3:])], found


@pytest.mark.parametrize("name", CALLS)
def test_a_reply_that_says_nothing_is_one_too(name: str, ends: Ends) -> None:
    answer(ends)
    with pytest.raises(AccessError):
        CALLS[name](ends[0])


def test_texts_are_lines(ends: Ends) -> None:
    answer(ends, lines=["one\ntwo\x1b[2J", 3])
    assert ends[0].log() == ["one?two?[2J", "3"]


def test_an_error_s_kind_is_one_of_ours(ends: Ends) -> None:
    answer(ends, error={"kind": ["x"], "message": "no\nsuch", "address": True})
    with pytest.raises(AccessError) as caught:
        ends[0].halt()
    assert (caught.value.kind, caught.value.address, str(caught.value)) == ("fault", None, "no such")


def test_what_is_said_unasked_without_end_is_left(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_NOTICES_SECONDS", 0.2)
    over = threading.Event()

    def talk() -> None:
        try:
            while not over.is_set():
                ends[2].write(b'{"id": 7}\n' * 100)
        except (OSError, ValueError):
            pass  # the test is over

    talker = threading.Thread(target=talk, daemon=True)
    talker.start()
    begin = time.monotonic()
    ends[0].check()
    assert time.monotonic() - begin < 5
    over.set()
    ends[0].check()
    talker.join(5)


def test_who_reads_nothing_holds_up_nobody(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_WRITE_SECONDS", 0.3)
    with pytest.raises(AccessError, match="has not answered"):
        ends[0].request({"op": "capture", "data": "x" * (1 << 19)})


def test_gdb_that_reads_nothing_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "_SEND_SECONDS", 0.3)
    reader, writer = os.pipe()
    wire = Wire(os.fdopen(reader, "rb", 0), os.fdopen(writer, "wb", 0))
    with pytest.raises(EOFError):
        wire.write(b"x" * (1 << 19))
    wire.close()


class Fake:
    """A session whose replies are long."""

    def __init__(self) -> None:
        self.probe = self
        self.mourners: List[Callable[[str], None]] = []
        self.operations: Dict[str, Callable[[Any], Any]] = {"long": lambda request: {"data": "x" * (1 << 19)}}

    def borrowed(self) -> ContextManager[object]:
        """Nobody else has it."""
        return nullcontext()

    def hello(self) -> Hello:
        """Say what is there."""
        return said()


def test_who_reads_no_reply_keeps_no_word_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "_SILENT_SECONDS", 1)
    session: Any = Fake()
    log: Any = None
    control = channels.ControlPort(session, log, 0)
    threading.Thread(target=control.accept_for_ever, daemon=True).start()
    with come_in(control.number) as silent:
        silent.sendall(b'{"op": "hello"}\n' + b'{"id": 1, "op": "long"}\n' * 100)
        attentive = attach("localhost", control.number)
        while len(session.mourners) < 2:
            time.sleep(0.01)
        time.sleep(0.2)
        reports = list(session.mourners)
        teller = threading.Thread(target=lambda: [tell("gone") for tell in reports], daemon=True)
        teller.start()
        with pytest.raises(AccessError, match="the debug probe is lost: gone"):
            attentive.check(8)
        teller.join(8)
        assert not teller.is_alive()
    attentive.close()
