"""Recordings that are longer than the trace buffer: piece by piece.

The core runs until the buffer is nearly full, is halted, the buffer is read, and the core runs on.  What halts it in
time is a Micro Trace Buffer itself, at its watermark; another buffer that is full, by Cross Trigger Interfaces; or the
cycle counter of a Cortex-M's DWT, to the cycle; else the computer's clock.
"""

from __future__ import annotations

import random
import time
from typing import Callable, NamedTuple, Optional, Union

from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.cycle_halt import MOST_CYCLES, CycleHalt
from gdb_etm.coresight.topology import TracePath
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.registers.cortex_m import DFSR
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.debugger import Ran
from gdb_etm.session.pace import Pace
from gdb_etm.session.session import DebugSession
from gdb_etm.session.watermark import REQUEST_SIGNALS, WatermarkHalt
from gdb_etm.traceunit.full_halt import FullHalt
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.views.recorded import Recorded
from gdb_etm.views.text import plural

# Seconds and cycles of the first piece: a buffer is hardly full by then.
_FIRST_SECONDS = 0.001
_CYCLES_PER_BYTE = 0.5
# Of the last piece, at least.
_LEAST_CYCLES = 64
# CYCCNT counts so far.
_WRAP = 1 << 32
_RAN = " ran since the halt before"
# Halts that end a recording, whatever else halted the core at the same time.
_ENDING = DFSR.encode(BKPT=1, VCATCH=1)
_REASONS = {DFSR.encode(BKPT=1): "a breakpoint", DFSR.encode(VCATCH=1): "a vector catch"}
_INTERRUPTED = "interrupted"
_SIGNAL = "Program received signal "


class RecordRequest(NamedTuple):
    """What to record, and until when."""

    # Cycles that the core runs on average for each piece, of which the buffer holds the last; None: nothing is lost.
    sample: Optional[int] = None
    # Until so many seconds have passed, or so many instructions were seen.
    seconds: Optional[float] = None
    instructions: Optional[int] = None


