"""A core's history with what is derived from it."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.analysis.profile import CallProfile
from gdb_etm.errors import AccessError
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.calls import CallHistory, call_history
from gdb_etm.history.clock import CycleClock
from gdb_etm.history.entries import Resolver
from gdb_etm.history.exits import Exits
from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.program.ram import joined
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.progress import Meter
from gdb_etm.session.ranges import NumberRange
from gdb_etm.session.recovered import Recovered
from gdb_etm.session.threads import NamedThreads
from gdb_etm.session.walk import Walk
from gdb_etm.views.text import plural

# Reads the target's memory: address, size in bytes.
ReadMemory = Callable[[int, int], bytes]

# Instructions whose calls are found while nobody waits for long.
_SOON = 1 << 20
# From so many instructions on the calls of a history are not all kept.
_INDEXED = 1 << 22
# Bytes compared with the target in one read.
_PIECE = 1024


class Doubt(NamedTuple):
    """How the executed code compares with what the target holds."""

    # Every byte address where they differ.
    addresses: Set[int]
    # Why the target could not be read; None when it was.
    unread: Optional[str]


NO_DOUBT = Doubt(set(), None)


class Decoded:
    """One core's history with what is derived from it.

    :param history: The executed instructions.
    :param meter: Watches what takes long.
    :param anchored: What is known of the core's state at the ends of the trace.
    :param trace_id: Its instruction trace's.
    """

    def __init__(self, history: ExecutionHistory, meter: Meter, anchored: Anchored, trace_id: int) -> None:
        self.history = history
        self.anchored = anchored
        self.trace_id = trace_id
        self._meter = meter
        self.doubt = NO_DOUBT
        # Where the debugger halted in it, such as "halt in put (breakpoint 1)": by the instruction before.
        self.halts: Dict[int, str] = {}
        # Named positions.
        self.marks: Dict[str, int] = {}
        # What ``etm history`` showed last.
        self.instructions_shown: Optional[NumberRange] = None
        # What ``etm functions`` showed last.
        self.functions_shown: Optional[NumberRange] = None
        # The same for one thread alone: which of its functions, by its number.
        self.thread_functions_shown: Dict[int, NumberRange] = {}
        # The user's walk through it, see :mod:`gdb_etm.session.past`.
        self.walk: Optional[Walk] = None
        # Its recovery, as it was asked for last, see :mod:`gdb_etm.session.past`.
        self.recovered: Optional[Recovered] = None
        # What is known of how its calls are found; of a small history nothing is kept.
        self.steps: Optional[StepMemory] = None
        # Its profiles by unit, see :mod:`gdb_etm.session.analysed`.
        self.profiles: Dict[str, CallProfile] = {}
        self._calls: Optional[CallHistory] = None
        self._threads: Optional[NamedThreads] = None
        self._paused: Optional[FrozenSet[int]] = None
        self._clock: Optional[CycleClock] = None
        self._likened: Optional[Tuple[Tuple[Tuple[int, bytes], ...], bool]] = None

    @property
    def program(self) -> Program:
        """The program that it was decoded with."""
        return self.history.program

    @property
    def paused(self) -> FrozenSet[int]:
        """The instructions after which the core was halted, and nothing ran unseen."""
        if self._paused is None:
            self._paused = pauses(self.history)
        return self._paused

    @property
    def clock(self) -> CycleClock:
        """What adds up its cycle counts, made at the first look."""
        if self._clock is None:
            size = len(self.history.order)
            with self._meter.task("adding up the cycle counts", size) as task:
                self._clock = CycleClock(self.history, task.advance)
        return self._clock

    def forget_symbols(self) -> None:
        """Forget the call history: the symbols have changed."""
        self._calls = self._threads = self.recovered = self.steps = None
        self.profiles.clear()
        if self.walk is not None:
            self.walk.cursor.forget()

    def calls(self, resolve: Resolver, is_whole: bool = False) -> CallHistory:
        """Give the call history, made at the first look.

        :param is_whole: Whether all of it is going to be looked at.
        """
        if self._calls is None:
            size = len(self.history)
            with self._meter.task("finding the calls in %s" % plural(size, "instruction"), size) as task:
                exits = Exits(self.program)
                if self.steps is None and size >= _INDEXED and not is_whole:
                    self.steps = StepMemory(resolve, exits)
                paused, steps = self.paused - self.halts.keys(), None if is_whole else self.steps
                self._calls = call_history(self.history, resolve, exits, task.advance, paused, steps)
        return self._calls

    def threads(self, debugger: Debugger) -> NamedThreads:
        """Give the threads, named at the first look."""
        if self._threads is None:
            end = self.anchored.after(self.history)
            self._threads = NamedThreads(self.calls(debugger.function_at), end, debugger.constant)
        return self._threads

    @property
    def has_threads(self) -> bool:
        """Whether the threads are known, or are soon."""
        return self._calls is not None and self._calls.is_read or len(self.history) <= _SOON

    def compare(self, read: ReadMemory) -> None:
        """Compare the executed code with the target's memory; sets :attr:`doubt`."""
        pieces = self._code()
        different: Set[int] = set()
        try:
            with self._meter.task("comparing the code that ran with the target's", len(pieces)) as task:
                for at, size in pieces:
                    expected = self.program.read(at, size)
                    found = read(at, len(expected))
                    if found != expected:
                        different.update(at + i for i, (a, b) in enumerate(zip(expected, found)) if a != b)
                    task.advance(1)
        except AccessError as error:
            self.doubt = Doubt(different, str(error))
        else:
            self.doubt = Doubt(different, None)

    def is_of(self, program: Program) -> bool:
        """Check whether the executed code is part of a program."""
        key = program.identity()
        if key == self.program.identity():
            return True
        if self._likened is None or self._likened[0] != key:
            found = all(self.program.read(at, size) == program.read(at, size) for at, size in self._code())
            self._likened = key, found
        return self._likened[1]

    def _code(self) -> List[Tuple[int, int]]:
        # Addresses and sizes of pieces of the code that ran, each byte once.
        ranges = {(executed.start, executed.end) for executed in self.history.distinct_ranges()}
        return [(at, min(_PIECE, end - at)) for start, end in joined([*ranges]) for at in range(start, end, _PIECE)]
