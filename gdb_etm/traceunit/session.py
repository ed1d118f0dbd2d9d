"""Trace session: source, links and sink of one path, in order.

The sink starts before the source, or the source would fill up and never become idle again; the source
stops before the sink for the same reason (IHI 0064, 4.3.4: the poll of IDLE might never complete).
"""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple

from gdb_etm.capture import BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.funnel import Funnel
from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import Drained, Progress, Sink, SinkSetup, trigger_notes
from gdb_etm.coresight.topology import TracePath
from gdb_etm.errors import AccessError, CaptureError, EtmError, UnsupportedError
from gdb_etm.registers import cortex_m
from gdb_etm.traceunit.by_hand import ByHand
from gdb_etm.traceunit.drivers import make_sink, make_unit
from gdb_etm.traceunit.full_halt import FullHalt, cores_interface
from gdb_etm.traceunit.mtb.plan import watermark
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan, suitable_sync_bytes
from gdb_etm.traceunit.status import SessionState, SessionStatus
from gdb_etm.traceunit.unit import TraceUnit

# An ETMv4 sends a trigger on the trace bus; an ETB of earlier generations listens to a wire.
_DEAF = (
    "an ETB may not hear of a trigger on the trace bus: then the trace goes to the halt, and the trigger is in it"
    " (only a TMC surely does)"
)

_NO_PLACE = (
    "an MTB writes into the program's RAM: where? etm start --buffer SYMBOL, an array of the program, aligned to its"
    " size; or --buffer ADDRESS,SIZE"
)
# Names of sources in captures.
_SOURCES = {"ptm": "PTM_0", "mtb": "MTB_0"}


