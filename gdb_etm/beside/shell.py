"""``gdb-etm replay`` and ``gdb-etm proxy``: reverse execution for GDB."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import closing, contextmanager
from functools import partial
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.access.watchdog import end_with
from gdb_etm.errors import CaptureError, EtmError
from gdb_etm.replay.between import pass_on, serve
from gdb_etm.replay.console import Replay
from gdb_etm.replay.ends import ServerLink
from gdb_etm.replay.proxy import Source
from gdb_etm.replay.reliance import LIMITS, MOST, NO_REGIONS, Reliance, most_of, regions, reliance_of
from gdb_etm.replay.target import Target
from gdb_etm.replay.wires import Wire, connect, over_socket
from gdb_etm.sockets.acceptor import Acceptor
from gdb_etm.sockets.listener import listen_on, listen_privately

# What is printed once GDB may connect.
LISTENING = "In GDB: target remote %s"
_LAST_WORDS_SECONDS = 0.1


def main_replay(argv: Sequence[str]) -> int:
    """Run ``gdb-etm replay`` until GDB is gone.

    :param argv: Arguments after the word ``replay``.
    :returns: The exit status: 0, or 1 after an error, which is printed in one line.
    """
    return _run(_replay, _replay_parser().parse_args(argv))


def main_proxy(argv: Sequence[str]) -> int:
    """Run ``gdb-etm proxy`` until GDB ends, or Ctrl-C while it listens.

    :param argv: Arguments after the word ``proxy``.
    :returns: The exit status: 0, or 1 after an error, which is printed in one line.
    """
    return _run(_proxy, _proxy_parser().parse_args(argv))


def _run(command: Callable[[argparse.Namespace, Optional[Wire]], None], arguments: argparse.Namespace) -> int:
    # GDB's own pipe gets Ctrl-C as well, which is for GDB.
    before = signal.signal(signal.SIGINT, signal.default_int_handler if _listens(arguments) else signal.SIG_IGN)
    wire = None if _listens(arguments) else standard_wire()
    try:
        command(arguments, wire)
    except EtmError as error:
        _tell(str(error))
        if wire is not None:
            _hear_out(wire)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def _hear_out(wire: Wire) -> None:
    # Where GDB's pipe breaks off before everything was read from it, newer GDBs do not show the error.
    try:
        while wire.read(_LAST_WORDS_SECONDS):
            pass
    except (EOFError, ValueError):
        pass  # GDB is gone, or the replay had closed it


def _tell(line: str) -> None:
    print("gdb-etm: %s" % line, file=sys.stderr, flush=True)


def _replay(arguments: argparse.Namespace, wire: Optional[Wire]) -> None:
    if arguments.with_stdin:
        end_with(sys.stdin.buffer)
    # The plug-in reads what comes before the line that says where to connect.
    tell = _tell if wire is not None else partial(print, flush=True)
    replay = load_replay(arguments.snapshot, arguments.elf, arguments.id, arguments.buffer, tell)
    replay.past.rely(_reliance(arguments))
    if wire is None:
        with _open_acceptor(arguments) as acceptor:
            wire = over_socket(acceptor.wait())
    serve(wire, Target(replay))


def _proxy(arguments: argparse.Namespace, wire: Optional[Wire]) -> None:
    host, port = arguments.server
    name = "the server at %s:%d" % (host, port)
    source = _source(arguments, name)
    if wire is not None:
        front(wire, host, port, name, source)
        return
    connect(host, port).close()  # a missing server is reported at once
    with _open_acceptor(arguments) as acceptor:
        while True:
            with closing(over_socket(acceptor.wait())) as wire:
                try:
                    front(wire, host, port, name, source, acceptor)
                except EtmError as error:
                    _tell(str(error))


def _listens(arguments: argparse.Namespace) -> bool:
    return arguments.port is not None or arguments.socket


@contextmanager
def _open_acceptor(arguments: argparse.Namespace) -> Iterator[Acceptor]:
    listener = listen_privately() if arguments.socket else listen_on(arguments.port, "--port 0 takes a free port")
    with closing(Acceptor(listener)) as acceptor:
        if listener.warning:
            _tell(listener.warning)
        print(LISTENING % listener.where, flush=True)
        yield acceptor


def _add_listening(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--port", metavar="PORT", type=port_number, help="serve on localhost; 0 takes a free port")
    where.add_argument("--socket", action="store_true", help="serve on a socket in a folder that is yours alone")


def front(wire: Wire, host: str, port: int, name: str, source: Source, acceptor: Optional[Acceptor] = None) -> None:
    """Relay between one GDB and a server until one of them ends.

    :param name: What the server is called in messages.
    :param acceptor: Where another GDB may connect; it is refused.
    :raises EtmError: The server is not there, or is gone.
    """
    with closing(connect(host, port)) as connection:
        server = ServerLink(connection, name)
        server.stop_acknowledging()
        pass_on(wire, server, source, acceptor)


def _source(arguments: argparse.Namespace, name: str) -> Source:
    from gdb_etm.beside.histories import Histories, SnapshotSource, TracingSource
    from gdb_etm.session.saved import read_captures

    histories = Histories(arguments.elf)
    if arguments.snapshot is not None:
        captures = read_captures(arguments.snapshot, arguments.elf, arguments.buffer)
        return SnapshotSource(histories, captures, _reliance(arguments))
    return TracingSource(histories, name, _tell, _reliance(arguments))


def _add_reliance(parser: argparse.ArgumentParser) -> None:
    # "monitor recovery" and its kin change them.
    parser.add_argument(
        "--recovery",
        metavar="TIER",
        choices=tuple(LIMITS),
        default="assumed",
        help="how far values are worked out: %s (default: assumed)" % ", ".join(LIMITS),
    )
    parser.add_argument(
        "--recovery-limit",
        metavar="N",
        type=_checked_most,
        default=str(MOST),
        help="for how many instructions before the end, or unlimited (default: %d)" % MOST,
    )
    parser.add_argument(
        "--volatile",
        metavar="ADDRESS,SIZE",
        type=_checked_regions,
        action="append",
        default=[],
        help="memory that others write, too; may be repeated",
    )


def _reliance(arguments: argparse.Namespace) -> Reliance:
    volatile = " ".join(arguments.volatile) or NO_REGIONS
    settings = {"recovery": arguments.recovery, "recovery-limit": arguments.recovery_limit, "volatile": volatile}
    return reliance_of(settings)


def _checked_most(text: str) -> str:
    try:
        most_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _checked_regions(text: str) -> str:
    try:
        regions(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return "" if text.strip() == NO_REGIONS else text


def _proxy_parser() -> argparse.ArgumentParser:
    about = "Give a GDB server reverse execution.  In GDB: target remote | gdb-etm proxy --server HOST:PORT --elf FILE"
    parser = argparse.ArgumentParser(prog="gdb-etm proxy", description=about)
    parser.add_argument(
        "--server", metavar="HOST:PORT", type=server_address, required=True, help="the live target's server"
    )
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument(
        "--snapshot", metavar="DIR", help="the history, instead of the trace unit that the server reaches"
    )
    parser.add_argument("--buffer", metavar="NAME", help="the snapshot's trace buffer of this name")
    _add_listening(parser)
    _add_reliance(parser)
    return parser


def server_address(text: str) -> Tuple[str, int]:
    """Read HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "localhost", port_number(port)


