"""Process that owns the debug access port, beside GDB.

GDB and register accesses share it.

Started by ``etm connect`` it talks JSON lines over stdin and stdout and ends with GDB; started by hand
(``gdb-etm serve``) it talks the same lines over a TCP port on localhost and ends with Ctrl-C.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, Callable, Mapping, Optional, Protocol, Sequence, Tuple

from gdb_etm.access.logs import LogKeeper, keep_warnings
from gdb_etm.access.watchdog import Watchdog, end_within
from gdb_etm.access.wire import Message, describe, encode_line, error_message
from gdb_etm.errors import ConnectError

if TYPE_CHECKING:
    from gdb_etm.access.gdb_server import Between
    from gdb_etm.access.pyocd_session import PyocdSession
    from gdb_etm.access.watched_probe import WatchedProbe

# Where ``gdb-etm serve`` listens for ``etm connect localhost:3344``.
DEFAULT_CONTROL_PORT = 3344
CONNECT_MODES = ("attach", "halt", "pre-reset", "under-reset")
_CLOSING_SECONDS = 5.0
# From pyOCD, for an option's value that it cannot use, and for answers of a target that are not so.
_STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


class Front(Protocol):
    """Gives each GDB somebody who stands between it and pyOCD's server."""

    def between(self) -> Between:
        """Make who stands there."""

    @property
    def operations(self) -> Mapping[str, Callable[[Message], Message]]:
        """What clients may ask of it, by name."""


class _Stop(BaseException):
    """Request to end, raised in the main thread by a signal."""


