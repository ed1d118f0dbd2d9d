"""pyOCD's GDB server for one core, with its interceptor and failures.

Its interceptor sees each packet first, and a failed probe is reported to each GDB.

pyOCD's server is a thread, and each version of Python gives threads other names; so nothing here derives from it.  The
few of its functions that are to do more are put in their places before it begins.
"""

from __future__ import annotations

import re
import threading
from typing import Any, Callable, Dict, Optional, Protocol, Set

from pyocd.core import exceptions
from pyocd.core.session import Session
from pyocd.coresight.cortex_m import CortexM
from pyocd.gdbserver import GDBServer

from gdb_etm.access.guards import MonitorCommands, WayIn
from gdb_etm.access.watched_probe import WatchedProbe
from gdb_etm.errors import ConnectError
from gdb_etm.sockets.listener import Listener

_MORE_HALTS = 2
_NO_REPLY = (b"k", b"R")
# Replies that GDB takes for something else where they say what is wrong: words for data, in reply to a read of memory;
# and GDB 13 waits for ever for a target whose first stop reply is none.
_INSTEAD = {b"D": b"OK", b"m": b"E01", b"?": b"S05"}
_UNPRINTABLE = re.compile("[^ -~]|[#$*}]")


class Between(Protocol):
    """Stands between one GDB and pyOCD's server."""

    def leaves_alone(self, data: bytes) -> bool:
        """Whether pyOCD may answer a packet without the interceptor.

        :param data: What stands in it, as on the wire.
        """

    def answer(
        self, data: bytes, ask: Callable[[bytes], bytes], tell: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> Optional[bytes]:
        """Answer a packet.

        :param data: What stands in it, as on the wire.
        :param ask: Has pyOCD answer a packet; empty when it gives no reply.
        :param tell: Sends GDB a packet before the reply.
        :param stop: Whether GDB has asked for an interrupt since this was asked last.
        :returns: The reply; None when there is none.
        """

    def leave(self) -> None:
        """Take note that GDB is gone."""


class GdbServer:
    """pyOCD's GDB server with an interceptor.

    It also takes out the breakpoints of a GDB that died.

    One GDB of this very user comes in at a time, and what it may have pyOCD do is bounded.  The probe's lock is given
    back after each piece of work, and when the probe is lost everything is refused.  (GDB 13 crashes when its
    connection is closed while it prints where the program is halted.)

    :param session: The open session.
    :param core: The core that is served.
    :param between: Makes who stands before it, for each GDB; None lets nobody.
    :param listener: Where GDBs connect; it is the server's from then on.
    :raises ConnectError: This pyOCD serves in another way.
    """

    def __init__(
        self, session: Session, core: CortexM, between: Optional[Callable[[], Between]], listener: Listener
    ) -> None:
        self._make_between = between
        self._between: Dict[Any, Between] = {}
        self._probe: WatchedProbe = session.probe
        # Clients that pyOCD has still to answer.
        self._asking: Set[Any] = set()
        # By client: the packet that it waits for the reply to, or the last one.
        self._asked: Dict[Any, bytes] = {}
        # Not its constructor: that starts a thread which polls the target at once.
        own: Any = GDBServer.__new__(GDBServer)
        self._pyocds_reply = _replace(own, "handle_message", self._reply)
        self._pyocds_detach = _replace(own, "notify_client_detached", self._detach)
        for name in ("_halt_target", "_read_and_process_target_state"):
            _replace(own, name, self._borrowing(getattr(own, name, None)))
        self._halt = _replace(own, "_halt_target", self._insist_on_halt)
        _replace(own, "_init_remote_commands", lambda: setattr(own, "_command_context", MonitorCommands(session, core)))
        own.__init__(session, core=core.core_number)
        own.listen_socket = WayIn(listener, lambda: own.client_sessions)
        self._probe.mourners.append(self._mourn)
        # The server as pyOCD knows it.
        self.pyocds: GDBServer = own

    def start(self) -> None:
        """Let GDBs in."""
        self.pyocds.start()

    def stop(self) -> None:
        """Send them away, and let nobody in any more."""
        self.pyocds.stop()

    def _reply(self, client: Any, msg: bytes) -> Optional[bytes]:
        """Answer one packet of one GDB."""
        self._asked[client] = msg
        if self._make_between is None:
            return self._ask(client, msg)
        between = self._between.get(client)
        if between is None:
            between = self._between[client] = self._make_between()
        if between.leaves_alone(msg[1:-3]):
            return self._ask(client, msg)

        def ask(data: bytes) -> bytes:
            reply = self._ask(client, self._packet(data))
            return b"" if reply is None else reply[1:-3]

        def tell(data: bytes) -> None:
            client.send(self._packet(data))

        def stop() -> bool:
            asked = bool(client.is_interrupted())
            if asked:
                client.interrupt_clear()
            return asked

        reply = between.answer(bytes(msg[1:-3]), ask, tell, stop)
        return None if reply is None else self._packet(reply)

    def _ask(self, client: Any, msg: bytes) -> Optional[bytes]:
        reply: Optional[bytes] = None
        if self._probe.lost is None:
            self._asking.add(client)
            self._probe.failure = self._probe.unanswered = None
            with self._probe.borrowed():
                reply = self._pyocds_reply(client, msg)
            if client not in self._asking:
                threading.Event().wait()  # another thread has the client meanwhile
            self._asking.remove(client)
        is_understood = self._probe.failure is None and self._probe.unanswered is None
        is_the_targets = is_understood and msg[1:2] not in _INSTEAD
        if self._probe.lost is None and (is_the_targets or reply != self._packet(b"E01")):
            return reply
        return self._refusal(msg)

    def _refusal(self, msg: bytes) -> Optional[bytes]:
        """Say what is wrong with the probe, where GDB shows it."""
        kind = msg[1:2]
        if kind in _NO_REPLY:
            return None
        why = "failed: %s" % self._probe.failure
        if self._probe.failure is None:
            why = "gets no answer from the target: %s" % self._probe.unanswered
        if self._probe.lost is not None:
            why = 'is lost: %s; try "etm disconnect" and "etm connect"' % self._probe.lost
        text = _UNPRINTABLE.sub("?", "E.the debug probe " + why)
        return self._packet(_INSTEAD.get(kind, text.encode()))

    def _mourn(self, reason: str) -> None:
        """Answer clients whose threads still wait for the probe."""
        for client in list(self._asking):
            self._asking.remove(client)
            client.send(self._refusal(self._asked[client]))
            threading.Thread(target=client.run, daemon=True).start()

    def _detach(self, client: Any) -> None:
        """Resume the program when the last GDB has gone.

        It may have gone without detaching.
        """
        own = self.pyocds
        self._asked.pop(client, None)
        between = self._between.pop(client, None)
        if between is not None:
            between.leave()
        with own.lock, self._probe.borrowed():
            with own.client_sessions_lock:
                others = any(c.is_attached_to_target for c in own.client_sessions if c is not client)
            if client.is_attached_to_target and not others:
                try:
                    own.target.bp_manager.remove_all_breakpoints()
                    if own.target.dwt is not None:
                        own.target.dwt.remove_all_watchpoints()
                except exceptions.Error:
                    pass  # the probe is gone; nothing can be taken out
            self._pyocds_detach(client)

    def _insist_on_halt(self) -> None:
        """Ask for a halt again if the probe fails.

        A GDB that comes would be let go without a reason, and Ctrl-C would do nothing.
        """
        for _ in range(_MORE_HALTS):
            try:
                self._halt()
                return
            except exceptions.ProbeError:
                pass
        self._halt()

    def _borrowing(self, function: Any) -> Callable[..., None]:
        def run(*arguments: Any, **options: Any) -> None:
            with self._probe.borrowed():
                function(*arguments, **options)

        return run

    def _packet(self, data: bytes) -> bytes:
        return bytes(self.pyocds.create_rsp_packet(data))


def _replace(own: Any, name: str, replacement: Callable[..., Any]) -> Callable[..., Any]:
    before: Optional[Callable[..., Any]] = getattr(own, name, None)
    if before is None:
        raise ConnectError("this pyOCD's GDB server has no %s; install pyOCD 0.46" % name)
    setattr(own, name, replacement)
    return before
