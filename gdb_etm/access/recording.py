"""Recorder and replayer of accesses through an access port.

Hardware that was seen once stays a test for ever.

A recording is JSON lines, numbers as hex text: ``{"port": NAME}`` first, then one access a line such as
``{"op": "read32", "address": "0xe0041fbc", "value": "0x47704a13"}``.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, TextIO

from gdb_etm.access.port import AccessPort
from gdb_etm.access.wire import error_from, error_message
from gdb_etm.errors import AccessError


class RecordingPort:
    """An access port that writes down every access of another.

    :param port: The port that does the accesses.
    :param file: Where the recording goes, a line at a time.
    """

    def __init__(self, port: AccessPort, file: TextIO) -> None:
        self._port = port
        self._file = file
        self._write({"port": port.name})

    @property
    def name(self) -> str:
        """The recorded port's name."""
        return self._port.name

    def read32(self, address: int) -> int:
        """Read one word."""
        access = {"op": "read32", "address": hex(address)}
        try:
            value = self._port.read32(address)
        except AccessError as error:
            self._write(dict(access, error=error_message(error)))
            raise
        self._write(dict(access, value=hex(value)))
        return value

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        access = {"op": "write32", "address": hex(address), "value": hex(value)}
        try:
            self._port.write32(address, value)
        except AccessError as error:
            self._write(dict(access, error=error_message(error)))
            raise
        self._write(access)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return self._read_many("read_block", address, words)

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        return self._read_many("read_fifo", address, words)

    def _read_many(self, operation: str, address: int, words: int) -> List[int]:
        access = {"op": operation, "address": hex(address), "words": words}
        read = self._port.read_block if operation == "read_block" else self._port.read_fifo
        try:
            values = read(address, words)
        except AccessError as error:
            self._write(dict(access, error=error_message(error)))
            raise
        self._write(dict(access, values=[hex(value) for value in values]))
        return values

    def _write(self, access: Dict[str, Any]) -> None:
        self._file.write(json.dumps(access) + "\n")


class Replayer:
    """Access port that answers from a recording.

    The accesses must be the same, in the same order.

    :param lines: A recording, such as an open file.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._accesses: List[Dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        self._next = 1

    @property
    def name(self) -> str:
        """The recorded port's name."""
        return str(self._accesses[0]["port"])

    @property
    def finished(self) -> bool:
        """Whether every recorded access has been made."""
        return self._next == len(self._accesses)

    def read32(self, address: int) -> int:
        """Read one word."""
        return int(self._take({"op": "read32", "address": hex(address)})["value"], 16)

    def write32(self, address: int, value: int) -> None:
        """Write one word, which must be the one recorded."""
        self._take({"op": "write32", "address": hex(address), "value": hex(value)})

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        access = self._take({"op": "read_block", "address": hex(address), "words": words})
        return [int(value, 16) for value in access["values"]]

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        access = self._take({"op": "read_fifo", "address": hex(address), "words": words})
        return [int(value, 16) for value in access["values"]]

    def _take(self, made: Dict[str, Any]) -> Dict[str, Any]:
        """Return the next recorded access, which must be the one made.

        :raises AssertionError: The recording says otherwise.
        """
        if self.finished:
            raise AssertionError("after the end of the recording: %s" % json.dumps(made))
        recorded = self._accesses[self._next]
        self._next += 1
        if {name: recorded.get(name) for name in made} != made:
            raise AssertionError("line %d: recorded %s, made %s" % (self._next, json.dumps(recorded), json.dumps(made)))
        if "error" in recorded:
            raise error_from(recorded["error"])
        return recorded
