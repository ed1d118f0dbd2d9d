"""One pyOCD session with its GDB servers: opening, description and closing.

After closing, the target runs on as before.
"""

from __future__ import annotations

import difflib
import importlib.util
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import pyocd
from pyocd.core import exceptions
from pyocd.core.options import OPTIONS_INFO
from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.coresight.ap import MEM_AP
from pyocd.coresight.cortex_m import CortexM
from pyocd.probe.aggregator import DebugProbeAggregator
from pyocd.probe.debug_probe import DebugProbe
from pyocd.target import TARGET
from pyocd.utility.cmdline import convert_session_options
from pyocd.utility.sequencer import CallSequence

from gdb_etm.access.core_control import CoreControl
from gdb_etm.access.gdb_server import Between, GdbServer
from gdb_etm.access.guards import guard_listeners, unused_files, without_found_files
from gdb_etm.access.pyocd_port import PyocdPort, access_error, ap_name
from gdb_etm.access.watched_probe import NonsenseError, UsbError, WatchedProbe
from gdb_etm.access.wire import NO_CORE, PROTOCOL, ApInfo, CoreInfo, Hello, Message
from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.sockets.listener import Listener, listen_on, listen_privately

# What differs from pyOCD's defaults; -O options and a pyocd.yaml that is named come first.
_DEFAULTS: Dict[str, Any] = {
    # pyOCD's own default would erase a locked chip on connecting.
    "auto_unlock": False,
    # No telnet port is opened for semihosting; with -O enable_semihosting=1 its console is GDB's.
    "semihost_use_syscalls": True,
    "stdio_mode": "off",
    "warning.cortex_m_default": False,
    "hide_programming_progress": True,
}

_DP_CTRL_STAT = 0x4
_ANOTHER_PORT = "try another --gdb-port"
# What pyOCD says of a target without a core that it can run.
_NO_CORES = "No cores were discovered!"


class SessionOptions(NamedTuple):
    """Options of the session; pyOCD's defaults stand for None or empty."""

    # Unique id of the probe, or a part of it, as ``pyocd list`` shows it; ``"board:m33"`` is a simulated one.
    probe: Optional[str] = None
    # pyOCD target type.
    target: Optional[str] = None
    # Wire clock in hertz.
    frequency: Optional[int] = None
    # ``attach`` (no reset, no halt), ``halt``, ``pre-reset`` or ``under-reset``.
    connect_mode: str = "attach"
    # pyOCD session options, each ``NAME=VALUE``.
    options: Tuple[str, ...] = ()
    # TCP port for GDB; 0 takes a free one, None a socket that no other user reaches, where the system has such.
    gdb_port: Optional[int] = None
    # The core that GDB debugs; None takes pyOCD's primary core.
    core: Optional[int] = None
    # Open access ports alone, leave every core alone and serve no GDB: for processors that another server runs.
    dap_only: bool = False


class _AccessPortsOnly:
    """pyOCD session delegate that leaves the cores alone."""

    _CORES = ("check_for_cores", "halt_on_connect", "create_flash")
    _COMPONENTS = ("find_components", "create_cores", "create_components")

    def will_init_target(self, target: Any, init_sequence: CallSequence) -> None:
        """Remove the steps for cores from pyOCD's start sequence.

        What is on the ports is found without pyOCD.
        """
        for name in self._CORES:
            init_sequence.remove_task(name)
        init_sequence.wrap_task("discovery", self._ports)

    def _ports(self, discovery: CallSequence) -> CallSequence:
        for name in self._COMPONENTS:
            discovery.remove_task(name)
        return discovery


