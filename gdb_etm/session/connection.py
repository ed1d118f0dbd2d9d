"""A connection to a target with trace, and its trace session."""

from __future__ import annotations

import struct
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.access.client import Client
from gdb_etm.access.recording import DEBUG_PORT, AccessLog, PortAccess, recorded
from gdb_etm.access.wire import Message, reply_fields
from gdb_etm.capture import Core, MemoryImage, RawCapture, with_images
from gdb_etm.coresight.romtable import Discovery, Space, discover
from gdb_etm.coresight.sink import Progress
from gdb_etm.coresight.special import SpecialRegisters
from gdb_etm.coresight.topology import Choice, CoreLocation, TracePath
from gdb_etm.coresight.unlisted import with_unlisted
from gdb_etm.coresight.vendor import Vendor, Word, checked
from gdb_etm.errors import AccessError, CaptureError, EtmError
from gdb_etm.profiles import library
from gdb_etm.profiles.profile import PartId, Profile
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.session.chip import core_of, part_ids, path_with
from gdb_etm.session.description import info_lines, path_line, start_line, status_lines
from gdb_etm.session.messages import HandedOver, capture_messages
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.traceunit.status import SessionState

# What the process says of where GDB looks.
_PAST = {"past": bool, "runs": int, "number": int, "last": int}
# The process may have to recover the values of many instructions.
_RELY_SECONDS = 60.0