def _replay_parser() -> argparse.ArgumentParser:
    about = "Replay a snapshot to GDB, both ways.  In GDB: target remote | gdb-etm replay SNAPSHOT --elf FILE"
    parser = argparse.ArgumentParser(prog="gdb-etm replay", description=about)
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="snapshot folder")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument("--id", metavar="N", type=lambda text: int(text, 0), help="the core with this trace ID")
    parser.add_argument("--buffer", metavar="NAME", help="the trace buffer of this name")
    # For etm replay: the end of stdin ends the process, which listens.
    parser.add_argument("--with-stdin", action="store_true", help=argparse.SUPPRESS)
    _add_listening(parser)
    _add_reliance(parser)
    return parser


def port_number(text: str) -> int:
    """Read a TCP port's number."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise ValueError(text)
    return value


def standard_wire() -> Wire:
    """Reserve standard input and output for GDB.

    Whatever else prints goes to standard error.
    """
    reader, writer = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Wire(reader, writer)


def load_replay(
    snapshot: str,
    files: List[str],
    trace_id: Optional[int],
    buffer: Optional[str] = None,
    tell: Callable[[str], None] = _tell,
) -> Replay:
    """Decode a snapshot into a history that GDB can replay.

    :param snapshot: Its folder.
    :param files: ELF files of the program.
    :param trace_id: Which core; None takes the first that can be replayed.
    :param buffer: Which trace buffer; None takes the first that can be replayed.
    :param tell: Takes what the user should know of it, a line at a time.
    :raises EtmError: There is nothing to replay.
    """
    from gdb_etm.beside.replays import make_replay
    from gdb_etm.offline.debugger import OfflineDebugger
    from gdb_etm.session.saved import read_captures
    from gdb_etm.session.session import DebugSession

    debugger = OfflineDebugger(files)
    session = DebugSession(debugger)
    problem: EtmError = CaptureError("%s holds no trace" % snapshot)
    for capture in read_captures(snapshot, files, buffer):
        record = session.add(capture, "loaded from " + snapshot, is_live=False)
        try:
            replay = make_replay(session.decode(record, trace_id), debugger.function_at, files, record.anchored)
        except CaptureError as error:
            problem = error
            continue
        for note in capture.notes:
            tell("note: " + note)
        return replay
    raise problem