class PyocdSession:
    """An open pyOCD session that serves GDB and hands out access ports.

    :param options: How to open it.
    :param between: Makes who stands between a GDB and the server, for each GDB.
    :param meet: Called with the probe before it is opened, which may never return.
    :raises ConnectError: No session could be opened; the message says what to try.
    """

    def __init__(
        self,
        options: SessionOptions,
        between: Optional[Callable[[], Between]] = None,
        meet: Callable[[WatchedProbe], None] = lambda probe: None,
    ) -> None:
        guard_listeners()
        self._make_between = between
        self._session = _make_session(options)
        # The debug probe.
        self.probe: WatchedProbe = self._session.probe
        meet(self.probe)
        self._was_running = True
        self._server: Optional[GdbServer] = None
        self._ports: Dict[int, PyocdPort] = {}
        # What clients may ask for besides.
        self.operations: Dict[str, Callable[[Message], Message]] = {}
        try:
            # GDB and clients use the probe from other threads.
            with self.probe.borrowed():
                _open(self._session)
                self._hello = self._describe_ports() if options.dap_only else self._serve(options)
            # pyOCD leaves out what it could not read, and goes on.
            _refuse_failure(self.probe)
        except (exceptions.Error, OSError) as error:
            self.close()
            _refuse_failure(self.probe)
            raise ConnectError("the target was found, then stopped answering: %s" % error) from None
        except BaseException:
            self.close()
            _refuse_failure(self.probe)
            raise

    def hello(self) -> Hello:
        """Describe the session, as it was when it opened."""
        return self._hello

    def aps(self) -> Tuple[ApInfo, ...]:
        """List the memory access ports."""
        return tuple(
            ApInfo(int(ap.address.nominal_address), ap_name(ap), int(ap.idr), int(ap.rom_addr), bool(ap.has_rom_table))
            for ap in self._mem_aps()
        )

    def port(self, ap: int) -> PyocdPort:
        """Return the access port with this id.

        :raises AccessError: There is none.
        """
        if ap not in self._ports:
            for mem_ap in self._mem_aps():
                if mem_ap.address.nominal_address == ap:
                    self._ports[ap] = PyocdPort(mem_ap)
                    break
            else:
                names = ", ".join(info.name for info in self.aps())
                raise AccessError("no memory access port %d; there are: %s" % (ap, names or "none"))
        return self._ports[ap]

    def states(self) -> List[str]:
        """Return what each core does: ``running``, ``halted``, ``sleeping``, ``reset`` or ``lockup``.

        :raises AccessError: The target does not answer.
        """
        try:
            return [str(core.get_state().name).lower() for core in _cores(self._session)]
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "read the core's state") from None

    def debug_port(self, power_up: bool = False) -> int:
        """Read the debug port's CTRL/STAT register.

        :param power_up: Whether to ask for power of the debug and system domains before.
        :raises AccessError: It does not answer.
        """
        port = self._session.target.dp
        try:
            if power_up:
                port.clear_sticky_err()
                port.power_up_debug()
            return int(port.read_dp(_DP_CTRL_STAT))
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "read the debug port") from None

    def core_control(self) -> CoreControl:
        """Return run control of the core that is served to GDB.

        :raises AccessError: No core was opened.
        """
        if self._server is None:
            raise AccessError("no core was opened, only access ports")
        return CoreControl(self._server.pyocds.target, self._server.pyocds)

    def close(self) -> None:
        """Stop the GDB servers and leave the target running.

        It stays halted if it was halted when the session opened.
        """
        if self._server is not None:
            self._server.stop()
            self._server = None
        if not self._was_running and not self._session.options.is_set("resume_on_disconnect"):
            self._session.options["resume_on_disconnect"] = False
        # That nothing can be put back was said when the probe was lost.
        self._session.context_state.suppress_disconnect_error = self.probe.lost is not None
        try:
            self._session.close()
        except (exceptions.Error, OSError) as error:
            print("error: closing the session: %s" % error, file=sys.stderr)

    def _serve(self, options: SessionOptions) -> Hello:
        """Serve GDB on the chosen core, and describe what was found."""
        core = self._choose_core(options.core)
        self._was_running = options.connect_mode != "attach" or core.get_state() is not Target.State.HALTED
        listener = listen_privately() if options.gdb_port is None else listen_on(options.gdb_port, _ANOTHER_PORT)
        self._server = _serve_gdb(self._session, core, self._make_between, listener)
        found = self._describe_ports()
        return found._replace(
            gdb_server=listener.where,
            warnings=(*found.warnings, *filter(None, [listener.warning])),
            core=int(core.core_number),
            running=self._was_running,
            cores=tuple(map(self._describe, _cores(self._session))),
            reverse=self._make_between is not None,
        )

    def _describe_ports(self) -> Hello:
        """Describe a session without a core."""
        return Hello(
            protocol=PROTOCOL,
            pyocd=str(pyocd.__version__),
            probe=str(self.probe.description),
            probe_uid=str(self.probe.unique_id),
            target=str(self._session.board.target_type),
            gdb_server="",
            core=NO_CORE,
            running=True,
            cores=(),
            aps=self.aps(),
            warnings=tuple(unused_files(self._session)),
        )

    def _mem_aps(self) -> List[MEM_AP]:
        aps = [ap for ap in self._session.target.aps.values() if isinstance(ap, MEM_AP)]
        return sorted(aps, key=lambda ap: int(ap.address.nominal_address))

    def _choose_core(self, index: Optional[int]) -> CortexM:
        cores = _cores(self._session)
        wanted = self._session.options.get("primary_core") if index is None else index
        for core in cores:
            if core.core_number == wanted:
                return core
        if index is None and cores:
            return cores[0]
        there = ", ".join("%d (%s)" % (core.core_number, core.name) for core in cores)
        raise ConnectError("the target has no core %s; cores: %s" % (wanted, there or "none"))

    def _describe(self, core: CortexM) -> CoreInfo:
        cpuid = int(core.read_memory(CortexM.CPUID))
        # CPUID.Variant is the r of a core's revision, CPUID.Revision its p (ARM DDI 0553).
        name = "%s r%dp%d" % (core.name, cpuid >> 20 & 15, cpuid & 15)
        return CoreInfo(int(core.core_number), name, cpuid, int(core.ap.address.nominal_address))