class PieceRecorder:
    """Records pieces until something ends it.

    :param session: Where they become captures.
    :param request: What is wanted.
    """

    def __init__(self, session: DebugSession, request: RecordRequest) -> None:
        self._session = session
        self._request = request
        self._begin = time.monotonic()
        self._pieces = self._wrapped = self._instructions = self._size = self._cycles = 0
        self._is_torn = False
        self._running = 0.0
        # CYCCNT and the time at the beginning of a piece; what of the limits it has used.
        self._since = 0
        self._resumed = self._begin
        self._last_seen = self._last_milliseconds = 0
        self._text = self._untimed = ""
        self._halt: Union[CycleHalt, WatermarkHalt, None] = None
        # What halts the core when the buffer is full, where it may.
        self._full: Optional[FullHalt] = None
        # DFSR at the last halt.
        self._cause = 0
        # The channel that it uses, as the process beside GDB knows it.
        self._channel: Optional[int] = None
        self._path: Optional[TracePath] = None
        self._pace = Pace(1.0, 0)
        # What gives what the debugger printed.
        self._printed: Callable[[], str] = lambda: ""

    def record(self) -> Recorded:
        """Record.

        :raises EtmError: It cannot begin, or the target does not answer.
        """
        if self._request.sample is not None and self._request.sample < 1:
            raise CommandError("sample: %d cycles; at least 1" % self._request.sample)
        session = self._session
        trace = _checked(session)
        self._path = trace.path
        halt: Union[CycleHalt, WatermarkHalt, None] = None
        if trace.unit.protocol == "mtb" and self._request.sample is None:
            halt = WatermarkHalt(session)
        elif trace.path.dwt is not None:
            halt = CycleHalt(trace.path.dwt)
        self._untimed = "this core has no DWT that halts it" if halt is None else halt.take() or ""
        self._halt = None if self._untimed else halt
        if self._request.sample is not None and self._halt is None:
            raise CommandError("--sample: %s; --stitch runs by this computer's clock then" % self._untimed)
        if self._request.sample is None and trace.unit.protocol != "mtb":
            self._full = trace.full_halt
        trace.lent = halt.registers if isinstance(halt, CycleHalt) else None
        self._pace = self._new_pace(trace.sink.size)
        connection = session.connected()
        connection.measure, session.is_recording = self._measured, True
        try:
            if self._full is not None:
                self._full.begin()
                trace.resume()
            connection.leave_restoration()
            with session.debugger.kept_quiet() as printed:
                self._printed = printed
                end = self._run_with_progress()
        except KeyboardInterrupt:
            end = _INTERRUPTED
        finally:
            connection.measure, session.is_recording = lambda: "", False
            if halt is not None:
                halt.release()
            if self._full is not None:
                self._full.release()
            trace.lent = None
            connection.leave_restoration()
        return self._recorded(end)

    def _new_pace(self, size: int) -> Pace:
        return Pace(_FIRST_SECONDS if self._halt is None else size * _CYCLES_PER_BYTE, size)

    def _run_with_progress(self) -> str:
        request = self._request
        if request.instructions is not None:
            with self._session.meter.task("recording", request.instructions) as task:
                return self._run_on(lambda: task.advance(self._last_seen))
        if request.seconds is not None:
            with self._session.meter.task("recording", round(1000 * request.seconds)) as task:
                return self._run_on(lambda: task.advance(self._last_milliseconds))
        return self._run_on(lambda: None)

    def _run_on(self, advance: Callable[[], None]) -> str:
        end = ""
        while not end:
            end = self._next()
            advance()
        return end

    def _next(self) -> str:
        # Take one piece; give why it was the last.
        session, halt, before = self._session, self._halt, self._session.current
        left = self._left()
        seconds = left
        self._since = 0
        if halt is None:
            length = self._length()
            seconds = length if left is None else left if length is None else min(length, left)
        else:
            self._since = halt.arm(self._cycles_wanted())
        self._resumed = time.monotonic()
        ran = run_once(session, seconds)
        self._running += ran.seconds
        self._text = self._printed() or self._text
        was_read = not session.is_undrained or session.settings.get("drain") == "lazy"
        record = session.look()
        if record is before:
            raise CommandError("the trace of the last piece could not be read")
        self._cause = self._status()
        count = 0 if halt is None else halt.count()
        cycles = (count - self._since) % _WRAP if isinstance(halt, CycleHalt) else None
        self._take(record, cycles, ran)
        self._learn(ran, count)
        end = self._end(ran, count) if was_read else _INTERRUPTED
        if end:
            self._text = self._told(self._is_other_halt(ran, count))
        return end

    def _told(self, is_other: bool) -> str:
        # Our own halt is no news.
        lines = self._text.splitlines()
        if not is_other:
            lines = [line for line in lines if line and not line.startswith(_SIGNAL)]
        return "\n".join(lines)

    def _measured(self) -> str:
        if not isinstance(self._halt, CycleHalt):
            return "at most %.3g s" % (time.monotonic() - self._resumed) + _RAN
        return plural((self._halt.count() - self._since) % _WRAP, "cycle") + _RAN

    def _length(self) -> Optional[float]:
        # Of the next piece, in cycles or seconds; None: a full buffer ends it.
        return None if self._full is not None and self._full.halts else self._pace.next

    def _learn(self, ran: Ran, count: int) -> None:
        # Where a full buffer halts the core, it is not known from the beginning.
        full, trace = self._full, self._session.connected().session()
        if full is None:
            return
        if full.channel != self._channel:
            self._channel = full.channel
            self._session.connected().leave_restoration()
        record = self._session.current
        is_over = self._halt is not None and self._halt.is_over(count)
        full.judge(ran.is_itself and not is_over and not self._cause & _ENDING)
        if full.halts and record is not None and record.capture.end is BufferEnd.WRAPPED:
            full.widen(trace.sink.size)

    def _cycles_wanted(self) -> int:
        request = self._request
        if request.sample is not None:
            # As long as it may be for anything that happens at random: so no habit of the program is missed.
            return round(random.expovariate(1 / max(request.sample, 1)))
        length = self._length()
        if length is None:
            length = MOST_CYCLES
        if request.instructions is None:
            return round(length)
        # An instruction takes about a cycle.
        return round(min(length, max(request.instructions - self._instructions, _LEAST_CYCLES)))

    def _take(self, record: CaptureRecord, cycles: Optional[int], ran: Ran) -> None:
        size, is_wrapped = len(record.capture.buffer), record.capture.end is BufferEnd.WRAPPED
        record.is_piece = True
        # Asked for by us: no news either.
        record.origin = record.origin.replace(" (SIGSTOP)", "")
        try:
            seen = len(self._session.decode(record).history)
            joined = self._session.joined
            if seen and joined is not None and joined.records[-1] is record:
                joined.grow()
        except EtmError:
            seen = 0
        self._last_seen, self._last_milliseconds = seen, round(1000 * (time.monotonic() - self._resumed))
        self._pieces += 1
        self._wrapped += is_wrapped
        self._is_torn = record.capture.end is BufferEnd.UNKNOWN
        self._instructions += seen
        self._size += size
        self._cycles += cycles or 0
        self._pace.observe(ran.seconds if cycles is None else cycles, size, is_wrapped)

    def _end(self, ran: Ran, count: int) -> str:
        wanted, left = self._request.instructions, self._left()
        if self._is_other_halt(ran, count):
            is_ours = self._halt is None or self._halt.is_ours
            other = "the core halted" if is_ours else "a watchpoint"
            return self._session.halted_by or _REASONS.get(self._cause & _ENDING, other)
        if left is not None and left <= 0:
            return "%g s have passed" % (self._request.seconds or 0)
        if wanted is not None and self._instructions >= wanted:
            return "at least %s were seen" % plural(wanted, "instruction")
        return ""

    def _is_other_halt(self, ran: Ran, count: int) -> bool:
        # Whether something else than the end of the piece has halted the core.
        if not ran.is_itself:
            return False
        halted_by, halt = self._session.halted_by, self._halt
        if self._full is not None and self._full.has_halted:
            return halted_by not in ("", *REQUEST_SIGNALS) or bool(self._cause & _ENDING)
        if halt is None or halted_by not in ("", *halt.signals) or self._cause & _ENDING:
            return True
        if not halt.is_ours:
            # A watchpoint took the comparator; it is what has halted the core.
            return True
        return not halt.is_over(count)

    def _status(self) -> int:
        # DFSR; 0 where it is not reached, or was cleared since.
        scs = self._path.scs if self._path is not None else None
        return 0 if scs is None else scs.port.read32(scs.address + DFSR.offset)

    def _left(self) -> Optional[float]:
        # Seconds.
        wanted = self._request.seconds
        return None if wanted is None else max(wanted - (time.monotonic() - self._begin), 0.0)

    def _recorded(self, end: str) -> Recorded:
        return Recorded(
            self._pieces,
            self._wrapped,
            self._is_torn,
            self._instructions,
            self._size,
            self._cycles if isinstance(self._halt, CycleHalt) else None,
            time.monotonic() - self._begin,
            self._running,
            end,
            self._untimed,
            self._text,
        )


def _checked(session: DebugSession) -> TraceSession:
    # The trace hardware, when it traces, and the core is halted with an empty buffer.
    connection = session.connected()
    trace = connection.session()
    if not connection.sees_halts:
        raise CommandError("the core is not reached by this connection, which cannot halt it")
    if not connection.is_tracing:
        raise CommandError('tracing is off. Try "etm start" first')
    if session.debugger.is_running():
        raise CommandError("the target runs; halt it first (Ctrl-C)")
    if connection.in_the_past:
        raise CommandError("GDB looks at the past; go to its end first")
    if trace.options is not None and trace.options.stop_after is not None:
        raise CommandError('the trace stops itself (--stop-after); "etm start" without that, and record then')
    if session.is_undrained:
        session.drain()
    return trace


def run_once(session: DebugSession, seconds: Optional[float]) -> Ran:
    """Run the core until it halts; its trace becomes a capture.

    :param seconds: How long at most; None: without end.
    """
    debugger = session.debugger
    if debugger.notes_halts:
        return debugger.run_once(seconds)
    session.on_resume()
    ran = debugger.run_once(seconds)
    for _ in session.on_halt():
        pass
    return ran
