"""The process beside GDB, with reverse execution between GDB and pyOCD's server.

GDB's plug-in drains the trace buffer after each halt and hands the capture over; it is decoded here when GDB first goes
back.  So both use the same capture.
"""

from __future__ import annotations

import base64
import binascii
import sys
import threading
from typing import Callable, Mapping, Optional, Sequence

from gdb_etm.access import server
from gdb_etm.access.wire import Message
from gdb_etm.commands.handing import begin_of, capture_of
from gdb_etm.commands.proxying import HandedSource
from gdb_etm.commands.remote import front
from gdb_etm.errors import EtmError
from gdb_etm.replay.wires import Door

_LARGEST = 1 << 26


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the process; see :func:`gdb_etm.access.server.main`."""
    return server.main(argv, _Front)


class _Front:
    # Lets one GDB at a time through to pyOCD's server.

    def __init__(self, gdb_port: int) -> None:
        self._gdb_port = gdb_port
        self._door = Door()
        self._source = HandedSource()
        self._received = bytearray()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        return self._door.number

    @property
    def operations(self) -> Mapping[str, Callable[[Message], Message]]:
        return {"capture": self._take, "past": self._tell}

    def _serve(self) -> None:
        while True:
            wire = self._door.admit()
            if wire is not None:
                try:
                    front(wire, "127.0.0.1", self._gdb_port, "pyOCD", self._source, self._door)
                except EtmError as error:
                    print("error: %s" % error, file=sys.stderr)

    def _tell(self, request: Message) -> Message:
        return {"past": self._source.in_the_past, "runs": self._source.runs}

    def _take(self, request: Message) -> Message:
        # A buffer comes in pieces, the last of them with what there is to know of it.
        try:
            self._received += base64.b64decode(str(request.get("data", "")), validate=True)
            if len(self._received) > _LARGEST:
                raise ValueError("more than %d bytes" % _LARGEST)
            if "sources" in request:
                buffer, self._received = bytes(self._received), bytearray()
                files = [str(name) for name in request["files"]]
                whole = request.get("whole") is True
                self._source.hand_over(capture_of(buffer, request), files, begin_of(request), whole)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            self._received = bytearray()
            raise EtmError("no capture: %s" % error) from None
        return {}


if __name__ == "__main__":
    sys.exit(main())
