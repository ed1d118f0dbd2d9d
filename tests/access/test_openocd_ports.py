"""Real OpenOCD, and the board's truth: access ports by monitor commands.

A Cortex-A9's trace hardware is on a bus that GDB's memory does not reach.
"""

from __future__ import annotations

import re
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Optional, Tuple, cast

import pytest

from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.history.store import TracedInstruction
from gdb_etm.program.image import load_elf
from gdb_etm.session.captures import with_images
from gdb_etm.session.decoding import decode_capture
from gdb_etm.session.monitor_port import MonitorPort
from gdb_etm.session.opening import over_monitor
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.servers import kind_of, reset_commands
from gdb_etm.traceunit.options import TraceOptions
from tests.gdb_session import ROOT, run_gdb
from tests.openocd import board_with_pins, connect_commands, openocd

A9 = ROOT / "tests" / "firmware" / "cortex_a" / "sort-a32.elf"
DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_END = b"\x1a"
_TRIES = 100


class TclDebugger:
    """What gives OpenOCD commands as "monitor" does, over its Tcl port."""

    def __init__(self, port: int) -> None:
        self.address = "localhost", 3333
        for _ in range(_TRIES):
            # The port is opened a little after GDB's.
            try:
                self._socket = socket.create_connection(("localhost", port), 10)
                return
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise AssertionError("OpenOCD opens no Tcl port")

    def server(self) -> Optional[Tuple[str, int]]:
        return self.address

    def monitor(self, command: str) -> str:
        self._socket.sendall(("if {[catch {%s} said]} {set said FAILED}; set said" % command).encode() + _END)
        reply = b""
        while not reply.endswith(_END):
            reply += self._socket.recv(1 << 16)
        said = reply[:-1].decode()
        if said.startswith("FAILED"):
            raise ConnectError("the target's server does not take it")
        return said

    def close(self) -> None:
        self._socket.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def test_a_cortex_a9_is_traced_through_openocd(tmp_path: Path) -> None:
    truth, port = tmp_path / "truth", free_port()
    options = ["-O", "board.hold=1", "-O", "board.truth=%s" % truth]
    with board_with_pins(tmp_path, "a9", "--elf", str(A9), *options) as config:
        with config.open("a") as more:
            more.write("target create a9.gdb mem_ap -dap a9.dap -ap-num 1 -gdb-port 0\n")
        with openocd(config, before="tcl_port %d" % port):
            with closing(TclDebugger(port)) as debugger:
                connection = over_monitor(cast(Any, debugger))
                assert connection.title == "OpenOCD's access ports only: AP 1 of a9.dap"
                connection.find(Choice())
                connection.start(TraceOptions())
                time.sleep(0.5)
                capture = with_images(connection.stop((), "stop"), tuple(load_elf(str(A9))))
                connection.release()
    (history,) = decode_capture(capture, Meter(TerminalLine(None))).values()
    walked = history.walk(1, len(history))
    found = ["0x%08x" % item.address for item in walked if isinstance(item, TracedInstruction)]
    ran = [line[:10] for line in truth.read_text().splitlines() if re.match("0x[0-9a-f]{8}", line)]
    assert len(found) > 1000
    assert " ".join(found) in " ".join(ran)


def test_a_server_is_known_by_its_version_or_its_port(tmp_path: Path) -> None:
    port = free_port()
    with board_with_pins(tmp_path, "m33") as config:
        with openocd(config, before="tcl_port %d" % port):
            with closing(TclDebugger(port)) as debugger:
                kind = kind_of(cast(Any, debugger))
                assert kind is not None and kind.name == "OpenOCD" and kind.stays_halted
                for command in reset_commands(cast(Any, debugger)):
                    debugger.monitor(command)
                assert debugger.monitor("m33.cpu curstate") == "halted"
                # The ports of their manuals; neither is asked for its version.
                debugger.address = "localhost", 2331
                assert reset_commands(cast(Any, debugger)) == ("halt", "reset")
                debugger.address = "localhost", 61234
                assert reset_commands(cast(Any, debugger)) == ("reset", "halt")


def test_errors_of_the_port(tmp_path: Path) -> None:
    port = free_port()
    with board_with_pins(tmp_path, "m33") as config:
        with openocd(config, "halt", before="tcl_port %d" % port):
            with closing(TclDebugger(port)) as debugger:
                ap = MonitorPort(cast(Any, debugger), "m33.dap", 0)
                ap.write32(0x20010000, 0x12345678)
                assert ap.read_block(0x20010000, 2)[0] == 0x12345678
                assert len(ap.read_block(0x200103F0, 600)) == 600
                assert ap.read_fifo(0x20010000, 600) == [0x12345678] * 600
                with pytest.raises(AccessError, match="cannot read 0x70000000 through AP 0 of m33.dap"):
                    ap.read32(0x70000000)
                with pytest.raises(AccessError, match="cannot write 0x70000000 through AP 0 of m33.dap"):
                    ap.write32(0x70000000, 1)
                assert ap.read32(0x20010000) == 0x12345678


def test_monitor_commands_in_gdb(tmp_path: Path) -> None:
    """GDB keeps its connection, and its server keeps the core."""
    with board_with_pins(tmp_path, "m33", "--elf", str(DEMO)) as config:
        with openocd(config) as server:
            output = run_gdb(
                [*connect_commands(server, DEMO), "etm connect target --dap-only", "etm start", "tbreak dispatch"]
                + ["continue", "etm stop", "etm history -1", "etm disconnect", "info registers pc"]
            )
    assert "OpenOCD's access ports only: AP 0 of m33.dap\nTrace: ETMv4.2 at 0xe0041000" in output
    assert "etm: 1,782 instructions from Reset_Handler to main" in output
    assert re.search(r"^pc +0x2f0 ", output, re.M), output