def _cores(session: Session) -> List[CortexM]:
    """Return the cores that execute, without bare memory ports.

    pyOCD lists those as cores too.
    """
    return [core for _, core in sorted(session.target.cores.items()) if isinstance(core, CortexM)]


def _make_session(options: SessionOptions) -> Session:
    """Create the session object, not yet open."""
    settings: Dict[str, Any] = {}
    for text in options.options:
        settings.update(_session_option(text))
    settings = without_found_files(settings)
    try:
        # As long as there is no session for a probe, pyOCD takes options from the last one that was made.
        looking = Session(None, options=settings)
        probe = WatchedProbe(_choose_probe(options.probe))
        del looking
    except (exceptions.Error, OSError) as error:
        raise ConnectError("pyOCD cannot look for debug probes: %s" % error) from None
    settings.update(connect_mode=options.connect_mode, serve_local_only=True, persist=True)
    if options.target is not None:
        settings["target_override"] = options.target
    if options.frequency is not None:
        settings["frequency"] = options.frequency
    try:
        session = Session(probe, options=settings, option_defaults=_DEFAULTS)
        if options.dap_only:
            session.delegate = _AccessPortsOnly()
        return session
    except exceptions.TargetSupportError:
        raise ConnectError(_unknown_target(str(settings.get("target_override", "of its configuration")))) from None
    except (exceptions.Error, OSError) as error:
        raise ConnectError("pyOCD cannot begin: %s" % error) from None


