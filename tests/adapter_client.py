"""A client of the Debug Adapter Protocol over stdio.

GDB is started with ``-i=dap``.

Ref: Debug Adapter Protocol, "Base protocol": a Content-Length header, an empty line, JSON; requests, responses, events.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from typing import Any, Dict, List, Optional, Sequence, Type

import pytest

from tests.gdb_session import ROOT, SCRIPT, gdb_program

# The longest wait for one message, so that a test ends.
_SECONDS = 60
Message = Dict[str, Any]


class Refused(Exception):
    """A request that GDB answered with a failure, and its message."""


def require_adapter() -> None:
    """Skip the test on a GDB that cannot be a debug adapter."""
    ask = "python import importlib.util as u; print('adapter:', gdb.VERSION, u.find_spec('gdb.dap') is not None)"
    line = [gdb_program(), "-nx", "-q", "-batch", "-ex", ask]
    told = subprocess.run(line, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    version, is_one = told.split("adapter: ")[1].split()[:2]
    if is_one == "False":
        pytest.skip("GDB %s is no debug adapter; GDB 14 was the first" % version)


class AdapterClient:
    """One GDB as a debug adapter.

    :param arguments: GDB's, after those that start it as an adapter.
    :param with_plugin: Whether it loads gdb_etm at its start.
    """

    def __init__(self, arguments: Sequence[str] = (), with_plugin: bool = True) -> None:
        line = [gdb_program(), "-nx", "-q", "-i=dap"] + (["-x", str(SCRIPT)] if with_plugin else [])
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self._gdb = subprocess.Popen(
            [*line, *arguments],
            cwd=str(ROOT),
            env=dict(environment, LC_ALL="C.UTF-8", HOME="/nonexistent"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._incoming: "queue.Queue[Optional[Message]]" = queue.Queue()
        # What has come and nobody has asked for.
        self._waiting: List[Message] = []
        self._sent = 0
        # Everything that was sent and received, in order.
        self.messages: List[Message] = []
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> AdapterClient:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: object, trace: object) -> None:
        self._gdb.kill()
        self._gdb.communicate()

    def start(self) -> Message:
        """Send ``initialize``, and give GDB's capabilities."""
        return self.request("initialize", adapterID="gdb", clientID="tests", linesStartAt1=True, columnsStartAt1=True)

    def attach(self, target: str) -> Message:
        """Connect GDB to a target; return the stop that follows.

        :raises Refused: GDB says that it failed.
        """
        number = self.send("attach", target=target)
        self.request("configurationDone")
        self._body(number)
        return self.event("stopped")

    def request(self, command: str, **arguments: object) -> Message:
        """Send a request and give the body of its response.

        :raises Refused: GDB says that it failed.
        """
        return self._body(self.send(command, **arguments))

    def send(self, command: str, **arguments: object) -> int:
        """Send a request and give its number."""
        self._sent += 1
        message = {"seq": self._sent, "type": "request", "command": command, "arguments": arguments}
        self.messages.append(message)
        data = json.dumps(message).encode("utf-8")
        assert self._gdb.stdin is not None
        self._gdb.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._gdb.stdin.flush()
        return self._sent

    def event(self, name: str) -> Message:
        """Return the body of an event; wait if it has not come."""
        return dict(self._take("event", "event", name).get("body", {}))

    def forget(self) -> None:
        """Drop what has come and nobody has asked for."""
        self._waiting.clear()

    def go(self, command: str, **arguments: object) -> Message:
        """Send a request that moves the program; return the next stop."""
        self.request(command, threadId=1, **arguments)
        return self.event("stopped")

    def frames(self) -> List[Message]:
        """Ask for the stack."""
        return list(self.request("stackTrace", threadId=1)["stackFrames"])

    def variables(self, frame: int, scope: str) -> Dict[str, str]:
        """Ask for the values of one scope of a frame, by name."""
        scopes = self.request("scopes", frameId=frame)["scopes"]
        (found,) = (one["variablesReference"] for one in scopes if one["name"] == scope)
        values = self.request("variables", variablesReference=found)["variables"]
        return {one["name"]: one["value"] for one in values}

    def type(self, line: str) -> str:
        """Type a line in the debug console."""
        return str(self.request("evaluate", expression=line, context="repl")["result"])

    def output(self) -> str:
        """Give everything that GDB has sent as output.

        What a pipe held is sent by then: GDB reads it in a thread of its own, and answers more slowly.
        """
        bodies = (one["body"] for one in self.messages if one.get("event") == "output")
        return "".join(body["output"] for body in bodies)

    def end(self) -> int:
        """Disconnect, and give the code that GDB ends with."""
        self.request("disconnect")
        return self._gdb.wait(_SECONDS)

    def _body(self, number: int) -> Message:
        response = self._take("response", "request_seq", number)
        if not response["success"]:
            raise Refused(response.get("message", ""))
        return dict(response.get("body", {}))

    def _take(self, kind: str, field: str, wanted: object) -> Message:
        seen = 0
        while True:
            for message in self._waiting[seen:]:
                if message["type"] == kind and message[field] == wanted:
                    self._waiting.remove(message)
                    return message
            seen = len(self._waiting)
            try:
                message = self._incoming.get(timeout=_SECONDS)
            except queue.Empty:
                raise AssertionError("no %s %s after %s" % (kind, wanted, self.messages[-4:])) from None
            assert message is not None, "GDB closed the connection after %s" % self.messages[-4:]
            self.messages.append(message)
            self._waiting.append(message)

    def _read(self) -> None:
        stream = self._gdb.stdout
        assert stream is not None
        while True:
            length = 0
            for line in iter(stream.readline, b"\r\n"):
                if not line:
                    self._incoming.put(None)
                    return
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self._incoming.put(json.loads(stream.read(length)))