class TargetConnection:
    """An open connection.

    :param name: What it is connected to, for messages.
    :param title: The first line of the greeting.
    :param core: The processor that is traced; None where only the trace hardware is reached.
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
        # Whether its halts are the debugger's: by this connection, or by a server of its own that has it.
        self.sees_halts = self.has_core
        # Whether there is a process beside GDB, rather than GDB's own connection.
        self.has_process = client is not None
        # The first line of the greeting.
        self.title = title
        # The debugger's own server, in whose place it has the process; None where it has none.
        self.server: Optional[Tuple[str, int]] = None
        self._core = core
        # Every access through the ports.
        self.log = AccessLog()
        self._spaces = [Space(self.log.port(space.port), space.rom) for space in spaces]
        self._client = client
        # The trace unit and buffer that are ours; None when none are.
        self.trace: Optional[TraceSession] = None
        self._choice = Choice()
        # From trace unit to buffer; None until they are found.
        self.path: Optional[TracePath] = None
        # Why they were not found, or are not ours.
        self.failure: Optional[EtmError] = None
        # What is known of the chip beyond its registers; None: nothing.
        self.profile: Optional[Profile] = None
        # The chip's IDs from its first ROM tables, if a profile was looked for by ID.
        self.part_ids: List[PartId] = []
        self._vendor: Optional[Vendor] = None
        # Reads what the debugger's server does not give of the core; None until it is asked.
        self._special: Optional[SpecialRegisters] = None
        self._runs: Optional[int] = None
        # Drained, but an interruption came before tracing went on.
        self._held: Optional[RawCapture] = None
        # Whether the user wants halts to give captures; after an interruption the hardware may differ.
        self.is_tracing = False
        # Reads the fault status of an A-profile core with these registers; empty where nobody can.
        self.fault_status: Callable[[Mapping[str, int]], Dict[str, int]] = lambda known: {}
        # Says how long the core has run since it was halted; empty where nobody measures that.
        self.measure: Callable[[], str] = lambda: ""

    @recorded("connect", slice(0, 2))
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
            self.discovery = with_unlisted(discover(*self._spaces), self._spaces[0].port, profile)
            location = CoreLocation(port=self._spaces[0].port) if self.has_core else CoreLocation()
            self.path = path = path_with(self.profile, self.discovery.components, location, choice)
            trace = TraceSession(path, self._core or core_of(path))
            trace.attach()
        except EtmError as error:
            self.failure = error
            raise
        self.trace = trace
        self.failure = None
        self.leave_restoration()

    def find_again(self) -> None:
        """Try again to make trace unit and buffer ours."""
        self.find(self._choice, self.profile)

    @recorded("vendor enable")
    def enable_vendor(self) -> List[str]:
        """Write what the profile wants written first, and list it.

        :raises EtmError: It is another chip, or a register does not answer; nothing was written to another.
        """
        if self.profile is None:
            return []
        if self._vendor is None or self._vendor.profile != self.profile:
            self._vendor = checked(Vendor(self._spaces[0].port, self.profile))
        written = [str(each) for each in self._vendor.enable()]
        self.leave_restoration()
        return written

    def vendor_states(self) -> List[Word]:
        """Read what the profile wants written."""
        return [] if self._vendor is None else self._vendor.states()

    @recorded("restart")
    def restart(self) -> None:
        """Repair unit, funnels and buffer, and trace anew as before."""
        self.session().restart()
        self._held = None
        self.is_tracing = True
        self.leave_restoration()

    def debug_port(self) -> Optional[int]:
        """Read the debug port's CTRL/STAT register; None if it is unreachable.

        :raises AccessError: It does not answer.
        """
        if self._client is None or self.server is not None:
            return None
        try:
            value = self._client.debug_port()
        except AccessError as error:
            self.log.add(PortAccess(DEBUG_PORT, 0, 0, None, 1, error))
            raise
        self.log.add(PortAccess(DEBUG_PORT, 0, 0, value))
        return value

    def power_up(self) -> None:
        """Ask the debug port for power.

        :raises AccessError: It does not answer.
        """
        if self._client is not None and self.server is None:
            self._client.debug_port(power_up=True)

    def hand_over(self, handed: HandedOver) -> None:
        """Send a capture to the process that serves reverse execution, if any."""
        if self._client is not None and self.reverses:
            for message in capture_messages(handed):
                self._client.request(message)

    def rely(self, settings: Mapping[str, str]) -> bool:
        """Change the settings of recovery in the process that serves reverse execution.

        It recovers again what GDB looks at.

        :returns: Whether GDB looks at the past, and has values that rested on something else.
        """
        message = {"op": "rely", "settings": dict(settings)}
        asked = self._client if self.reverses else None
        return asked is not None and asked.request(message, _RELY_SECONDS).get("past") is True

    @property
    def reverses(self) -> bool:
        """Whether the process serves reverse execution to GDB."""
        return self._client is not None and self._client.hello.reverse

    def position(self) -> Tuple[int, int]:
        """Give the number of the past instruction that GDB looks at.

        :returns: It, and that of the last one; 0 where GDB looks at the present.
        """
        reply = self._reverse()
        return reply.get("number", 0), reply.get("last", 0)

    @property
    def in_the_past(self) -> bool:
        """Whether GDB looks at the past by reverse execution."""
        return bool(self._reverse().get("past", False))

    def has_run(self) -> bool:
        """Check whether the target may have run since the last call."""
        reply = self._reverse()
        before, self._runs = self._runs, reply.get("runs")
        return not reply or not reply["past"] and self._runs != before

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the halted target's memory, whatever moment GDB looks at.

        :raises AccessError: It cannot be read.
        """
        if self._client is None:
            raise AccessError("no process beside GDB that reads memory", address)
        first = address & ~3
        words = self._client.port().read_block(first, (address + size - first + 3) // 4)
        return struct.pack("<%dI" % len(words), *words)[address - first : address - first + size]

    @recorded("core registers")
    def special_registers(self, known: Mapping[str, int]) -> Dict[str, int]:
        """Read what a halted core's server does not give.

        :param known: Those that are known, by their lower-case names.
        """
        if not is_m_profile(self._core):
            return self.fault_status(known)
        if self._special is None:
            self._special = SpecialRegisters(self._spaces[0].port)
        return {**self._special.missing(known), **self._special.status()}

    def _reverse(self) -> Message:
        asked = self._client if self.reverses else None
        return {} if asked is None else reply_fields(asked.request({"op": "past"}), _PAST)

    def check(self, seconds: float = 0.001) -> None:
        """Check for a lost probe or process, waiting some seconds for it.

        :raises AccessError: It is lost.
        """
        if self._client is not None:
            self._client.check(seconds)

    @property
    def tables(self) -> List[int]:
        """The first ROM table of each port."""
        return [space.rom for space in self._spaces]

    @property
    def core(self) -> Optional[Core]:
        """The processor; None where only the trace hardware is reached."""
        return self._core

    @property
    def probe(self) -> str:
        """What reaches the target, without where it listens."""
        return self.title if self._client is None else self._client.hello.probe

    def versions(self) -> Dict[str, str]:
        """Give the versions of what reaches the target; empty without answer."""
        try:
            return {} if self._client is None else self._client.versions()
        except EtmError:
            return {} if self._client is None else {"pyOCD": self._client.hello.pyocd}

    def greeting(self) -> List[str]:
        """Describe the profile, trace unit and buffer that were found, in lines."""
        warnings = self._client.hello.warnings if self._client is not None else ()
        notes = [] if self.profile is None else list(self.profile.notes)
        found: List[str] = []
        if self.trace is not None:
            found, notes = [path_line(self.trace)], list(self.trace.unit.notes) + notes
        told = ["note: " + warning for warning in warnings]
        return told + self._profile_title() + found + ["note: " + note for note in notes]

    def info(self, in_full: bool = False) -> List[str]:
        """Describe the components and the path that is used, in lines.

        :param in_full: With the identification fields that say what the unit has.
        """
        lines = [self.title, *self._profile_title()]
        if self.profile is not None and self.profile.title and self.profile.inputs:
            inputs = sorted(self.profile.inputs.items(), key=lambda row: row[1])
            lines.append("  external inputs by name: " + ", ".join("%s %d" % row for row in inputs))
        return lines + list(info_lines(self.discovery, self.trace, in_full))

    def _profile_title(self) -> List[str]:
        profile = self.profile
        return [] if profile is None or not profile.title else ["Profile %s: %s" % (profile.name, profile.title)]

    def status(self) -> List[str]:
        """Describe what the hardware does at the moment, in lines."""
        return list(status_lines(self.session().status()))

    @recorded("start", slice(0, 1))
    def start(self, options: TraceOptions) -> List[str]:
        """Program the unit and trace into an empty buffer."""
        trace = self.session()
        plan = trace.start(options)
        self.is_tracing = True
        self.leave_restoration()
        return [start_line(options, plan, trace)] + ["note: " + note for note in trace.notes]

    @recorded("program", slice(0, 1))
    def program(self, options: TraceOptions) -> None:
        """Program the unit, and leave it and the buffer off.

        :meth:`start` with the same options turns them on.
        """
        self.session().program(options)
        self.is_tracing = False
        self.leave_restoration()

    @recorded("drain", slice(1, 2))
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
        return with_images(capture, images)._replace(ran=self.measure())

    def expect_trace(self) -> None:
        """Forget an interrupted drain: the target has run since."""
        self._held = None

    @recorded("stop", slice(1, 2))
    def stop(self, images: Sequence[MemoryImage], name: str, progress: Optional[Progress] = None) -> RawCapture:
        """Read the buffer and trace no more."""
        capture = self.session().drain(name, progress)
        self.is_tracing = False
        return with_images(capture, images)

    def keeps_tracing(self) -> bool:
        """Check whether halts give captures; what a reset has stopped traces on."""
        if self.is_tracing and self.trace is not None:
            self.trace.rearm()
        return self.is_tracing

    @recorded("halt")
    def halt_trace(self) -> None:
        """Trace no more; what is in the buffer is of no interest."""
        self.session().stop()
        self.is_tracing = False

    @recorded("release")
    def release(self) -> None:
        """Stop tracing and restore the target's trace hardware; the connection stays.

        :raises EtmError: The first thing that went wrong.
        """
        trace, self.trace = self.trace, None
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
        if self.trace is None:
            raise CaptureError(
                '%s has no trace unit and buffer that can be used; "etm info" lists what was found, "etm doctor" why'
                % self.name
            )
        return self.trace

    def leave_restoration(self) -> None:
        """Store the steps that restore the target if GDB dies.

        To be called after each write; the process beside GDB keeps them.
        """
        if self._client is not None:
            found = [] if self.trace is None else self.trace.restoration()
            found += [] if self._vendor is None else self._vendor.restoration()
            ports = [getattr(step.port, "ap", None) for step in found]
            self._client.at_end([(int(ap), *step[1:]) for ap, step in zip(ports, found) if ap is not None])
