"""Guards of pyOCD: its connections, its monitor commands and its project files.

pyOCD's ``monitor`` runs shell commands (``!``) and Python expressions (``$``), reads and writes files, and opens more
ports.  GDB does all that itself, for whoever sits before it.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from pyocd.commands.execution_context import CommandExecutionContext, CommandInvocation
from pyocd.core import exceptions
from pyocd.core.session import Session
from pyocd.coresight.cortex_m import CortexM
from pyocd.gdbserver import gdbserver
from pyocd.utility import server
from pyocd.utility.sockets import ConnectedSocket, ListenerSocket

from gdb_etm.errors import ConnectError
from gdb_etm.sockets.acceptor import Acceptor
from gdb_etm.sockets.listener import Listener
from gdb_etm.sockets.peers import can_tell, is_own

# Commands by pyOCD's first name of each.
_REFUSED = {
    "savemem": "writes a file; in GDB: dump binary memory FILE START STOP",
    "loadmem": "reads a file; in GDB: restore FILE binary ADDRESS",
    "load": "reads a file; in GDB: load FILE",
    "compare": "reads a file; in GDB: compare-sections",
    "gdbserver": "opens a port that is not guarded",
    "probeserver": "opens a port that is not guarded",
}
_CONFIG = ("pyocd.yaml", "pyocd.yml", ".pyocd.yaml", ".pyocd.yml")
_SCRIPTS = ("pyocd_user.py", ".pyocd_user.py")
_UNUSED = '%s in the working directory is not used; "--option %s=%s" (of gdb-etm serve: -O) uses it'
_HANDLERS = ("handle_python", "handle_system", "execute_command")
# What pyOCD reads at once, and the longest packet that it announces to GDB.
_PACKET_BYTES = 2048
_MOST_UNFINISHED = 1 << 16


class MonitorCommands(CommandExecutionContext):
    """``monitor`` commands of a GDB server that stay within the target.

    They are refused as pyOCD has understood them: after abbreviations, quotes and ``;``.

    :param session: The open session.
    :param core: The core that is served.
    :raises ConnectError: This pyOCD runs commands in another way.
    """

    def __init__(self, session: Session, core: CortexM) -> None:
        if not all(hasattr(CommandExecutionContext, name) for name in _HANDLERS):
            raise ConnectError('this pyOCD cannot be kept from running shell commands by "monitor"; install pyOCD 0.46')
        super().__init__()
        self.selected_core = core
        self.attach_session(session)
        self.command_set.add_command_group("gdbserver")

    def handle_python(self, invocation: CommandInvocation) -> None:
        """Refuse ``$EXPRESSION``."""
        raise exceptions.CommandError('"$" is refused: it runs Python; in GDB: python')

    def handle_system(self, invocation: CommandInvocation) -> None:
        """Refuse ``!COMMAND``."""
        raise exceptions.CommandError('"!" is refused: it runs a shell; in GDB: shell')

    def execute_command(self, invocation: CommandInvocation) -> None:
        """Run one command."""
        name = self.command_set.commands[invocation.cmd].INFO["names"][0]
        if name in _REFUSED:
            raise exceptions.CommandError('"%s" is refused: it %s' % (name, _REFUSED[name]))
        super().execute_command(invocation)


class WayIn:
    """Listening socket of pyOCD's GDB server: an acceptor of one GDB.

    :param listener: Where GDBs connect.
    :param sessions: Gives those of the GDBs that are in.
    """

    def __init__(self, listener: Listener, sessions: Callable[[], Sequence[gdbserver.GDBClientSession]]) -> None:
        self._acceptor = Acceptor(listener)
        self._sessions = sessions
        # The TCP port, for pyOCD's log; 0 for a socket in a folder.
        self.port = listener.port

    def init(self) -> None:
        """Do nothing: it listens."""

    def accept(self, timeout: float = 0.0) -> Optional[_GdbSocket]:
        """Return the connection of a GDB that may connect, or None.

        :param timeout: Not looked at; pyOCD asks ten times a second.
        """
        sessions = list(self._sessions())
        if sessions and all(session.is_connection_closed for session in sessions):
            return None  # who comes waits until the breakpoints of the GDB that went are out
        connection = self._acceptor.admit(is_taken=bool(sessions))
        return None if connection is None else _GdbSocket(connection)

    def close(self) -> None:
        """Let nobody in any more."""
        self._acceptor.close()


class _GdbSocket:
    # pyOCD's connected socket, whose end it always learns of by reading nothing, and which brings no packet without
    # end.

    def __init__(self, connection: socket.socket) -> None:
        self._pyocds = ConnectedSocket(connection, _PACKET_BYTES)
        self._unfinished = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pyocds, name)

    def set_timeout(self, seconds: float) -> None:
        try:
            self._pyocds.set_timeout(seconds)
        except OSError:
            pass  # it is closed already, before the thread that reads it begins

    def read(self, packet_size: Optional[int] = None) -> bytes:
        try:
            data: bytes = self._pyocds.read(packet_size)
        except ConnectionError:
            return b""
        self._unfinished = 0 if b"#" in data else self._unfinished + len(data)
        return data if self._unfinished <= _MOST_UNFINISHED else b""

    def write(self, data: bytes) -> int:
        try:
            return int(self._pyocds.write(data))
        except ConnectionError:
            return len(data)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            # The session has ended beside the thread that answers.
            return len(data)


class _Nowhere:
    # What pyOCD's GDB server has for its listening socket until it is given a way in.

    def __init__(self, port: int, packet_size: int) -> None:
        self.port = 0
        self.host = ""

    def init(self) -> None:
        pass


class _OwnListener(ListenerSocket):
    # Of RTT, SWV and consoles, where the user has asked pyOCD for one.

    def accept(self, timeout: float = 0.5) -> Optional[ConnectedSocket]:
        # A peer is looked up by the socket that pyOCD wraps.
        found: Any = super().accept(timeout)
        if found is None or not can_tell(self.listener) or is_own(found._sock):
            return found
        found.close()
        return None


def guard_listeners() -> None:
    """Restrict pyOCD's listening ports to this user's processes.

    For GDB pyOCD opens none by itself.
    """
    server.ListenerSocket = _OwnListener
    gdbserver.ListenerSocket = _Nowhere


def without_found_files(settings: Mapping[str, Any]) -> Dict[str, Any]:
    """Return session options with which pyOCD loads no project file by itself.

    pyOCD runs ``pyocd_user.py``, and ``pyocd.yaml`` may name Python code to run as well; a working directory may be
    somebody else's.  Ref: pyOCD documentation, "Configuration", "User scripts", options ``no_config`` and
    ``project_dir``.

    :param settings: What the user asked for; files that it names are used, and a ``project_dir`` with all in it.
    """
    chosen = dict(settings)
    if "project_dir" in chosen or os.environ.get("PYOCD_PROJECT_DIR"):
        return chosen
    if "config_file" not in chosen:
        chosen["no_config"] = True
    if "user_script" not in chosen:
        chosen["user_script"] = os.devnull
    return chosen


def unused_files(session: Session) -> List[str]:
    """Describe pyOCD's project files that are there and not used, in lines."""
    names = [(name, "config_file") for name in _CONFIG if session.options.get("no_config")]
    if session.options.get("user_script") == os.devnull:
        names += [(name, "user_script") for name in _SCRIPTS]
    return [_UNUSED % (name, option, name) for name, option in names if os.path.lexists(name)]
