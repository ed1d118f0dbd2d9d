"""Connect, configure, run and capture from a script."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple, Type, Union

from gdb_etm.api.breakpoint import Breakpoint
from gdb_etm.api.capture import Capture, history_of
from gdb_etm.api.history import History
from gdb_etm.api.inside import is_inside
from gdb_etm.api.plan import TracePlan
from gdb_etm.api.request import (
    EventRequest,
    Location,
    Places,
    ScriptRules,
    Variables,
    addresses,
    ranges,
    variables,
    with_events,
)
from gdb_etm.api.target import Runner
from gdb_etm.commands.parse import parse, split
from gdb_etm.commands.registry import command_named
from gdb_etm.coresight.components import Component
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session import session as commands
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.disconnecting import disconnect
from gdb_etm.session.events import EventSettings
from gdb_etm.session.planning import options_of, start
from gdb_etm.session.register_lines import plan_lines
from gdb_etm.session.request import TraceRequest
from gdb_etm.traceunit.actions import Counter
from gdb_etm.traceunit.bench import Bench
from gdb_etm.views.recorded import Recorded


class Stop(NamedTuple):
    """Where the core halted."""

    # Of the next instruction, in bytes.
    address: int
    # The function it is in; empty when unknown.
    function: str
    # Whether it was halted because the seconds were over.
    timed_out: bool


class Session:
    """A connection to a target with trace; also a context manager.

    Made by :func:`connect` and :func:`current`.

    :param session: What the commands work on.
    :param runner: Runs and halts the core.
    """

    def __init__(self, session: commands.DebugSession, runner: Runner) -> None:
        self._session = session
        self._runner = runner
        self._request = TraceRequest()
        self._own = ScriptRules()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        try:
            self.close()
        except EtmError:
            if error is None:
                raise
            # A probe that was unplugged is no news here; why the script ends comes first.

    def __repr__(self) -> str:
        return "<Session: %s>" % (
            self._session.connection.name if self._session.connection is not None else "not connected"
        )

    def close(self) -> None:
        """Stop tracing, restore the target's registers and end the connection.

        Captures stay.  Closing twice is no error.

        :raises EtmError: The first thing that could not be put back; the connection has ended all the same.
        """
        disconnect(self._session)

    def discover(self) -> Tuple[Component, ...]:
        """List the chip's debug components from the ROM tables.

        CoreSight Architecture v3.0, D5.

        :returns: Each with kind, name, address in bytes and identification.
        :raises CommandError: Not connected.
        """
        return self._connection.discovery.components

    def info(self) -> List[str]:
        """Describe components, trace unit and buffer, as ``etm info`` does."""
        return self.command("info")

    def status(self) -> List[str]:
        """Describe the state of trace unit and buffer, as ``etm status`` does.

        :raises EtmError: The target does not answer.
        """
        return self.command("status")

    def configure(
        self,
        *,
        include: Places = (),
        exclude: Places = (),
        start_at: Union[Location, Sequence[Location]] = (),
        stop_at: Union[Location, Sequence[Location]] = (),
        cycles: Optional[int] = None,
        timestamps: bool = False,
        branch_broadcast: bool = False,
        broadcast_range: Places = (),
        no_return_stack: bool = False,
        context: Optional[str] = None,
        sync_period: Optional[int] = None,
        stall: bool = False,
        stall_level: Optional[int] = None,
        overflow_prevention: bool = False,
        data: Optional[str] = None,
        data_range: Variables = (),
        data_exclude: Variables = (),
        conditional: Optional[str] = None,
        q_elements: Optional[str] = None,
        buffer: Optional[str] = None,
        stop_after: Optional[int] = None,
        filters: Sequence[Tuple[str, str]] = (),
        on: Sequence[Tuple[str, str]] = (),
        counters: Sequence[Counter] = (),
        first_state: Optional[int] = None,
        trigger_position: Optional[int] = None,
    ) -> None:
        """Choose what to trace, with the options of ``etm start``.

        What was chosen before is forgotten; None is as ``set etm`` says.  It holds for :meth:`plan`, :meth:`apply` and
        :meth:`start` of this object, which find out whether the unit can.

        :param include: Trace only these: pairs of byte addresses, both included, or locations (IHI 0064, 4.1.3).
        :param exclude: Do not trace these (IHI 0064, 4.1.3).
        :param start_at: Trace from the instruction at one of these on (IHI 0064, 4.1.3).
        :param stop_at: Trace no more from the instruction at one of these on (IHI 0064, 4.1.3).
        :param cycles: Processor cycles too, at least so many between two counts; ETMv3, PTM: 1 (IHI 0064, 2.7.3).
        :param timestamps: Trace the chip's time too, in ticks of its timestamp generator (IHI 0064, 2.7.4).
        :param branch_broadcast: Trace the address of every branch that is taken (IHI 0064, 2.7.5).
        :param broadcast_range: Only of branches at these pairs of byte addresses or locations (IHI 0064, 7.3.5).
        :param no_return_stack: Trace the address of every return (IHI 0064, 5.3).
        :param context: Which program runs: ``"off"``, ``"id"``, ``"vmid"`` or ``"both"`` (IHI 0064, 5.2.12).
        :param sync_period: Bytes between two synchronisation points, a power of two (IHI 0064, 7.3.71).
        :param stall: Stall the processor rather than lose trace (IHI 0064, 7.3.69).
        :param stall_level: The same, from 0, which stalls least, to 15, which loses least trace.
        :param overflow_prevention: Have the unit do all it can so that it never loses trace (IHI 0064, 7.3.69).
        :param data: Loads and stores: ``"off"``, ``"addresses"``, ``"values"`` or ``"both"`` (IHI 0064, 4.1.4).
        :param data_range: Only those at these pairs of byte addresses, or of these variables (IHI 0064, 4.1.4).
        :param data_exclude: None at these (IHI 0064, 4.1.4).
        :param conditional: Whose conditions are traced, besides branches: ``"off"``, ``"loads"``, ``"stores"``,
            ``"both"`` or ``"all"`` (IHI 0064, 7.3.8).
        :param q_elements: What the unit may leave out: ``"off"``, ``"counts"`` or ``"on"`` (IHI 0064, 7.3.8).
        :param buffer: Where an MTB writes: an array of the program, or ``"ADDRESS,SIZE"`` in RAM (DDI 0486, 3.2.1).
        :param stop_after: Bytes after which an MTB traces no more (DDI 0486, 3.2.3).
        :param filters: Pairs of a kind and what belongs to it in the words of ``etm filter``, as
            ``("exceptions", "off")``; ``etm filter list`` lists them too (IHI 0064, 4.1.3).
        :param on: Pairs of an event and an action in the words of ``etm on``, as ``("exec dispatch", "mark")``;
            ``etm on list`` lists them too (IHI 0064, 4.4).
        :param counters: How counters begin that these use (IHI 0064, 4.2.1).
        :param first_state: State in which the sequencer begins; None: as ``etm sequencer`` says (IHI 0064, 4.2.2).
        :param trigger_position: Percent of the buffer that is filled after a trigger; None: as ``etm trigger`` says.
        :raises EtmError: A location is unknown, or a value makes no sense.
        """
        session, locations = self._session, self._session.locations
        request = TraceRequest(
            include=ranges(include, locations),
            exclude=ranges(exclude, locations),
            start_at=addresses(start_at, locations),
            stop_at=addresses(stop_at, locations),
            cycles=cycles,
            timestamps=timestamps,
            branch_broadcast=branch_broadcast,
            broadcast_range=ranges(broadcast_range, locations),
            no_return_stack=no_return_stack,
            context=context,
            sync_period=sync_period,
            stall=stall,
            stall_level=stall_level,
            overflow_prevention=overflow_prevention,
            data=data,
            data_range=variables(data_range, locations),
            data_exclude=variables(data_exclude, locations),
            conditional=conditional,
            q_elements=q_elements,
            buffer=buffer,
            stop_after=stop_after,
        )
        events, own = with_events(session, self._own, EventRequest(on, counters, first_state, trigger_position))
        kept, numbers = session.filters.with_texts(filters, locations, self._own.filters)
        undo = session.filters.keep(kept)
        self._check(request, events, undo)
        self._request, self._own = request, own._replace(filters=numbers)

    def _check(self, request: TraceRequest, events: EventSettings, undo: Callable[[], None]) -> None:
        session = self._session
        before, session.events.now = session.events.now, events
        try:
            options_of(session, request)
        except EtmError:
            undo()
            session.events.now = before
            raise

    def plan(self) -> TracePlan:
        """Plan what :meth:`start` would write, without writing anything.

        :raises UnsupportedError: The unit lacks what was asked for; the error names the identification field.
        :raises EtmError: Not connected, or without a trace unit.
        """
        hardware = self._connection.session()
        plan, planned = Bench(hardware).plan(options_of(self._session, self._request))
        lines = (*plan_lines(planned, hardware.unit.version, False), *("note: " + note for note in plan.notes))
        return TracePlan(tuple(plan.writes), plan.sync_bytes, plan.notes, lines)

    def apply(self) -> None:
        """Program the trace unit, and leave it and the buffer off.

        :raises UnsupportedError: The unit lacks what was asked for; nothing was changed.
        :raises CaptureError: The hardware does not do as it should.
        :raises CommandError: Not connected, or the core runs.
        """
        connection = self._connection
        if self._session.debugger.is_running():
            raise CommandError("the core runs; halt() halts it")
        connection.program(options_of(self._session, self._request))

    def start(self) -> List[str]:
        """Program the unit and trace into an empty buffer.

        From then on every halt gives a capture.

        :returns: What ``etm start`` prints.
        :raises UnsupportedError: The unit lacks what was asked for; nothing was changed.
        :raises CaptureError: The hardware does not do as it should; tracing is off.
        :raises CommandError: Not connected, or the core runs.
        """
        return start(self._session, self._request)

    def stop(self) -> Optional[Capture]:
        """Trace no more.

        :returns: What was traced since the last capture; None when the core did not run since.
        :raises EtmError: The hardware does not come to rest, not connected, or tracing is off.
        """
        if not self._connection.is_tracing:
            raise CommandError("tracing is off; start() starts it")
        record = self._session.stop()
        return None if record is None else Capture(self._session, record)

    def capture(self) -> Capture:
        """Give the newest capture, or the one that ``etm captures N`` chose.

        :raises EtmError: There is none, or the buffer cannot be read.
        """
        return Capture(self._session, self._session.look())

    def history(self, trace_id: Optional[int] = None) -> History:
        """Give one core's history, over all halts of the connection.

        :param trace_id: Which, where several cores were traced; None: the first that has instructions.
        :raises EtmError: There is none, or it cannot be read or decoded.
        """
        return history_of(self._session, self._session.shown(trace_id))

    @property
    def captures(self) -> List[Capture]:
        """The captures at hand, oldest first."""
        return [Capture(self._session, record) for record in self._session.captures]

    def run(self, seconds: Optional[float] = None) -> Stop:
        """Run the core until it halts, at a breakpoint or a fault.

        :param seconds: How long at most, after which it is halted; None: without end (Ctrl-C halts it).  Inside GDB
            only None, because GDB waits for the halt itself.
        :raises EtmError: The core cannot be run, or its trace cannot be read.
        """
        try:
            if not is_inside():
                self._session.on_resume()
            itself = self._runner.run(seconds)
        except KeyboardInterrupt:
            self._halted(False)
            raise
        return self._halted(not itself)

    def record(
        self, seconds: Optional[float] = None, instructions: Optional[int] = None, sample: Optional[int] = None
    ) -> Recorded:
        """Run and record more than the trace buffer holds.

        As ``etm record`` does.  It ends at a breakpoint, a fault, or Ctrl-C, or by what is asked for.

        :param seconds: End after so many.
        :param instructions: End when so many were seen.
        :param sample: Cycles that the core runs on average for each piece, at random; None: halt it before the buffer
            is full, so that nothing is lost.
        :returns: How much was recorded, and what it cost.
        :raises EtmError: Not connected, tracing is off, or the target does not answer.
        """
        from gdb_etm.session.pieces import PieceRecorder, RecordRequest

        return PieceRecorder(self._session, RecordRequest(sample, seconds, instructions)).record()

    def run_to(self, location: Location, seconds: Optional[float] = None) -> Stop:
        """Run the core until it reaches a location.

        It may halt before for another reason: the result says where it stopped.

        :param location: A byte address, a function (its first instruction), ``"FILE:LINE"`` or ``"*ADDRESS"``.
        :param seconds: How long at most, after which it is halted; None: without end.  Inside GDB only None.
        :raises EtmError: There is no such place or no breakpoint left, or the core cannot be run.
        """
        with self.breakpoint(location):
            return self.run(seconds)

    def breakpoint(self, location: Location) -> Breakpoint:
        """Set a breakpoint; it goes when the connection ends.

        :param location: A byte address, a function (its first instruction), ``"FILE:LINE"`` or ``"*ADDRESS"``.
        :returns: The breakpoint, which is also a context manager.
        :raises EtmError: There is no such place, or no breakpoint left.
        """
        found = addresses(location, self._session.locations)
        if not found:
            raise CommandError("%s has no code" % location)
        return Breakpoint(self._runner, found[0])

    def halt(self) -> Stop:
        """Halt the core, if it runs; what was traced becomes a capture.

        :raises EtmError: It does not halt, or its trace cannot be read.
        """
        if self._session.debugger.is_running():
            self._runner.halt()
            return self._halted(False)
        return self._stop(False)

    def reset(self) -> Stop:
        """Reset the chip and halt at its first instruction; breakpoints stay.

        :raises EtmError: It cannot be reset.
        """
        self._runner.reset()
        return self._stop(False)

    def load(self, elf: Union[str, "os.PathLike[str]"]) -> Stop:
        """Write a program, and halt at its first instruction.

        :param elf: The ELF file.
        :raises EtmError: It cannot be written.
        """
        self._runner.load(os.path.expanduser(os.fspath(elf)))
        return self._stop(False)

    def begin_history(self) -> None:
        """Begin the history of :meth:`history` anew; captures stay."""
        self._session.joined = None

    def command(self, line: str) -> List[str]:
        """Run any of the ``etm`` commands.

        :param line: What is typed after ``etm``, such as ``"filter include dispatch"``.
        :returns: The lines that it prints.
        :raises EtmError: There is no such command, or it fails.
        """
        name, *rest = split(line) or [""]
        command = command_named(name)
        return list(command.run(self._session, parse(command, rest)))

    @property
    def _connection(self) -> TargetConnection:
        return self._session.connected()

    def _halted(self, timed_out: bool) -> Stop:
        if not is_inside():  # GDB has told of the halt already
            list(self._session.on_halt())
        return self._stop(timed_out)

    def _stop(self, timed_out: bool) -> Stop:
        address = self._runner.pc()
        function = self._session.debugger.function_at(address)
        return Stop(address, function.name if function is not None else "", timed_out)
