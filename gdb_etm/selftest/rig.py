"""The rig: the program run under trace, and what comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from gdb_etm.capture import Beginning, MemoryImage, RawCapture
from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import BufferPlace, SinkStatus
from gdb_etm.errors import CaptureError
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import DecoderCache, SourceStream, build, streams
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.registers.page import Register
from gdb_etm.selftest.compare import TracedPath, executed
from gdb_etm.selftest.findings import StepFailure
from gdb_etm.selftest.program import Layout
from gdb_etm.selftest.tested import TestedCore
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.traceunit.watchpoints import Watchpoints

_NAME = "the self test's program"
_PACKET = 8
NO_BUFFER = BufferPlace(0, 0)


class TracedRun(NamedTuple):
    """A run of the program, and its trace."""

    options: TraceOptions
    plan: Plan
    passes: int
    # What the buffer said when it had stopped.
    sink: SinkStatus
    capture: RawCapture
    # The unit's instruction stream; None where the buffer holds none of it.
    stream: Optional[SourceStream]
    history: Optional[ExecutionHistory]

    def decoded(self) -> ExecutionHistory:
        """Give the history.

        :raises StepFailure: There is no trace of the unit.
        """
        if self.history is None or not self.capture.buffer:
            raise StepFailure(self._nothing())
        return self.history

    @property
    def executed(self) -> TracedPath:
        """What ran by the trace.

        :raises StepFailure: There is no trace of the unit.
        """
        return executed(self.decoded())

    @property
    def size(self) -> int:
        """Bytes of the instruction stream."""
        return 0 if self.stream is None else len(self.stream.data)

    def _nothing(self) -> str:
        size = len(self.capture.buffer)
        if not size:
            return "the buffer is empty after the run: what leaves the trace unit does not come to it"
        if self.stream is not None:
            return "nothing of %d bytes of trace can be decoded" % len(self.stream.data)
        found = deframe(self.capture.buffer).streams
        words = ", ".join("ID 0x%02x: %d bytes" % (number, len(one.data)) for number, one in sorted(found.items()))
        return "no trace with ID 0x%02x in %d bytes of the buffer (%s)" % (
            self.options.trace_id,
            size,
            words or "no ID at all",
        )


class Rig:
    """The program in RAM, a halted core, and a trace session.

    :param trace: Unit and buffer.
    :param core: The core.
    :param layout: Where the program is.
    :param buffer: RAM for the trace of a unit that has no buffer of its own.
    """

    def __init__(
        self, trace: TraceSession, core: TestedCore, layout: Layout, buffer: Optional[BufferPlace] = None
    ) -> None:
        self.trace = trace
        self.core = core
        self.layout = layout
        self.deadline = Deadline()
        self.watchpoints = Watchpoints(trace.path.dwt, self.deadline)
        self._cache = DecoderCache()
        self._image = MemoryImage(layout.base, layout.fixed(), _NAME)
        # Where a Micro Trace Buffer writes.
        self.buffer = buffer or NO_BUFFER
        # Where the core was when a run began.
        self._begun: Dict[str, int] = {}
        # Bytes of trace that a pass makes, without any option; 0 until that is known.
        self.pass_bytes = 0.0
        # How often the program ran under trace.
        self.runs = 0

    @property
    def is_mtb(self) -> bool:
        """Whether the trace unit writes into RAM."""
        return isinstance(self.trace.sink, MtbBuffer)

    @property
    def full(self) -> str:
        """What says that the buffer has wrapped."""
        return "MTB_POSITION.WRAP" if self.is_mtb else "STS.Full"

    @property
    def pointer(self) -> str:
        """What says how full the buffer is."""
        return "MTB_POSITION" if self.is_mtb else "RWP"

    def program(self, options: TraceOptions) -> Plan:
        """Program the unit, leaving unit and buffer off.

        :raises UnsupportedError: The unit lacks what the options ask for; nothing was done.
        :raises EtmError: Unit or buffer do not do as they should.
        """
        return self.trace.program(replace(options, buffer=self.buffer) if self.is_mtb else options)

    def passes(self, wanted: int) -> int:
        """Say how many passes beside one do not wrap the buffer."""
        if not self.is_mtb:
            return wanted
        return min(wanted, self.buffer.size // (_PACKET * len(self.layout.program.once)) - 2)

    def read_unit(self, register: Register) -> int:
        """Read a register of the trace unit."""
        return self.trace.unit.registers.read(register)

    def write_program(self) -> None:
        """Put the program into RAM, and read it back.

        :raises StepFailure: A word does not keep what was written.
        """
        words = memoryview(self.layout.image()).cast("I").tolist()
        # The other way round first, so that each bit is once 0 and once 1.
        self._write([word ^ 0xFFFFFFFF for word in words])
        self._write(words)
        self.core.forget_code(self.layout.base, self.layout.size)

    def _write(self, words: Sequence[int]) -> None:
        for n, word in enumerate(words):
            self.core.port.write32(self.layout.base + 4 * n, word)
        for n, (found, word) in enumerate(zip(self.core.port.read_block(self.layout.base, len(words)), words)):
            if found != word:
                raise StepFailure(
                    "RAM at 0x%08x was written 0x%08x and reads 0x%08x" % (self.layout.base + 4 * n, word, found)
                )

    def run(self, options: TraceOptions, passes: int = 1, before_run: Optional[Callable[[], None]] = None) -> TracedRun:
        """Trace the program.

        :param before_run: Called when the unit is programmed and off.
        :raises UnsupportedError: The unit lacks what the options ask for; nothing was done.
        :raises EtmError: Unit, buffer or core do not do as they should.
        """
        plan = self.program(options)
        if before_run is not None:
            before_run()
        self.trace.resume()
        self.execute(passes)
        return self._drained(options, plan, passes)

    def interrupted(self, options: TraceOptions) -> TracedRun:
        """Trace the part of the program that an exception interrupts."""
        with self.core.vectors_at(self.layout.base):
            plan = self.program(options)
            self.trace.resume()
            self._go("interrupt", "interrupted", 0)
            return self._drained(options, plan, 0)

    def execute(self, passes: int) -> None:
        """Run the program to its end, and compare its log.

        :raises StepFailure: It ended elsewhere, or with another log.
        """
        self._go("start", "done", passes)
        found = tuple(self.core.port.read_block(self.layout.data, 2))
        wanted = self.layout.log(passes)
        if found != wanted:
            raise StepFailure(
                "the program's log at 0x%08x is 0x%08x, %d, and 0x%08x, %d was awaited"
                % (self.layout.data, *found, *wanted)
            )

    def enter(self, entry: str, passes: int) -> None:
        """Make a part of the program the next to run."""
        for n in range(4):
            self.core.port.write32(self.layout.data + 4 * n, 0)
        self.core.enter(self.layout.at(entry), self.layout.stack, r0=passes, r7=self.layout.data)

    def _go(self, entry: str, end: str, passes: int) -> None:
        pc = self._begin(entry, passes)
        if pc != self.layout.at(end):
            raise StepFailure(self.stopped_at(pc))

    def _begin(self, entry: str, passes: int) -> int:
        self.enter(entry, passes)
        self._begun = {"pc": self.core.pc}
        return self.core.run()

    def halted(self, options: TraceOptions, passes: int) -> TracedRun:
        """Trace the program until the unit halts the core; then finish it.

        :raises StepFailure: It was not halted before its end.
        """
        plan = self.program(options)
        self.trace.resume()
        pc = self._begin("start", passes)
        if pc == self.layout.at("done"):
            raise StepFailure("the core was not halted before the end of the program")
        run = self._drained(options, plan, passes)
        self.core.run()
        return run

    def stopped_at(self, pc: int) -> str:
        """Say why the program did not come to its end."""
        return "the core halted at %s and not at its BKPT (%s)" % (self.layout.name(pc), self.core.why())

    def _drained(self, options: TraceOptions, plan: Plan, passes: int) -> TracedRun:
        self.runs += 1
        self.trace.stop()
        status = self.trace.sink.status()
        capture = self.trace.drain("self test")
        if capture.notes and not options.triggers:
            # Such as that the unit lost its power meanwhile.
            raise StepFailure(capture.notes[0])
        # A Micro Trace Buffer holds neither where it began nor where it ended.
        core = self.trace.core._replace(registers=self.core.registers(), begin=Beginning(self._begun))
        sources = tuple(source._replace(images=(self._image,), core=core) for source in capture.sources)
        capture = capture._replace(sources=sources)
        try:
            histories = build(capture, cache=self._cache)
            found: List[SourceStream] = [one for one in streams(capture) if not one.is_data]
        except CaptureError as error:
            raise StepFailure(str(error)) from None
        history = next(iter(histories.values()), None)
        return TracedRun(options, plan, passes, status, capture, found[0] if found else None, history)
