"""A connection to a target with trace: how its registers are reached, and its trace session."""

from __future__ import annotations

import struct
from typing import Callable, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.client import SERVER, Client, attach, start
from gdb_etm.access.port import AccessPort
from gdb_etm.access.wire import NO_CORE, Message, describe
from gdb_etm.capture import Core, MemoryImage, RawCapture
from gdb_etm.coresight.components import Component, product, read_identity
from gdb_etm.coresight.romtable import Discovery, Space, discover
from gdb_etm.coresight.sink import Progress
from gdb_etm.coresight.special import SpecialRegisters
from gdb_etm.coresight.topology import Choice, CoreLocation, TracePath, find_path, trace_buffers
from gdb_etm.coresight.vendor import Vendor, Word
from gdb_etm.errors import AccessError, CaptureError, ConnectError, EtmError, TopologyError
from gdb_etm.profiles import library
from gdb_etm.profiles.profile import PartId, Profile
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.registers import cortex_m
from gdb_etm.session.captures import with_images
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.description import core_type, info_lines, path_line, start_line, status_lines
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.interpreter import interpreter
from gdb_etm.session.messages import capture_messages
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.traceunit.status import SessionState

# What is told when a second connection would take GDB's own.
CONNECTED = 'GDB is connected to %s: "disconnect" first, or "etm connect target"'
_BESIDE = "gdb_etm.beside.process"
# Values of many instructions may be to be worked out.
_RELY_SECONDS = 60.0
_CPUID = cortex_m.SCS_BASE + cortex_m.CPUID.offset


class ProcessRequest(NamedTuple):
    """What a user asked of a connection by way of pyOCD."""

    # Host and port of a process started by hand; None to start one.
    server: Optional[Tuple[str, int]]
    # For the process that is started, see :func:`~gdb_etm.access.client.server_arguments`.
    arguments: Sequence[str]
    # Whether GDB is to have reverse execution.
    reverse: bool = True