def main(argv: Optional[Sequence[str]] = None, front: Optional[Front] = None) -> int:
    """Run until the client is gone or a signal ends the process.

    :param argv: Arguments after the program's name; None takes the process's.
    :param front: Whom to put between GDB and pyOCD's server; None leaves them alone.
    :returns: The exit status: 0, or 1 when no session could be opened.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.dap_only and (arguments.core is not None or arguments.gdb_port or arguments.connect_mode != "attach"):
        parser.error("--dap-only leaves the core alone: it goes without --core, --gdb-port and --connect-mode")
    streams = take_stdio() if arguments.stdio else None
    log = keep_warnings()
    watchdog = Watchdog(None if streams is None else streams[0])
    watchdog.start()
    session: Optional[PyocdSession] = None
    try:
        _install_signals(ignore_interrupt=arguments.stdio)
        gc.disable()
        session = _open(arguments, front, watchdog, streams)
        gc.freeze()  # what pyOCD is made of stays, and need not be looked at when something else is to be found
        gc.enable()
        if streams is not None:
            _serve_stdio(session, log, streams)
        else:
            _serve_by_hand(session, log, arguments.control_port)
    except ConnectError as error:
        _report(error, streams)
        return 1
    except _Stop:
        pass
    except _STUMBLES as error:
        _report(ConnectError("pyOCD failed: %s: %s" % (type(error).__name__, error)), streams)
        return 1
    finally:
        gc.enable()
        if session is not None:
            _close_in_time(session)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gdb-etm serve", description="Open a debug probe with pyOCD, for GDB and for register access."
    )
    parser.add_argument("--probe", metavar="UID", help="unique id of the probe, or part of it (board:m33 is simulated)")
    parser.add_argument("--target", metavar="NAME", help="pyOCD's target type; default: as pyOCD finds it")
    parser.add_argument("--frequency", type=_frequency, metavar="HZ", help="wire clock, such as 4000000 or 4m")
    parser.add_argument(
        "--connect-mode", choices=CONNECT_MODES, default="attach", help="default: attach, without halt or reset"
    )
    parser.add_argument(
        "-O", dest="options", action="append", default=[], metavar="NAME=VALUE", help="a pyOCD session option"
    )
    parser.add_argument("--core", type=int, metavar="N", help="the core that GDB debugs; default: the primary one")
    parser.add_argument("--gdb-port", type=_port, metavar="PORT", help="for GDB; default: a free one")
    parser.add_argument(
        "--dap-only", action="store_true", help="open no core and serve no GDB: another server has the core"
    )
    parser.add_argument(
        "--control-port",
        type=_port,
        default=DEFAULT_CONTROL_PORT,
        metavar="PORT",
        help="for etm connect; default: %(default)s",
    )
    # For etm connect: requests on stdin, replies on stdout, the end of stdin ends the process.
    parser.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)
    return parser


def _frequency(text: str) -> int:
    scales = {"k": 1000, "m": 1000000}
    scale = scales.get(text[-1:].lower(), 1)
    value = int(float(text if scale == 1 else text[:-1]) * scale)
    if not 1000 <= value <= 1000000000:
        raise ValueError(text)
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise ValueError(text)
    return value


def _open(
    arguments: argparse.Namespace,
    front: Optional[Front],
    watchdog: Watchdog,
    streams: Optional[Tuple[BinaryIO, BinaryIO]],
) -> PyocdSession:
    """Open the session.

    pyOCD is imported only here, so that its absence has a message of its own.
    """
    if sys.version_info < (3, 9):
        words = "pyOCD needs Python 3.9 or newer, and %s is %s: install gdb_etm in a newer one"
        raise ConnectError(words % (sys.executable, platform.python_version()))
    try:
        from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
    except ImportError as error:
        raise ConnectError(
            "%s cannot import %s; try: %s -m pip install pyocd" % (sys.executable, error.name, sys.executable)
        ) from None

    def give_up(reason: str) -> None:
        # The main thread may wait for the probe for good.
        _report(ConnectError("the debug probe is lost: %s" % reason), streams)
        os._exit(1)

    def meet(probe: WatchedProbe) -> None:
        probe.mourners.append(give_up)
        watchdog.probe = probe

    session = PyocdSession(
        SessionOptions(
            probe=arguments.probe,
            target=arguments.target,
            frequency=arguments.frequency,
            connect_mode=arguments.connect_mode,
            options=tuple(arguments.options),
            gdb_port=arguments.gdb_port if arguments.stdio else arguments.gdb_port or 0,
            core=arguments.core,
            dap_only=arguments.dap_only,
        ),
        None if front is None else front.between,
        meet,
    )
    session.probe.mourners.remove(give_up)
    session.operations.update(front.operations if front is not None else {})
    return session


def _serve_stdio(session: PyocdSession, log: LogKeeper, streams: Tuple[BinaryIO, BinaryIO]) -> None:
    from gdb_etm.access.channels import serve_stream

    serve_stream(session, log, *streams)


def _serve_by_hand(session: PyocdSession, log: LogKeeper, port: int) -> None:
    from gdb_etm.access.channels import ControlPort

    control = ControlPort(session, log, port)
    for warning in filter(None, (control.warning, *session.hello().warnings)):
        print("gdb-etm serve: %s" % warning, file=sys.stderr)
    session.probe.mourners.append(_mourn)
    print(describe(session.hello()))
    print("In GDB: etm connect localhost:%d    (Ctrl-C here ends it)" % control.number, flush=True)
    control.accept_for_ever()


def _mourn(reason: str) -> None:
    words = "gdb-etm serve: the debug probe is lost: %s; end this with Ctrl-C, then start it anew"
    print(words % reason, file=sys.stderr, flush=True)


def _report(error: ConnectError, streams: Optional[Tuple[BinaryIO, BinaryIO]]) -> None:
    if streams is None:
        print("gdb-etm serve: %s" % error, file=sys.stderr)
        return
    writer = streams[1]
    try:
        writer.write(encode_line({"error": error_message(error)}))
        writer.flush()
    except OSError:
        pass  # GDB is gone already


def take_stdio() -> Tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol; other output goes to stderr."""
    reader = os.fdopen(os.dup(0), "rb")
    writer = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reader, writer


def _install_signals(ignore_interrupt: bool) -> None:
    """Install signal handlers that end the process.

    Ctrl-C in GDB's terminal is GDB's, which stops the target through its own connection.
    """

    def stop(number: int, frame: Optional[FrameType]) -> None:
        raise _Stop

    signal.signal(signal.SIGINT, signal.SIG_IGN if ignore_interrupt else stop)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def _close_in_time(session: PyocdSession) -> None:
    """Close the session within a time limit.

    A probe that does not answer must not keep the process alive.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    deadline = end_within(_CLOSING_SECONDS)
    session.close()
    deadline.cancel()


if __name__ == "__main__":
    sys.exit(main())
