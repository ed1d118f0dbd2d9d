"""The process beside GDB, with reverse execution between GDB and pyOCD's server.

GDB's plug-in drains the trace buffer after each halt and hands the capture over; it is decoded here when GDB first goes
back.  So both use the same capture.
"""

from __future__ import annotations

import base64
import sys
from typing import Callable, List, Mapping, Optional, Sequence

from gdb_etm.access import server
from gdb_etm.access.wire import Message
from gdb_etm.beside.histories import PluginSource
from gdb_etm.capture import MemoryImage
from gdb_etm.errors import EtmError
from gdb_etm.replay.packets import InputKind, Item
from gdb_etm.replay.proxy import Proxy
from gdb_etm.replay.reliance import reliance_of
from gdb_etm.session.messages import handed_over, number_of, settings_from

_LARGEST = 1 << 26
_MOST_IMAGES = 1 << 12


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the process; see :func:`gdb_etm.access.server.main`."""
    return server.main(argv, HistoryFront())


class _LocalServer:
    # pyOCD's server in this process, as the proxy calls it.

    def __init__(self) -> None:
        self.ask_pyocd: Callable[[bytes], bytes] = lambda data: b""
        self.passed: Optional[bytes] = None

    def ask(self, data: bytes) -> bytes:
        return self.ask_pyocd(data)

    def send(self, data: bytes) -> None:
        self.passed = data

    def interrupt(self) -> None:
        pass  # pyOCD looks for interrupts itself while the target runs


class _GdbProxy:
    # One GDB's conversation.

    def __init__(self, source: PluginSource) -> None:
        self._source = source
        self._server = _LocalServer()
        self._proxy: Optional[Proxy] = None

    def leaves_alone(self, data: bytes) -> bool:
        return self._proxy is not None and self._proxy.leaves_alone(data)

    def answer(
        self, data: bytes, ask: Callable[[bytes], bytes], tell: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> Optional[bytes]:
        self._server.ask_pyocd = ask
        if self._proxy is None:
            self._proxy = Proxy(self._server, self._source)
        found: Optional[bytes] = None
        if self._proxy.is_replaying and stop():
            list(self._proxy.from_gdb(Item(InputKind.INTERRUPT)))
        for reply in self._proxy.from_gdb(Item(InputKind.PACKET, data)):
            if reply is None:
                if stop():
                    return self._proxy.interrupted()
                continue
            if found is not None:
                tell(found)
            found = reply
        passed, self._server.passed = self._server.passed, None
        if passed is None:
            return found
        reply = ask(passed)
        # Kill and restart have no reply.
        return None if passed[:1] in (b"k", b"R") else self._proxy.from_server(Item(InputKind.PACKET, reply))

    def leave(self) -> None:
        if self._proxy is not None:
            self._proxy.leave()


class HistoryFront:
    """Factory of the proxies between each GDB and pyOCD's server.

    All of them use the same captures.
    """

    def __init__(self) -> None:
        # The captures.
        self.source = PluginSource()
        self._received = bytearray()
        # When the run began.
        self._memory: List[MemoryImage] = []

    def between(self) -> _GdbProxy:
        """Make a proxy for one GDB."""
        return _GdbProxy(self.source)

    @property
    def operations(self) -> Mapping[str, Callable[[Message], Message]]:
        """What the plug-in may ask of it, by name."""
        return {"capture": self._take, "past": self._tell, "rely": self._rely}

    def _tell(self, request: Message) -> Message:
        number, last = self.source.position
        return {"past": self.source.in_the_past, "runs": self.source.runs, "number": number, "last": last}

    def _rely(self, request: Message) -> Message:
        try:
            self.source.rely(reliance_of(settings_from(request)))
        except ValueError as error:
            raise EtmError("no settings: %s" % error) from None
        return self._tell(request)

    def _take(self, request: Message) -> Message:
        # Memory and a buffer come in pieces, the last of them with what there is to know of it.
        try:
            data = base64.b64decode(request.get("data", ""), validate=True)
            if len(data) + len(self._received) + sum(len(image.data) for image in self._memory) > _LARGEST:
                raise ValueError("more than %d bytes" % _LARGEST)
            if len(self._memory) > _MOST_IMAGES:
                raise ValueError("more than %d pieces of memory" % _MOST_IMAGES)
            if "begin_at" in request:
                self._memory.append(MemoryImage(number_of(request["begin_at"]), data, "RAM"))
                return {}
            self._received += data
            if "sources" in request:
                buffer, memory = bytes(self._received), self._memory
                self._forget()
                handed = handed_over(buffer, memory, request)
                self.source.rely(reliance_of(handed.settings))
                self.source.hand_over(handed)
        except (TypeError, ValueError) as error:
            self._forget()
            raise EtmError("no capture: %s" % error) from None
        return {}

    def _forget(self) -> None:
        self._received, self._memory = bytearray(), []


if __name__ == "__main__":
    sys.exit(main())
