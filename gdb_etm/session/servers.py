"""GDB servers of others, and what each does in its own way.

A server that answers ``monitor version`` is known by that, another one by the port that its manual gives it.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple

from gdb_etm.errors import ConnectError
from gdb_etm.session.debugger import Debugger


class ServerKind(NamedTuple):
    """One GDB server."""

    name: str
    # Matches what it says to "monitor version"; None where its manual has no such command.
    version: "Optional[re.Pattern[str]]"
    # The TCP port that it takes by itself; 0 where another server has the same.
    port: int
    # Monitor commands that reset the chip and leave the core halted at its first instruction.
    reset: Tuple[str, ...]
    # Whether the core stays halted while GDB is away and comes again.
    stays_halted: bool
    # Who says so.
    source: str


KINDS = (
    ServerKind(
        "OpenOCD",
        re.compile("Open On-Chip Debugger"),
        0,
        ("reset halt",),
        True,
        "OpenOCD User's Guide 0.12: General Commands (version, reset), Target Events (gdb-detach has no default)",
    ),
    ServerKind(
        "J-Link GDB Server",
        None,
        2331,
        ("halt", "reset"),
        False,
        "J-Link user guide UM08001, 3.3 (monitor commands); the same commands in Cortex-Debug, src/jlink.ts",
    ),
    ServerKind(
        "ST-LINK GDB server",
        None,
        61234,
        ("reset", "halt"),
        False,
        "UM2576, STM32CubeIDE ST-LINK GDB server (port); the commands in Cortex-Debug, src/stlink.ts, which starts it"
        " with --halt for them",
    ),
)
# pyOCD, and whoever else is not known; QEMU has no reset of the core that a debugger would want.
_RESET = ("reset halt",)


def kind_of(debugger: Debugger) -> Optional[ServerKind]:
    """Recognise the server that the debugger is connected to; None: another one."""
    address = debugger.server()
    if address is None:
        return None
    by_port = next((kind for kind in KINDS if kind.port == address[1]), None)
    if by_port is not None:
        return by_port
    try:
        said = debugger.monitor("version")
    except ConnectError:
        return None
    return next((kind for kind in KINDS if kind.version is not None and kind.version.search(said)), None)


def reset_commands(debugger: Debugger) -> Tuple[str, ...]:
    """Give the monitor commands that reset the chip and halt the core."""
    kind = kind_of(debugger)
    return _RESET if kind is None else kind.reset