class TraceSession:
    """Trace hardware of one core; :meth:`attach` first, :meth:`close` last.

    Every method may be left by KeyboardInterrupt at any time: the next :meth:`start`, :meth:`stop` or
    :meth:`drain` puts things in order.

    :param path: Source, links and sink.
    :param core: The processor that is traced, as captures will name it.
    :param deadline: How long to wait for hardware, by which clock.
    :raises UnsupportedError: There is no driver for this kind of trace unit.
    """

    def __init__(self, path: TracePath, core: Core, deadline: Deadline = Deadline()) -> None:
        self.path = path
        self.core = core
        self.unit: TraceUnit = make_unit(path.source, deadline, path.dwt, path.scs)
        self.sink: Sink = make_sink(path.sink, deadline, self.unit)
        self.state = SessionState.READY
        # How the unit is programmed; None before the first start.
        self.plan: Optional[Plan] = None
        # What was asked for at the last start; None before the first.
        self.options: Optional[TraceOptions] = None
        # Registers of the unit that were written by hand, which every plan leaves as they are.
        self.by_hand = ByHand()
        self._setup = SinkSetup()
        self._links = [Funnel(link.component.port, link.component.address, link.inputs) for link in path.links]
        self._scs = None if path.scs is None else Borrowed(path.scs.port, path.scs.address)
        # Registers that a recording changes beside those of the trace; None while there is none.
        self.lent: Optional[Borrowed] = None
        # What halts the core when the buffer is full; None where there is nothing that might.
        own = cores_interface(path.interfaces, path.scs)
        self.full_halt = None if own is None else FullHalt(path.interfaces, own, deadline)
        self._enabled_trace = False
        # Whether the unit lost its power while it traced what the buffer holds.
        self._lost_power = False

    def attach(self) -> None:
        """Power, unlock and claim the hardware, and read what it can do.

        :raises CaptureError: It cannot be used; what was changed has been put back.
        :raises UnsupportedError: It cannot be programmed by us.
        :raises AccessError: It does not answer.
        """
        try:
            self._enable_trace()
            self.unit.attach()
            for link in self._links:
                link.attach()
            self.sink.attach()
            if self.full_halt is not None:
                self.full_halt.attach()
        except (EtmError, KeyboardInterrupt):
            self._give_back()
            raise

    @property
    def links(self) -> Tuple[Funnel, ...]:
        """The funnels on the path."""
        return tuple(self._links)

    def plan_start(self, options: TraceOptions) -> Tuple[Plan, SinkSetup]:
        """Plan how to program the unit, without touching it.

        :returns: The plan, and how the buffer is to capture.
        :raises UnsupportedError: The unit lacks what the options ask for.
        """
        if isinstance(self.sink, MtbBuffer):
            place = options.buffer or self.sink.place
            size = 0 if place is None else place.size
            plan = self.by_hand.over(self.unit.plan(options, size))
            return plan, SinkSetup(place=place, watermark=watermark(options, size), halts=options.halts_when_full)
        if options.buffer is not None or options.stop_after is not None or options.halts_when_full:
            name = "--stop-after" if options.buffer is None else "--buffer"
            words = "%s is for a Micro Trace Buffer: this trace goes to %s" % (name, self.path.sink)
            raise UnsupportedError(words, "DEVTYPE")
        plan = self.by_hand.over(self.unit.plan(options, self.sink.size))
        # A unit with a fixed period that is too long still synchronises when the buffer asks for it (IHI 0064, 2.5).
        wanted = suitable_sync_bytes(self.sink.size)
        too_rare = options.sync_bytes is None and (plan.sync_bytes > wanted or not plan.sync_bytes)
        sync = wanted if too_rare and self.sink.requests_sync else 0
        if options.triggers and self.unit.protocol == "etmv4" and self.path.sink.kind is ComponentKind.ETB:
            plan = plan._replace(notes=(*plan.notes, _DEAF))
        return plan, SinkSetup(sync, self.sink.size * options.trigger_position // 100 if options.triggers else None)

    def start(self, options: TraceOptions = TraceOptions()) -> Plan:
        """Program the unit and trace into an empty buffer.

        :returns: The plan that was carried out.
        :raises UnsupportedError: The unit lacks what the options ask for; nothing was changed.
        :raises CaptureError: The hardware does not do as it should; tracing is off.
        """
        plan = self.program(options)
        self._run()
        return plan

    def program(self, options: TraceOptions = TraceOptions()) -> Plan:
        """Program the unit, leaving unit and buffer off.

        What the buffer holds is lost.

        :returns: The plan that was carried out.
        :raises UnsupportedError: The unit lacks what the options ask for; nothing was changed.
        :raises CaptureError: The hardware does not do as it should; tracing is off.
        """
        self._check_open()
        plan, setup = self.plan_start(options)
        if isinstance(self.sink, MtbBuffer) and setup.place is None:
            raise UnsupportedError(_NO_PLACE, "MTB_POSITION")
        if self.state is SessionState.TRACING or self.unit.enabled:
            self._start_sink()
            self.unit.disable()
        self.state = SessionState.READY
        self._enable_trace()
        self.unit.program(plan)
        self.plan, self.options = plan, options
        self._setup = setup
        return plan

    def resume(self) -> None:
        """Trace on with the same programming into an empty buffer.

        :raises CaptureError: Nothing was started, or the hardware does not do as it should; tracing is off.
        """
        self._check_open()
        if self.plan is None:
            raise CaptureError('nothing to resume: tracing was never started; try "etm start"')
        if self.state is SessionState.TRACING:
            self.stop()
        self._enable_trace()
        self.unit.ensure(self.plan)
        self._run()

    def rearm(self) -> None:
        """Let a unit that a reset has stopped trace on."""
        stops_itself = self._setup.watermark is not None and not self._setup.halts
        if self.state is not SessionState.TRACING or stops_itself:
            return
        if self.unit.stops_at_reset and self.plan and not self.unit.enabled:
            self.unit.ensure(self.plan)
            self.unit.enable()

    def enable_trace(self) -> None:
        """Set DEMCR.TRCENA, where there is one."""
        self._check_open()
        self._enable_trace()

    def open_links(self) -> None:
        """Open the funnels' ports that our trace may come in at."""
        self._check_open()
        for link in self._links:
            link.attach()
            link.start()

    def restart(self) -> None:
        """Restart the trace with an empty buffer, from any state.

        What the buffer holds is lost.

        The unit is programmed as before, or to trace everything.

        :raises CaptureError: The hardware does not do as it should; tracing is off.
        """
        self._check_open()
        self._enable_trace()
        self.unit.recover()
        for link in self._links:
            link.attach()
        self.sink.attach()
        self._silence()
        self.state = SessionState.READY
        if self.plan is None:
            self.start()
        else:
            self.resume()

    @property
    def sync_bytes(self) -> int:
        """Bytes of trace between two synchronisation points; 0 before the first start."""
        return self._setup.sync_bytes or (0 if self.plan is None else self.plan.sync_bytes)

    @property
    def watermark(self) -> Optional[int]:
        """Bytes after which a Micro Trace Buffer stops, or halts the core."""
        return self._setup.watermark

    @property
    def notes(self) -> Tuple[str, ...]:
        """Notes for the user about this trace, one line each."""
        notes = self.unit.notes + (() if self.plan is None else self.plan.notes)
        if self.sync_bytes and self.sink.size // self.sync_bytes < 4:
            words = (
                "a synchronisation every {:,} bytes: when the buffer of {:,} bytes has wrapped, up to so much of its"
                " oldest trace cannot be decoded"
            )
            notes += (words.format(self.sync_bytes, self.sink.size),)
        return notes

    def stop(self) -> None:
        """Stop tracing; all trace is in the buffer then.

        :raises CaptureError: The hardware does not come to rest; try again, or start anew.
        """
        self._check_open()
        if self.state is not SessionState.TRACING:
            return
        self._lost_power = self.unit.regain() or self._lost_power
        self.unit.disable()
        if self.full_halt is not None:
            self.full_halt.stopping(self.sink)
        self.sink.stop()
        self.state = SessionState.STOPPED

    def drain(self, name: str = "capture", progress: Optional[Progress] = None) -> RawCapture:
        """Read the buffer, after stopping if need be.

        :param name: What the capture is called.
        :param progress: Called while the buffer is read.
        :raises CaptureError: There is nothing to read, or the hardware does not come to rest.
        """
        self.stop()
        if self.state is not SessionState.STOPPED:
            raise CaptureError('the trace buffer was drained before, or nothing was traced; try "etm start"')
        registers = self.unit.capture_registers()
        if self._lost_power and self.plan is not None:
            # What it traced with is not in the unit any more.
            known = {write.name: write.value for write in self.plan.writes}
            registers = {name: known.get(name, value) for name, value in registers.items()}
        drained = self.sink.drain(progress)
        self.state = SessionState.READY
        unit = _SOURCES.get(self.unit.protocol, "ETM_0")
        marks = () if self.plan is None else self.plan.marks
        source = TraceSource(unit, self.unit.protocol, registers, self.core, (), marks)
        form = BufferFormat.RAW if isinstance(self.sink, MtbBuffer) else BufferFormat.FRAMES
        return RawCapture(drained.data, form, (source,), drained.end, name, self._drained_notes(drained))

    def _drained_notes(self, drained: Drained) -> Tuple[str, ...]:
        if drained.notes:
            return drained.notes
        if not self._lost_power:
            return trigger_notes(self._setup, self.sink.size, drained)
        words = (
            "the trace unit lost its power while it traced (%s), and what it was programmed with: what ran after"
            " that is not in the trace; before it traces again it is programmed anew"
        )
        return (words % self.unit.power_loss,)

    def status(self) -> SessionStatus:
        """Look, without changing anything."""
        self._check_open()
        trace = None
        if self._scs is not None:
            trace = bool(cortex_m.DEMCR.get(self._scs.read(cortex_m.DEMCR), "TRCENA"))
        return SessionStatus(
            self.state,
            self.unit.status(),
            self.sink.status(),
            self.sink.size,
            tuple(link.open_inputs for link in self._links),
            trace,
            self.plan,
        )

    def restoration(self) -> List[Restoration]:
        """List the writes that restore the hardware, in order.

        For when this session cannot make them itself.

        DEMCR is left out: a debugger that ends sets it itself, and it holds more than our bit.
        """
        links = [write for link in self._links for write in link.restoration()]
        halt = [] if self.full_halt is None else self.full_halt.restoration()
        halt += [] if self.lent is None else self.lent.restoration()
        return [*halt, *self.unit.restoration(), *links, *self.sink.restoration()]

    def close(self) -> None:
        """Stop tracing and put everything back as it was found.

        :raises EtmError: The first thing that went wrong; the rest was put back all the same.
        """
        if self.state is SessionState.CLOSED:
            return
        self.state = SessionState.CLOSED
        error = self._give_back()
        if error is not None:
            raise error

    def _run(self) -> None:
        try:
            self._start_sink()
            self.unit.enable()
        except (EtmError, KeyboardInterrupt):
            self._silence()
            raise
        self.state = SessionState.TRACING
        self._lost_power = False

    def _start_sink(self) -> None:
        for link in self._links:
            link.start()
        if self.full_halt is None:
            self.sink.start(self._setup)
            return
        self.sink.start(self._setup._replace(full_after=self.full_halt.full_after(self.sink.size)))
        self.full_halt.started()

    def _silence(self) -> None:
        # Another error is being reported already; the state must be one that start() can begin from.
        for quiet in (self.unit.disable, self.sink.abandon):
            try:
                quiet()
            except EtmError:
                pass

    def _give_back(self) -> Optional[EtmError]:
        first: Optional[EtmError] = None
        steps: Tuple[Callable[[], None], ...] = (
            *(() if self.full_halt is None else (self.full_halt.release,)),
            self.unit.release,
            *(link.release for link in self._links),
            self.sink.release,
            self._disable_trace,
        )
        for step in steps:
            try:
                step()
            except AccessError as error:
                if error.kind in ("lost", "timeout"):
                    return error  # each further access might take as many seconds, for nothing
                first = first or error
            except EtmError as error:
                first = first or error
        return first

    def _enable_trace(self) -> None:
        """Set DEMCR.TRCENA (IHI 0064, 3.5.2).

        Without it an Armv7-M trace unit may not even answer.
        """
        if self._scs is None:
            return
        value = self._scs.read(cortex_m.DEMCR)
        if not cortex_m.DEMCR.get(value, "TRCENA"):
            self._enabled_trace = True
            self._scs.command(cortex_m.DEMCR, value | cortex_m.DEMCR.encode(TRCENA=1))

    def _disable_trace(self) -> None:
        # The debugger may have changed the other bits meanwhile: only ours is put back.
        if self._scs is not None and self._enabled_trace:
            value = self._scs.read(cortex_m.DEMCR)
            self._scs.command(cortex_m.DEMCR, value & ~cortex_m.DEMCR.encode(TRCENA=1))
            self._enabled_trace = False

    def _check_open(self) -> None:
        if self.state is SessionState.CLOSED:
            raise CaptureError('the trace session is closed; try "etm connect"')
