"""``etm connect``, ``etm disconnect`` and ``etm info``."""

from __future__ import annotations

from typing import Iterator

from gdb_etm.commands.declare import Argument, Command, Completion, Values
from gdb_etm.commands.parse import choice, flag, path
from gdb_etm.profiles.library import profiles
from gdb_etm.session.connecting import BOARDS, MODES, OWN, ConnectRequest, connect
from gdb_etm.session.disconnecting import disconnect, drop_lost
from gdb_etm.session.numbers import count, hertz, size
from gdb_etm.session.session import DebugSession

WHERE = Argument(
    "WHERE",
    str,
    "board:m33, m7, m4, a9, m0, m23 or a chip (simulated) | HOST:PORT of gdb-etm serve | target",
    choices=(*BOARDS, OWN),
)
ELF = path("--elf", "ELF file with the program; the simulated board starts with it", "FILE", many=True)
PROBE = Argument("--probe", str, "the probe's unique id, or part of it", "UID")
TARGET = Argument("--target", str, "pyOCD's name of the chip; without it pyOCD finds out what it can", "NAME")
FREQUENCY = Argument("--frequency", hertz, "wire clock in Hz, such as 4M", "HZ")
MODE = choice(
    "--mode", MODES, "attach (without halt or reset; the default for a probe) | halt | pre-reset | under-reset", "MODE"
)
UNIT = Argument("--unit", count, "which trace unit, where the chip has several", "N")
SINK = Argument("--buffer", count, "which trace buffer, where the chip has several", "N")
ETB_SIZE = Argument("--etb-size", size, "size of the simulated board's trace buffer, such as 4K", "BYTES")
TRUTH = path("--truth", "the simulated board writes there what really ran", "FILE")
REGISTERS = flag("--registers", "with --truth: the registers after every instruction, too")
DATA_TRACE = flag("--data-trace", "board:m4 with another trace unit, one that traces loads and stores")
DAP_ONLY = flag("--dap-only", "reach only the trace hardware; GDB stays connected to the server that runs the core")
PROFILE = Argument(
    "--profile",
    str,
    "the chip's profile: a name, a file, or none; default: the package's profile with the chip's ID",
    "NAME",
    completion=Completion.FILE,
    suggest=lambda session, before, word: ["none", *profiles()],
)
OPTION = Argument("--option", str, "a pyOCD session option; may be given more than once", "NAME=VALUE", many=True)


def run_connect(session: DebugSession, values: Values) -> Iterator[str]:
    """Connect, find trace unit and buffer, and describe them."""
    return connect(
        session,
        ConnectRequest(
            where=values.get(WHERE) or "",
            elf=tuple(values.all(ELF)),
            probe=values.get(PROBE),
            target=values.get(TARGET),
            frequency=values.get(FREQUENCY),
            mode=values.get(MODE),
            dap_only=values.get(DAP_ONLY) is not None,
            profile=values.get(PROFILE),
            unit=values.get(UNIT),
            buffer=values.get(SINK),
            etb_size=values.get(ETB_SIZE),
            truth=values.get(TRUTH),
            registers=values.get(REGISTERS) is not None,
            data_trace=values.get(DATA_TRACE) is not None,
            option=tuple(values.all(OPTION)),
        ),
    )


def run_disconnect(session: DebugSession, values: Values) -> Iterator[str]:
    """End the connection."""
    name = drop_lost(session)
    if name is None:
        name = session.connected().name
        disconnect(session)
    yield "disconnected from %s; the captures stay at hand" % name


def run_info(session: DebugSession, values: Values) -> Iterator[str]:
    """Describe the connection's trace unit and buffer."""
    yield from session.connected().info("v" in values.modifiers)
    if session.filters.filters:
        yield "filters: " + session.filters.text


CONNECT = Command(
    "connect",
    "Connect to a target with trace, and find its trace unit and buffer.",
    run_connect,
    details=(
        "Starts pyOCD beside GDB, connects GDB to it and looks for trace unit and buffer.  When GDB is connected to a\n"
        "server already, its connection is used: so Cortex-M trace works with OpenOCD, J-Link and others.\n"
        'Changes on the target are undone by "etm disconnect" and when GDB ends.\n'
        "pyOCD cannot run a Cortex-A or Cortex-R: there --dap-only reaches trace unit and buffer through the debug\n"
        'access port, while GDB is connected to whatever runs the core, or to nothing; then "etm stop" gives the\n'
        "capture."
    ),
    arguments=(WHERE, ELF, PROBE, TARGET, FREQUENCY, MODE, DAP_ONLY, PROFILE, UNIT, SINK)
    + (ETB_SIZE, TRUTH, REGISTERS, DATA_TRACE, OPTION),
    examples=(
        ("connect", "the only debug probe, or GDB's own connection"),
        ("connect --target stm32h743xx --frequency 4M", "a probe, with pyOCD's name of the chip"),
        ("connect board:m33 --elf app.elf", "a simulated Cortex-M33"),
        ("connect localhost:3344", 'a "gdb-etm serve" that runs already'),
        ("connect board:a9 --dap-only --elf app.elf", "a simulated Cortex-A9"),
        ("connect --dap-only --unit 1", "the trace unit of a Zynq-7000's second Cortex-A9"),
    ),
)

DISCONNECT = Command(
    "disconnect",
    "Stop tracing, put the target's trace registers back and end the connection.",
    run_disconnect,
    examples=(("disconnect", "the program goes on as its server lets it"),),
)