def _session_option(text: str) -> Dict[str, Any]:
    """Convert one ``NAME=VALUE``; pyOCD itself passes over what it does not know."""
    try:
        found: Dict[str, Any] = convert_session_options([text])
    except (KeyError, ValueError):
        found = {}
    if found and OPTIONS_INFO.keys() >= found.keys():
        return found
    name = text.partition("=")[0].strip().lower()
    near = difflib.get_close_matches(name, OPTIONS_INFO.keys(), n=1)
    likely = "" if not near else ": the value is wrong" if near[0] == name else "; did you mean %s?" % near[0]
    raise ConnectError('pyOCD takes no session option "%s"%s' % (text, likely))


def _choose_probe(uid: Optional[str]) -> DebugProbe:
    """Find the one probe that is meant."""
    if uid is not None and uid.startswith("board:") and importlib.util.find_spec("unicorn") is None:
        raise ConnectError(
            "%s needs unicorn, which %s does not have; try: %s -m pip install 'gdb_etm[board]'"
            % (uid, sys.executable, sys.executable)
        )
    try:
        probes = DebugProbeAggregator.get_all_connected_probes(unique_id=uid)
    except exceptions.Error as error:
        raise ConnectError("cannot look for probe %s: %s" % (uid, error)) from None
    if uid is None:
        # A simulated board is never meant by saying nothing.
        probes = [probe for probe in probes if not probe.unique_id.startswith("board:")]
    if len(probes) == 1:
        return probes[0]
    if len(probes) > 1:
        raise ConnectError("%d debug probes match; choose one with --probe: %s" % (len(probes), _list(probes)))
    if uid is None:
        raise ConnectError("no debug probe is connected; check the cable, or try the simulated board:m33")
    there = DebugProbeAggregator.get_all_connected_probes()
    raise ConnectError('no debug probe "%s"; connected: %s' % (uid, _list(there) or "none"))


def _list(probes: Sequence[DebugProbe]) -> str:
    return ", ".join("%s (%s)" % (probe.unique_id, probe.description) for probe in probes[:8])


def _unknown_target(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), TARGET.keys(), n=3)
    likely = "did you mean %s? " % " or ".join(near) if near else ""
    return 'unknown target "%s"; %stry "pyocd pack find %s", or --target cortex_m' % (name, likely, name)


def _open(session: Session) -> None:
    """Open probe and target."""
    probe = session.probe
    try:
        session.open()
    except (exceptions.Error, OSError) as error:
        if probe.unique_id.startswith("board:") and not probe.is_open:
            raise ConnectError(str(error)) from None
        if not probe.is_open:
            raise ConnectError(
                "cannot open debug probe %s; is another program using it? (%s)" % (probe.unique_id, error)
            ) from None
        # pyOCD's own message for a silent target says nothing of what happened; the cause does.
        reason = probe.failure or error.__cause__ or error
        if str(reason) == _NO_CORES:
            reason = probe.unanswered or reason
        hint = " (a Cortex-A or Cortex-R is none to pyOCD: try --dap-only)" if str(reason) == _NO_CORES else ""
        raise ConnectError(
            "debug probe %s is there, the target is not: %s%s" % (probe.unique_id, reason, hint)
        ) from None


def _refuse_failure(probe: WatchedProbe) -> None:
    """Refuse what was opened by a probe that failed meanwhile.

    Other errors may be the target's: probes word them as their own.
    """
    if probe.lost is not None:
        raise ConnectError("the debug probe is lost: %s" % probe.lost)
    if isinstance(probe.failure, NonsenseError):
        raise ConnectError(
            "the debug probe %s sent nonsense; unplug it and plug it in again (%s)" % (probe.unique_id, probe.failure)
        )
    if isinstance(probe.failure, UsbError):
        raise ConnectError("the debug probe %s failed: %s; connect again" % (probe.unique_id, probe.failure))


def _serve_gdb(
    session: Session, core: CortexM, between: Optional[Callable[[], Between]], listener: Listener
) -> GdbServer:
    """Start pyOCD's GDB server for one core."""
    try:
        server = GdbServer(session, core, between, listener)
    except BaseException:
        listener.close()
        raise
    session.gdbservers[core.core_number] = server.pyocds
    server.start()
    return server