class TargetConnection:
    """An open connection.

    :param name: What it is connected to, for messages.
    :param title: The first line of the greeting.
    :param core: The processor that is traced; None where only the trace hardware is reached, and another server, or
        nobody, has the processor.
    :param spaces: Where to look for components, the core's own memory space first.
    :param client: The process beside GDB; None over GDB's own connection.
    """

    def __init__(
        self, name: str, title: str, core: Optional[Core], spaces: Sequence[Space], client: Optional[Client]
    ) -> None:
        self.name = name
        self.discovery = Discovery((), ())
        # Whether the debugger reaches the processor by this connection; if not, it may run unseen.
        self.has_core = core is not None
        # Whether there is a process beside GDB, rather than GDB's own connection.
        self.has_process = client is not None
        # The first line of the greeting.
        self.title = title
        self._core = core
        self._spaces = spaces
        self._client = client
        self._trace: Optional[TraceSession] = None
        self._choice = Choice()
        # From trace unit to buffer; None until they are found.
        self.path: Optional[TracePath] = None
        # Why they were not found, or are not ours.
        self.failure: Optional[EtmError] = None
        # What is known of the chip beyond its registers; None: nothing.
        self.profile: Optional[Profile] = None
        # What the first ROM tables say which chip it is, where a profile was looked for by that.
        self.part_ids: List[PartId] = []
        self._vendor: Optional[Vendor] = None
        self._runs: Optional[int] = None
        # Drained, but an interruption came before tracing went on.
        self._held: Optional[RawCapture] = None
        # Whether the user wants halts to give captures; after an interruption the hardware may lag behind.
        self.is_tracing = False

    @property
    def has_trace(self) -> bool:
        """Whether a trace unit and a buffer are ours."""
        return self._trace is not None

    def find(self, choice: Choice, profile: Optional[Profile] = None) -> None:
        """Find trace unit and buffer and make them ours.

        :param choice: What to take where a chip has several.
        :param profile: What is known of the chip; None: what a profile knows of a chip with its ID, if any does.
        :raises EtmError: There are none, or they cannot be used; the connection stays.
        """
        self._choice = choice
        try:
            if profile is None:
                self.part_ids = part_ids(self._spaces)
                profile = next(filter(None, map(library.find, self.part_ids)), None)
            self.profile = profile
            self.enable_vendor()
            self.discovery = discover(*self._spaces)
            location = CoreLocation(port=self._spaces[0].port) if self.has_core else CoreLocation()
            self.path = path = path_with(self.profile, self.discovery.components, location, choice)
            trace = TraceSession(path, self._core or _core_of(path))
            trace.attach()
        except EtmError as error:
            self.failure = error
            raise
        self._trace = trace
        self.failure = None
        self._leave_restoration()

    def find_again(self) -> None:
        """Try again to make trace unit and buffer ours."""
        self.find(self._choice, self.profile)

    def enable_vendor(self) -> List[str]:
        """Write what the profile wants written before there is trace.

        :returns: What was written.
        :raises EtmError: It is another chip, or a register does not answer; nothing was written to another.
        """
        if self.profile is None:
            return []
        if self._vendor is None or self._vendor.profile != self.profile:
            self._vendor = Vendor(self._spaces[0].port, self.profile)
        written = [str(each) for each in self._vendor.enable()]
        self._leave_restoration()
        return written

    def vendor_states(self) -> List[Word]:
        """Read what the profile wants written."""
        return [] if self._vendor is None else self._vendor.states()

    @property
    def trace(self) -> Optional[TraceSession]:
        """The trace unit and buffer that are ours; None when none are."""
        return self._trace

    def restart(self) -> None:
        """Put unit, funnels and buffer in order, and trace into an empty buffer, as programmed before if they were."""
        self.session().restart()
        self._held = None
        self.is_tracing = True
        self._leave_restoration()

    def debug_port(self) -> Optional[int]:
        """Read the debug port's CTRL/STAT register; None where only the debugger's own server reaches it.

        :raises AccessError: It does not answer.
        """
        return None if self._client is None else self._client.debug_port()

    def power_up(self) -> None:
        """Ask the debug port for power.

        :raises AccessError: It does not answer.
        """
        if self._client is not None:
            self._client.debug_port(power_up=True)

    def hand_over(
        self, capture: RawCapture, files: Sequence[str], anchored: Anchored, settings: Mapping[str, str]
    ) -> None:
        """Give a capture to what serves GDB reverse execution, if that is there.

        :param files: ELF files of the program.
        :param anchored: What is known of the ends of its trace.
        :param settings: What values may rest on.
        """
        if self._client is not None and self._client.hello.reverse:
            for message in capture_messages(capture, files, anchored, settings):
                self._client.request(message)

    def rely(self, settings: Mapping[str, str]) -> bool:
        """Tell what serves GDB reverse execution what values may rest on; it works out anew what GDB looks at.

        :returns: Whether GDB looks at the past, and has values that rested on something else.
        """
        if self._client is None or not self._client.hello.reverse:
            return False
        return self._client.request({"op": "rely", "settings": dict(settings)}, _RELY_SECONDS)["past"] is True

    @property
    def in_the_past(self) -> bool:
        """Whether GDB looks at the past by reverse execution, and not at the halted target."""
        return bool(self._reverse().get("past", False))

    def has_run(self) -> bool:
        """Tell whether the target has run since this was asked last, as far as is known."""
        told = self._reverse()
        before, self._runs = self._runs, told.get("runs")
        return not told or not told["past"] and self._runs != before

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the halted target's memory, whatever moment GDB looks at.

        :raises AccessError: It cannot be read.
        """
        if self._client is None:
            raise AccessError("no process beside GDB that reads memory", address)
        first = address & ~3
        words = self._client.port().read_block(first, (address + size - first + 3) // 4)
        return struct.pack("<%dI" % len(words), *words)[address - first : address - first + size]

    def special_registers(self, known: Collection[str]) -> Dict[str, int]:
        """Read registers of the halted core that the debugger's server does not give; empty where that cannot be done.

        :param known: The names of those that are known.
        """
        if not is_m_profile(self._core):
            return {}
        special = SpecialRegisters(self._spaces[0].port)
        return {**special.missing(known), **special.fault_status()}

    def _reverse(self) -> Message:
        is_there = self._client is not None and self._client.hello.reverse
        return self._client.request({"op": "past"}) if self._client is not None and is_there else {}

    def check(self, seconds: float = 0.001) -> None:
        """Take note of the loss of the probe, or of the process beside GDB.

        :param seconds: How long to wait for word of it.
        :raises AccessError: It is lost.
        """
        if self._client is not None:
            self._client.check(seconds)

    def note_writes(self) -> None:
        """Take note that registers were written by hand: they are put back even if GDB dies."""
        self._leave_restoration()

    def greeting(self) -> List[str]:
        """Say which trace unit and buffer were found."""
        lines: List[str] = []
        if self._client is not None and self._client.hello.warning:
            lines.append("note: " + self._client.hello.warning)
        if self.profile is not None and self.profile.title:
            lines.append("Profile %s: %s" % (self.profile.name, self.profile.title))
        if self._trace is not None:
            lines += [path_line(self._trace)] + ["note: " + note for note in self._trace.unit.notes]
        return lines + ["note: " + note for note in (self.profile.notes if self.profile is not None else ())]

    def info(self, in_full: bool = False) -> List[str]:
        """Describe the components and the path that is used.

        :param in_full: With the identification fields that say what the unit has.
        """
        return [self.title, *self._profile_lines(), *info_lines(self.discovery, self._trace, in_full)]

    def _profile_lines(self) -> List[str]:
        if self.profile is None or not self.profile.title:
            return []
        inputs = ["%s %d" % row for row in sorted(self.profile.inputs.items(), key=lambda row: row[1])]
        lines = ["Profile %s: %s" % (self.profile.name, self.profile.title)]
        return lines + (["  external inputs by name: " + ", ".join(inputs)] if inputs else [])

    def status(self) -> List[str]:
        """Say what the hardware does at the moment."""
        return list(status_lines(self.session().status()))

    def start(self, options: TraceOptions) -> List[str]:
        """Program the unit and trace into an empty buffer."""
        trace = self.session()
        plan = trace.start(options)
        self.is_tracing = True
        self._leave_restoration()
        return [start_line(options, plan, trace)] + ["note: " + note for note in trace.notes]

    def program(self, options: TraceOptions) -> None:
        """Program the unit, and leave it and the buffer off; :meth:`start` with the same options turns them on."""
        self.session().program(options)
        self.is_tracing = False
        self._leave_restoration()

    def drain(self, images: Sequence[MemoryImage], name: str, progress: Optional[Progress] = None) -> RawCapture:
        """Read the buffer and trace on into an empty one.

        :param images: The program, as the capture will hold it.
        :raises CaptureError: The hardware does not come to rest, or an interruption has cost the trace.
        """
        trace = self.session()
        if self._held is None:
            if trace.state is SessionState.READY:
                trace.resume()
                raise CaptureError("the trace of this halt was lost by the interruption; tracing goes on")
            self._held = trace.drain(name, progress)
        if trace.state is not SessionState.TRACING:
            trace.resume()
        capture, self._held = self._held, None
        return with_images(capture, images)

    def expect_trace(self) -> None:
        """Take note that the target ran: what an interrupted drain left behind is of an older halt."""
        self._held = None

    def stop(self, images: Sequence[MemoryImage], name: str, progress: Optional[Progress] = None) -> RawCapture:
        """Read the buffer and trace no more."""
        capture = self.session().drain(name, progress)
        self.is_tracing = False
        return with_images(capture, images)

    def halt_trace(self) -> None:
        """Trace no more; what is in the buffer is of no interest."""
        self.session().stop()
        self.is_tracing = False

    def release(self) -> None:
        """Stop tracing and put the target's trace hardware back as it was; the connection stays.

        :raises EtmError: The first thing that went wrong.
        """
        trace, self._trace = self._trace, None
        vendor, self._vendor = self._vendor, None
        self.is_tracing = False
        try:
            if trace is not None:
                trace.close()
        finally:
            if vendor is not None:
                vendor.release()
        if self._client is not None:
            self._client.at_end(())

    def close(self) -> None:
        """End the process beside GDB, if there is one."""
        if self._client is not None:
            self._client.close()

    def session(self) -> TraceSession:
        """Give the trace unit and buffer that are ours.

        :raises CaptureError: None are.
        """
        if self._trace is None:
            raise CaptureError(
                '%s has no trace unit and buffer that can be used; "etm info" lists what was found, "etm doctor" why'
                % self.name
            )
        return self._trace

    def _leave_restoration(self) -> None:
        # If GDB dies, the process beside it puts the registers back.
        if self._client is not None:
            steps = []
            found = [] if self._trace is None else self._trace.restoration()
            for step in found + ([] if self._vendor is None else self._vendor.restoration()):
                ap = getattr(step.port, "ap", None)
                if ap is not None:
                    steps.append((int(ap), *step[1:]))
            self._client.at_end(steps)


def over_process(
    debugger: Debugger, request: ProcessRequest, progress: Optional[Callable[[float], None]] = None
) -> TargetConnection:
    """Start, or attach to, the process with pyOCD and connect the debugger to it, unless it serves no core.

    :param progress: Called about every second while the process starts.
    :returns: The connection; trace unit and buffer are still to be found.
    :raises ConnectError: There is no probe, no target, no such process, or GDB cannot connect.
    """
    if request.server is not None:
        client = attach(*request.server)
    else:
        client = start(
            interpreter(), request.arguments, progress=progress, module=_BESIDE if request.reverse else SERVER
        )
    hello = client.hello
    title = describe(hello)
    if hello.core == NO_CORE:
        return TargetConnection(hello.probe, title, None, _spaces(client), client)
    core = next(core for core in hello.cores if core.number == hello.core)
    try:
        connection = debugger.connection()
        if connection is not None:
            raise ConnectError(CONNECTED % connection)
        _connect(debugger, client)
    except (EtmError, KeyboardInterrupt):
        client.close()
        raise
    return TargetConnection(core.name, title, Core("cpu_0", core.name.split()[0], {}), _spaces(client, core.ap), client)


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


def over_debugger(debugger: Debugger) -> TargetConnection:
    """Use the debugger's own connection to a Cortex-M.

    :returns: The connection; trace unit and buffer are still to be found.
    :raises AccessError: The target cannot be read.
    """
    return over_port(debugger.access_port())


def over_port(port: AccessPort) -> TargetConnection:
    """Use the memory of a Cortex-M, whatever reaches it.

    :returns: The connection; trace unit and buffer are still to be found.
    :raises AccessError: The target cannot be read.
    """
    cpuid = _cpuid(port)
    name = core_type(cpuid)
    is_m7 = cortex_m.CPUID.get(cpuid, "PARTNO") == cortex_m.PART_M7
    space = Space(port, cortex_m.ROM_TABLE_BASE_M7 if is_m7 else cortex_m.ROM_TABLE_BASE)
    return TargetConnection(name, "%s through %s" % (name, port.name), Core("cpu_0", name, {}), [space], None)


def part_ids(spaces: Sequence[Space]) -> List[PartId]:
    """Read which chip it is from the first ROM tables; one that is not there says nothing.

    :raises AccessError: The connection is lost.
    """
    found = []
    for space in spaces:
        try:
            identity = read_identity(space.port, space.rom & ~0xFFF)
        except AccessError as error:
            if error.kind != "fault":
                raise
            continue
        if identity is not None:
            found.append(PartId(identity.designer, identity.part))
    return found


def path_with(
    profile: Optional[Profile], components: Sequence[Component], location: CoreLocation, choice: Choice
) -> TracePath:
    """Arrange components into a path, with what a profile knows of funnels and buffers.

    :raises TopologyError: No trace unit or no buffer is there, or which one to take must be chosen.
    """
    if profile is None:
        return find_path(components, location, choice)
    if profile.no_buffer and not trace_buffers(components):
        raise TopologyError("no trace buffer: %s" % profile.no_buffer)
    path = find_path(components, location, choice)
    inputs = {**profile.funnel_inputs(path.source.address), **choice.inputs}
    return find_path(components, location, choice._replace(inputs=inputs))


def _spaces(client: Client, first: Optional[int] = None) -> List[Space]:
    aps = sorted((ap for ap in client.hello.aps if ap.has_rom), key=lambda ap: ap.id != first)
    return [Space(client.port(ap.id), ap.rom) for ap in aps]


def _core_of(path: TracePath) -> Core:
    """Tell the processor by what is beside its trace unit, when nobody else does."""
    if path.scs is not None:
        name = core_type(path.scs.port.read32(path.scs.address + cortex_m.CPUID.offset))
    else:
        name = product(path.source) or "Cortex-A"
    return Core("cpu_0", name, {})


def _cpuid(port: AccessPort) -> int:
    try:
        return port.read32(_CPUID)
    except AccessError as error:
        raise AccessError("no Cortex-M behind %s: %s" % (port.name, error), _CPUID, error.kind)
