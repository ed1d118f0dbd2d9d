"""``gdb-etm board``: a simulated board with power, for OpenOCD.

OpenOCD reaches its pins by the ``remote_bitbang`` adapter, over a socket in a folder of the user's alone, or over a TCP
port whose peers are looked up.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import sys
from contextlib import closing
from types import FrameType
from typing import Any, Dict, Optional, Sequence

from gdb_etm.board.bitbang import BitbangPins
from gdb_etm.board.chips import NAMES
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.jtag import IDCODE, IR_LENGTH, Tap
from gdb_etm.board.options import board_options
from gdb_etm.board.plugin import BoardProbePlugin
from gdb_etm.board.variants import CORTEX_A
from gdb_etm.errors import EtmError
from gdb_etm.files import through_own_links
from gdb_etm.sockets.listener import Listener, listen_on, listen_privately

_RECEIVED_BYTES = 1 << 16
_CONFIG = "openocd.cfg"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_ADAPTER = """\
# OpenOCD's configuration of the simulated board {name}.
adapter driver remote_bitbang
remote_bitbang host {host}
remote_bitbang port {port}
adapter speed 1000
jtag newtap {name} cpu -irlen {length} -expected-id 0x{idcode:08x}
dap create {name}.dap -chain-position {name}.cpu
"""
# The work area is where OpenOCD's own small programs go, as that of "verify_image"; what is there is put back.
_WORK_AREA = "-work-area-phys 0x20040000 -work-area-size 0x4000 -work-area-backup 1"
_CORTEX_M = """\
target create {name}.cpu cortex_m -dap {name}.dap {work}
cortex_m reset_config sysresetreq
"""
# The access ports are beside the core, for what its memory does not reach; the last target is the one at hand.
_CORTEX_A = """\
target create {name}.apb mem_ap -dap {name}.dap -ap-num 1
target create {name}.ahb mem_ap -dap {name}.dap -ap-num 0
target create {name}.cpu cortex_a -dap {name}.dap -ap-num 1 -dbgbase 0x80090000 {work}
reset_config srst_only
"""


class _Stop(BaseException):
    """Request to end, raised in the main thread by a signal."""


def main(argv: Sequence[str]) -> int:
    """Run a board until Ctrl-C.

    :param argv: Arguments after the word ``board``.
    :returns: The exit status: 0, or 1 after an error, which is printed in one line.
    """
    arguments = _parser().parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        _run(arguments)
    except _Stop:
        pass
    except (EtmError, OSError, ValueError) as error:
        print("gdb-etm board: %s" % error, file=sys.stderr)
        return 1
    return 0


def _stop(number: int, frame: Optional[FrameType]) -> None:
    raise _Stop


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gdb-etm board", description="Give a simulated board power, and its JTAG pins to OpenOCD."
    )
    parser.add_argument("name", metavar="NAME", choices=NAMES, help=", ".join(NAMES))
    parser.add_argument("--elf", metavar="FILE", help="the program in its memory at power-up")
    parser.add_argument("--config", metavar="FILE", help="where OpenOCD's configuration of the board is written")
    parser.add_argument("--port", metavar="PORT", type=int, help="pins on a port of localhost; 0 takes a free one")
    parser.add_argument(
        "-O", dest="options", action="append", default=[], metavar="NAME=VALUE", help="a board option, as board.faults"
    )
    return parser


def _run(arguments: argparse.Namespace) -> None:
    from gdb_etm.board.board import make_board

    options = _options(arguments.options)
    options.update({} if arguments.elf is None else {"board.elf": arguments.elf})
    chosen = board_options(arguments.name, options.get)
    parse_faults(chosen.faults)
    listener = listen_privately() if arguments.port is None else listen_on(arguments.port, "--port 0 takes a free one")
    with closing(listener), closing(make_board(chosen)) as board:
        path = arguments.config or os.path.join(os.path.dirname(listener.where), _CONFIG)
        if arguments.config is None and listener.port:
            raise ValueError("--port goes with --config FILE, which tells OpenOCD where the port is")
        with open(path, "w", encoding="utf-8", opener=through_own_links) as config:
            config.write(configuration(arguments.name, listener))
        if listener.warning:
            print("gdb-etm board: %s" % listener.warning, file=sys.stderr)
        print("simulated board %s: its JTAG pins are at %s" % (arguments.name, listener.where))
        print("Start OpenOCD: openocd -f %s    (Ctrl-C here ends the board)" % path, flush=True)
        while True:
            select.select([listener], [], [])
            connection = listener.accept()
            if connection is not None:
                with connection:
                    _serve(connection, BitbangPins(Tap(board.dp), board.reset))


def configuration(name: str, listener: Listener) -> str:
    """Write OpenOCD's configuration of a board.

    :param listener: Where its pins are.
    """
    host, port = (listener.where, 0) if not listener.port else ("localhost", listener.port)
    text = _ADAPTER + (_CORTEX_A if name == CORTEX_A else _CORTEX_M)
    return text.format(name=name, host=host, port=port, length=IR_LENGTH, idcode=IDCODE, work=_WORK_AREA)


def _serve(connection: socket.socket, pins: BitbangPins) -> None:
    try:
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not pins.has_quit:
            data = connection.recv(_RECEIVED_BYTES)
            if not data:
                break
            replies = pins.feed(data)
            if replies:
                connection.sendall(replies)
    except OSError:
        pass  # the adapter is gone; the board stays
    except ValueError as error:
        print("gdb-etm board: the adapter was disconnected: %s" % error, file=sys.stderr, flush=True)


def _options(given: Sequence[str]) -> Dict[str, Any]:
    known = {option.name: option.type for option in BoardProbePlugin().options}
    found: Dict[str, Any] = {}
    for each in given:
        name, _, text = each.partition("=")
        if name not in known:
            raise ValueError("no board option is called '%s'; there are %s" % (name, ", ".join(known)))
        found[name] = _value(name, known[name], text)
    return found


def _value(name: str, kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise ValueError("%s is 1 or 0, and not '%s'" % (name, text))
        return text.lower() in _TRUE
    if kind is int and not text.isdigit():
        raise ValueError("%s is a number, and not '%s'" % (name, text))
    return kind(text)
