"""Opening of connections, by way of pyOCD or of the debugger's own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.client import Client, attach, start
from gdb_etm.access.port import AccessPort
from gdb_etm.access.process import SERVER
from gdb_etm.access.wire import NO_CORE, describe
from gdb_etm.capture import Core
from gdb_etm.coresight.romtable import Space
from gdb_etm.errors import AccessError, ConnectError, EtmError
from gdb_etm.registers import cortex_m
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.description import core_type
from gdb_etm.session.interpreter import interpreter
from gdb_etm.session.monitor_port import fault_status, spaces_of
from gdb_etm.session.servers import kind_of

if TYPE_CHECKING:
    from gdb_etm.session.session import DebugSession

# The error when a second connection would take GDB's own.
CONNECTED = 'GDB is connected to %s: "disconnect" first, or "etm connect target"'
_BESIDE = "gdb_etm.beside.process"
_RELAY = "gdb_etm.beside.relay"
_CPUID = cortex_m.SCS_BASE + cortex_m.CPUID.offset


class ProcessRequest(NamedTuple):
    """What a user asked of a connection by way of pyOCD."""

    # Host and port of a process started by hand; None to start one.
    server: Optional[Tuple[str, int]]
    # For the process that is started, see :func:`~gdb_etm.access.process.server_arguments`.
    arguments: Sequence[str]
    # Whether GDB is to have reverse execution.
    reverse: bool = True


def over_process(session: DebugSession, request: ProcessRequest) -> TargetConnection:
    """Connect through pyOCD's process, which is started or exists.

    The debugger is connected too, unless the process serves no core.

    :returns: The connection; trace unit and buffer are still to be found.
    :raises ConnectError: There is no probe, no target, no such process, or GDB cannot connect.
    """
    if request.server is not None:
        client = attach(*request.server)
    else:
        client = _start(session, request)
    hello = client.hello
    title = describe(hello)
    if hello.core == NO_CORE:
        return TargetConnection(hello.probe, title, None, _spaces(client), client)
    core = next(core for core in hello.cores if core.number == hello.core)
    try:
        connection = session.debugger.connection()
        if connection is not None:
            raise ConnectError(CONNECTED % connection)
        _connect(session.debugger, client)
    except (EtmError, KeyboardInterrupt):
        client.close()
        raise
    return TargetConnection(core.name, title, Core("cpu_0", core.name.split()[0], {}), _spaces(client, core.ap), client)


def _start(session: DebugSession, request: ProcessRequest) -> Client:
    with session.meter.task("waiting for pyOCD to open the target") as task:

        def wait(seconds: float) -> None:
            task.wait(seconds)
            session.progress(seconds)

        wait(0)
        module = _BESIDE if request.reverse else SERVER
        return start(interpreter(), request.arguments, progress=wait, module=module)


def _connect(debugger: Debugger, client: Client) -> None:
    try:
        debugger.connect(client)
    except ConnectError as error:
        try:
            client.states()
        except AccessError as cause:
            # GDB knows only that the server let it go, because it could not halt the core.
            raise ConnectError(str(cause)) from None
        raise error


def over_debugger(debugger: Debugger, reverse: bool = False) -> TargetConnection:
    """Use the debugger's own connection to a Cortex-M.

    :param reverse: Whether GDB is to have reverse execution, where its server lets it be away for a moment.
    :returns: The connection; trace unit and buffer are still to be found.
    :raises AccessError: The target cannot be read.
    """
    port = debugger.access_port()
    address = debugger.server() if reverse and not debugger.is_running() else None
    kind = None if address is None else kind_of(debugger)
    if address is None or kind is None or not kind.stays_halted:
        return over_port(port)
    return _over_relay(debugger, address, port.name)


def over_monitor(debugger: Debugger) -> TargetConnection:
    """Use monitor commands of the debugger's OpenOCD, which has the core.

    :returns: The connection; trace unit and buffer are still to be found.
    :raises ConnectError: The debugger's server is no OpenOCD.
    """
    spaces = spaces_of(debugger)
    title = "OpenOCD's access ports only: %s" % ", ".join(space.port.name for space in spaces)
    connection = TargetConnection("OpenOCD", title, None, spaces, None)
    connection.sees_halts = True
    connection.fault_status = partial(fault_status, debugger)
    return connection


def _over_relay(debugger: Debugger, address: Tuple[str, int], name: str) -> TargetConnection:
    # A process takes GDB's place at the server, and GDB connects to the process.
    debugger.disconnect()
    try:
        client = start(interpreter(), ["--server=%s:%d" % address], module=_RELAY)
    except (EtmError, KeyboardInterrupt):
        debugger.connect_server(*address)
        raise
    try:
        _connect(debugger, client)
        connection = over_port(client.port(), client, name)
    except (EtmError, KeyboardInterrupt):
        debugger.disconnect()
        client.close()
        debugger.connect_server(*address)
        raise
    connection.server = address
    return connection


def over_port(port: AccessPort, client: Optional[Client] = None, where: str = "") -> TargetConnection:
    """Use the memory of a Cortex-M, whatever reaches it.

    :param client: The process beside GDB that reaches it, if one does.
    :param where: What the greeting calls the server; the port's own name when empty.
    :returns: The connection; trace unit and buffer are still to be found.
    :raises AccessError: The target cannot be read.
    """
    cpuid = _cpuid(port)
    name = core_type(cpuid)
    is_m7 = cortex_m.CPUID.get(cpuid, "PARTNO") == cortex_m.PART_M7
    space = Space(port, cortex_m.ROM_TABLE_BASE_M7 if is_m7 else cortex_m.ROM_TABLE_BASE)
    title = "%s through %s" % (name, where or port.name)
    return TargetConnection(name, title, Core("cpu_0", name, {}), [space], client)


def _spaces(client: Client, first: Optional[int] = None) -> List[Space]:
    aps = sorted((ap for ap in client.hello.aps if ap.has_rom), key=lambda ap: ap.id != first)
    return [Space(client.port(ap.id), ap.rom) for ap in aps]


def _cpuid(port: AccessPort) -> int:
    try:
        return port.read32(_CPUID)
    except AccessError as error:
        raise AccessError("no Cortex-M found through %s: %s" % (port.name, error), _CPUID, error.kind)
