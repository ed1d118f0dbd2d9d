"""A history measured: calls, latencies, coverage, stack, what is missing."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.analysis.activity import ActivityReader
from gdb_etm.analysis.coverage import FileCoverage
from gdb_etm.analysis.measured import Latency, MeasuredCall, TakenException, latencies, measured_calls, taken_exceptions
from gdb_etm.capture import BufferEnd
from gdb_etm.diagnosis.causes import FAULTS
from gdb_etm.errors import CommandError
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.recovery.values import Tier
from gdb_etm.session.analysed import CYCLES, count_all, measure_of
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.past import recovered
from gdb_etm.session.places import required
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import plural

_NO_CYCLES = "no cycle counts in this trace"
# Bytes of a stack, unless it is said how large it is.
STACK_SIZE = 0x10000


class MeasuredLatency(NamedTuple):
    """How long an exception took to come to a function."""

    # Number of the instruction before the exception.
    after: int
    # Number of the function's first instruction.
    first: int
    # Between the exception and that instruction; None where that was not counted.
    cost: Optional[int]


class StackDepth(NamedTuple):
    """How deep a stack was."""

    # Bytes below its top at the deepest.
    size: int
    # Number of the first instruction that found it so deep.
    number: int
    # What that stack pointer rests on.
    tier: Tier
    # Instructions before which the stack pointer is not known.
    unknown: int


class Measures:
    """What a history says of a program's behaviour, in numbers.

    :param session: Its debugger finds functions; its settings say how far values are worked out.
    :param decoded: The history.
    """

    def __init__(self, session: DebugSession, decoded: Decoded) -> None:
        self._session = session
        self._decoded = decoded
        self._calls: Dict[str, List[MeasuredCall]] = {}

    @property
    def missing(self) -> Tuple[str, ...]:
        """What of the run is not in it, in words; empty: nothing."""
        history, paused = self._decoded.history, self._decoded.paused | self._decoded.halts.keys()
        found: List[str] = []
        if history.end_reason is not BufferEnd.STARTED:
            found.append(history.end_reason.value)
        gaps: Dict[str, int] = {}
        for at, event in history.interruptions():
            # What lies before the first instruction of a wrapped buffer is told already.
            if not isinstance(event, Gap) or at == 0 and (found or event.reason is GapReason.TRACE_ON):
                continue
            if at not in paused or event.reason is not GapReason.TRACE_ON or event.detail:
                gaps[event.reason.value] = gaps.get(event.reason.value, 0) + 1
        found += ["%s (%s)" % (plural(count, "gap"), reason) for reason, count in gaps.items()]
        if not self._decoded.anchored.is_whole:
            found.append("a filter leaves out what it does not include")
        return tuple(found)

    def require(self, function: str) -> None:
        """Refuse a function that the program does not have.

        :param function: Its name.
        :raises CommandError: There is none of that name.
        """
        required(self._session.locations).code(function)

    def calls(self, unit: str) -> List[MeasuredCall]:
        """List the calls, oldest first.

        :param unit: Of their cost: ``"instructions"`` or ``"cycles"``.
        :raises CommandError: Cycles are wanted and were not traced.
        """
        if unit == CYCLES and not self._decoded.clock.has_cycles:
            raise CommandError(_NO_CYCLES)
        if unit not in self._calls:
            calls, measure = self._decoded.calls(self._session.debugger.function_at), measure_of(self._decoded, unit)
            reader = ActivityReader(calls, len(self._decoded.history), measure, self._decoded.paused)
            self._calls[unit] = measured_calls(reader)
        return self._calls[unit]

    def exceptions(self) -> List[TakenException]:
        """List the exceptions that were taken, oldest first."""
        return list(taken_exceptions(self._decoded.calls(self._session.debugger.function_at)))

    def faults(self) -> List[TakenException]:
        """List the faults that were taken, oldest first."""
        return [one for one in self.exceptions() if one.name in FAULTS.values()]

    def latencies(self, exception: str, function: str, unit: str) -> List[MeasuredLatency]:
        """Measure from an exception to a function that its handler enters.

        :param exception: By its name, such as ``"SysTick"``.
        :param unit: ``"instructions"`` or ``"cycles"``.
        :raises CommandError: Cycles are wanted and were not traced.
        """
        if unit == CYCLES and not self._decoded.clock.has_cycles:
            raise CommandError(_NO_CYCLES)
        found = latencies(self._decoded.calls(self._session.debugger.function_at), exception, function)
        return [MeasuredLatency(one.after, one.first, self._between(one, unit)) for one in found]

    def _between(self, one: Latency, unit: str) -> Optional[int]:
        return measure_of(self._decoded, unit)(one.after + 1, one.first - 1)

    def coverage(self, file: str) -> FileCoverage:
        """Say what was seen to run of a source file.

        :param file: The end of its path, such as ``"rx.c"``.
        :raises CommandError: There is no such file with code.
        """
        sources = sources_of(self._session.debugger.program_files())
        found = sources.coverage(count_all([self._decoded]), self._decoded.history.blocks).files
        for one in found:
            if one.path == file or ("/" + one.file).endswith("/" + file):
                return one
        raise CommandError('"%s" is no source file; files: %s' % (file, ", ".join(one.path for one in found)))

    def stack(self, top: Optional[int] = None, size: int = STACK_SIZE) -> StackDepth:
        """Say how deep a stack was.

        :param top: The address just past it; None: of the main stack, as the vector table begins with it.
        :param size: How far below that it may reach, in bytes.
        :raises CommandError: No stack pointer in it is known.
        """
        history = self._decoded.history
        if top is None:
            top = int.from_bytes(self._decoded.program.read(0, 4), "little") or None
        if top is None:
            raise CommandError("no vector table at address 0 says where the stack's top is; name it")
        known = recovered(self._session, self._decoded)
        deepest: Optional[StackDepth] = None
        unknown = 0
        with known.solved(1, self._session.meter) as recovery:
            for number in range(1, len(history) + 2):
                value = recovery.register(number, "sp")
                if value.value is None:
                    unknown += 1
                elif top - size <= value.value <= top:
                    if deepest is None or top - value.value > deepest.size:
                        deepest = StackDepth(top - value.value, number, value.tier, 0)
        if deepest is None:
            raise CommandError("no stack pointer from 0x%08x to 0x%08x is known" % (top - size, top))
        return deepest._replace(unknown=unknown)
