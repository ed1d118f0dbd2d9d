"""The process between GDB and another GDB server, such as OpenOCD.

It has the one connection that the server gives.  GDB's packets pass, and gain reverse execution; the plug-in's register
accesses go over the same connection in between.  When GDB is killed the registers are put back, as beside pyOCD.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from contextlib import closing
from typing import BinaryIO, Callable, ContextManager, List, Mapping, Optional, Sequence

from gdb_etm.access.channels import serve_stream
from gdb_etm.access.logs import keep_warnings
from gdb_etm.access.port import AccessPort
from gdb_etm.access.request_handler import Control
from gdb_etm.access.server import take_stdio
from gdb_etm.access.watchdog import Watchdog
from gdb_etm.access.wire import PROTOCOL, ApInfo, CoreInfo, Hello, Message, encode_line, error_message
from gdb_etm.beside.histories import ServerPort
from gdb_etm.beside.process import HistoryFront
from gdb_etm.beside.shell import server_address
from gdb_etm.errors import AccessError, EtmError
from gdb_etm.replay.between import pass_on
from gdb_etm.replay.ends import ServerLink
from gdb_etm.replay.packets import InputKind
from gdb_etm.replay.proxy import Proxy
from gdb_etm.replay.wires import connect, over_socket
from gdb_etm.sockets.acceptor import Acceptor
from gdb_etm.sockets.listener import listen_privately

_LEAVING_SECONDS = 0.2
_HALT_SECONDS = 5.0
_STOPS = (b"T", b"S")


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run until the plug-in is gone.

    :param argv: Arguments after the program's name; None takes the process's.
    :returns: The exit status: 0, or 1 when the server could not be reached.
    """
    parser = argparse.ArgumentParser(prog="gdb-etm relay")
    parser.add_argument("--stdio", action="store_true", required=True)
    parser.add_argument("--server", type=server_address, required=True)
    arguments = parser.parse_args(argv)
    streams = take_stdio()
    log = keep_warnings()
    watchdog = Watchdog(streams[0])
    watchdog.start()
    try:
        session = RelaySession(*arguments.server)
    except EtmError as error:
        _report(error, streams[1])
        return 1
    with closing(session):
        serve_stream(session, log, *streams)
    return 0


def _report(error: EtmError, writer: BinaryIO) -> None:
    try:
        writer.write(encode_line({"error": error_message(error)}))
        writer.flush()
    except OSError:
        pass  # GDB is gone already


class RelaySession:
    """One server's target, for GDB and for the plug-in.

    :param host: Where the server is.
    :param port: Its TCP port.
    :raises EtmError: It is not there.
    """

    def __init__(self, host: str, port: int) -> None:
        self.probe = _ServersTurn()
        self._name = "the server at %s:%d" % (host, port)
        self._wire = connect(host, port)
        self._server = ServerLink(self._wire, self._name)
        self._server.stop_acknowledging()
        self._front = HistoryFront()
        self._proxy: Optional[Proxy] = None
        # GDB's end; the proxy has a descriptor of its own.
        self._gdb = socket.socket()
        # Whether the core was halted here, to put its registers back.
        self._was_running = False
        self._acceptor = Acceptor(listen_privately())
        self._thread = threading.Thread(target=self._serve_gdb, name="GDB", daemon=True)
        self._thread.start()

    @property
    def operations(self) -> Mapping[str, Callable[[Message], Message]]:
        """What the plug-in may ask beyond register accesses."""
        return self._front.operations

    def hello(self) -> Hello:
        """Say where GDB is served; of the core the plug-in knows more."""
        core, ap = CoreInfo(0, "", 0, 0), ApInfo(0, self._name, 0, 0, False)
        return Hello(PROTOCOL, "", self._name, "", "", self._acceptor.where, 0, True, (core,), (ap,), True)

    def port(self, ap: int) -> AccessPort:
        """Give the one access port: the server's reads and writes of memory.

        :raises AccessError: The target runs.
        """
        self._check_halted()
        return ServerPort(self._server, self._name)

    def aps(self) -> Sequence[ApInfo]:
        """List it."""
        return self.hello().aps

    def states(self) -> List[str]:
        """Say what the core does, as far as GDB was told."""
        return ["running" if self._is_running else "halted"]

    def debug_port(self, power_up: bool) -> int:
        """Refuse: the server keeps the debug port to itself.

        :raises AccessError: Always.
        """
        raise AccessError("%s does not show its debug port" % self._name)

    def core_control(self) -> Control:
        """Refuse: GDB has the core.

        :raises EtmError: Always.
        """
        raise EtmError("%s serves GDB alone" % self._name)

    def close(self) -> None:
        """Let the core run on if it ran, and leave the server."""
        if self._was_running:
            self._server.send(b"c")
        self._acceptor.close()
        self._wire.close()

    @property
    def _is_running(self) -> bool:
        return self._proxy is not None and self._proxy.is_running

    def _serve_gdb(self) -> None:
        try:
            connection = self._acceptor.wait()
            self._gdb = connection.dup()
            pass_on(
                over_socket(connection),
                self._server,
                self._front.source,
                self._acceptor,
                self.probe.borrowed(),
                self._meet,
            )
        except EtmError as error:
            self.probe.lose(str(error))
        except OSError:
            pass  # the session has ended before GDB came

    def _meet(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def _check_halted(self) -> None:
        # While the target runs the next packet of the server is the halt's.
        if not self._is_running or self._was_running:
            return
        if not self._has_gdb_left():
            raise AccessError("%s takes nothing while the target runs; halt it first (Ctrl-C)" % self._name)
        self._server.interrupt()
        end = time.monotonic() + _HALT_SECONDS
        while not self._was_running:
            found = self._server.receive(max(0.0, end - time.monotonic()))
            self._was_running = any(one.kind is InputKind.PACKET and one.data[:1] in _STOPS for one in found)
            if not self._was_running and time.monotonic() >= end:
                raise AccessError("%s does not halt the target" % self._name)

    def _has_gdb_left(self) -> bool:
        # Its socket ends a little after its pipe, or before it.
        with self._gdb.dup() as gdb:
            gdb.settimeout(_LEAVING_SECONDS)
            try:
                return gdb.recv(1, socket.MSG_PEEK) == b""
            except ConnectionError:
                return True  # it was killed before it had read all that it was sent
            except OSError:
                return False


class _ServersTurn:
    # Who uses the connection to the server: GDB's thread, or the plug-in's.

    def __init__(self) -> None:
        self.mourners: List[Callable[[str], None]] = []
        self._lock = threading.RLock()

    def borrowed(self) -> ContextManager[object]:
        return self._lock

    def lose(self, reason: str) -> None:
        for tell in list(self.mourners):
            tell(reason)


if __name__ == "__main__":
    sys.exit(main())
