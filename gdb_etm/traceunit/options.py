"""What a user wants of a trace unit, in no unit's terms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional, Tuple

from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.traceunit.actions import (
    Action,
    Count,
    Counter,
    FirstState,
    NextState,
    Reload,
    Rule,
    StartTracing,
    StopTracing,
    Timestamp,
    Trigger,
)
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.events import STATES, AtZero, Event, Executed, InState, Watched, alternatives, members

__all__ = ["AddressRange", "Conditionals", "DataTrace", "ExceptionTrace", "ExceptionLevel", "QElements", "TraceOptions"]


class ExceptionTrace(Enum):
    """Tracing of exceptions, beside addresses and start and stop points."""

    # Handlers are code like any other; an exception is traced if what ran just before it was.
    AS_OTHERS = "as others"
    # The same, and resets and system errors are traced even where nothing around them is.
    ON = "on"
    # Nothing that handlers run.
    OFF = "off"
    # Nothing but what handlers run.
    ONLY = "only"


class DataTrace(Enum):
    """What of each load and store is traced."""

    OFF = "off"
    ADDRESSES = "addresses"
    VALUES = "values"
    BOTH = "both"

    @property
    def addresses(self) -> bool:
        """Whether addresses are traced."""
        return self in (DataTrace.ADDRESSES, DataTrace.BOTH)

    @property
    def values(self) -> bool:
        """Whether values are traced."""
        return self in (DataTrace.VALUES, DataTrace.BOTH)

    def __bool__(self) -> bool:
        return self is not DataTrace.OFF


class Conditionals(Enum):
    """Conditional instructions whose outcome is traced; branches always are."""

    OFF = "off"
    LOADS = "loads"
    STORES = "stores"
    # Loads and stores.
    BOTH = "both"
    ALL = "all"

    def __bool__(self) -> bool:
        return self is not Conditionals.OFF


class QElements(Enum):
    """Whether the unit may say that something ran without saying which way."""

    OFF = "off"
    # Always with the number of instructions.
    COUNTS = "counts"
    # With or without it.
    ON = "on"

    def __bool__(self) -> bool:
        return self is not QElements.OFF


class ExceptionLevel(NamedTuple):
    """An exception level in one security state."""

    # 0 to 3; of a Cortex-M 0 is Thread mode and 3 Handler mode.
    number: int
    nonsecure: bool = False

    def __str__(self) -> str:
        return "%s%d" % ("ns" if self.nonsecure else "s", self.number)


@dataclass(frozen=True)
class TraceOptions:
    """How to trace: everything that runs, unless ranges are given.

    :raises ValueError: A value makes no sense whatever the unit.
    """

    # Trace ID on the trace bus, 0x01 to 0x6F; must be no other source's.  The data stream has the next one.
    trace_id: int = 0x10
    # Leave out return addresses that the decoder can work out; None: if the unit can.
    return_stack: Optional[bool] = None
    # Least number of processor cycles between two cycle counts; None: none are traced.
    cycle_count: Optional[int] = None
    # With data trace they are on anyway: without them the two streams cannot be put together.
    timestamps: bool = False
    context_id: bool = False
    vmid: bool = False
    # Trace the target address of every taken branch.
    branch_broadcast: bool = False
    # Do so only for branches in these; empty: for all.
    broadcast_ranges: Tuple[AddressRange, ...] = ()
    # Bytes of trace between two synchronisation points, a power of two; None: to suit the buffer.
    sync_bytes: Optional[int] = None
    # Trace only these; empty: everything.
    include: Tuple[AddressRange, ...] = ()
    # Do not trace these, even where they are included.
    exclude: Tuple[AddressRange, ...] = ()
    # Trace from the instruction at one of these addresses on; empty: from the beginning.
    start_at: Tuple[int, ...] = ()
    # Trace no more from the instruction at one of these addresses on, until the next of ``start_at``.
    stop_at: Tuple[int, ...] = ()
    # Whether exception handlers are traced, where the unit distinguishes them from other code.
    exceptions: ExceptionTrace = ExceptionTrace.AS_OTHERS
    # Trace Secure code.
    secure: bool = True
    # Trace Non-secure code.
    nonsecure: bool = True
    # Trace only what runs at one of these exception levels; empty: any.
    levels: Tuple[ExceptionLevel, ...] = ()
    # Trace only what runs with one of these Context IDs; empty: any.
    contexts: Tuple[int, ...] = ()
    # Stall the processor when the unit's FIFO is nearly full, rather than lose trace.
    stall: bool = False
    # How soon, from 0, which stalls least, to 15, which loses least; None: of an ETMv4 15, else with half of the FIFO
    # free.
    stall_level: Optional[int] = None
    # Have the unit do what it can so that its FIFO never overflows, whatever the processor loses by it.
    overflow_prevention: bool = False
    # What of each load and store is traced, those of exceptions included where the unit can.
    data: DataTrace = DataTrace.OFF
    # Trace only loads and stores at these addresses; empty: all.
    data_include: Tuple[AddressRange, ...] = ()
    # Do not trace loads and stores at these addresses, even where they are included.
    data_exclude: Tuple[AddressRange, ...] = ()
    # Whose condition is traced; branches' always is.
    conditional: Conditionals = Conditionals.OFF
    # Fewer bytes for less knowledge: what ran between two known places may stay unknown.
    q_elements: QElements = QElements.OFF
    # What is done when events happen.  Several rules of one action: any of their events does it.
    rules: Tuple[Rule, ...] = ()
    # How counters begin that the rules use.
    counters: Tuple[Counter, ...] = ()
    # The state in which the sequencer begins, if rules use it.
    first_state: int = 0
    # How much of the buffer is filled after the trigger, in percent, if a rule triggers.
    trigger_position: int = 50
    # Of a Micro Trace Buffer: the RAM that it goes to; None: as before.
    buffer: Optional[BufferPlace] = None
    # Of a Micro Trace Buffer: trace no more after so many bytes; None: without end.
    stop_after: Optional[int] = None
    # Of a Micro Trace Buffer: halt the core before the oldest trace is lost.
    halts_when_full: bool = False

    def __post_init__(self) -> None:
        # 0x00 and 0x70 to 0x7F are reserved on the trace bus (CoreSight Architecture v3.0, D4.2).
        if not 0x01 <= self.trace_id <= 0x6F:
            raise ValueError("trace ID 0x%02x: must be from 0x01 to 0x6f" % self.trace_id)
        if self.data and self.trace_id == 0x6F:
            raise ValueError("trace ID 0x6f: the data stream needs the next one, which is reserved")
        _check_places(self)
        _check_states_of_the_processor(self)
        if self.sync_bytes is not None and (self.sync_bytes < 1 or self.sync_bytes & (self.sync_bytes - 1)):
            raise ValueError("%d bytes between synchronisation points: must be a power of two" % self.sync_bytes)
        if self.cycle_count is not None and self.cycle_count < 1:
            raise ValueError("cycle count threshold %d: must be at least 1" % self.cycle_count)
        if self.stall_level is not None and not (self.stall and 0 <= self.stall_level <= 15):
            raise ValueError(
                "stall level %d: %s" % (self.stall_level, "must be from 0 to 15" if self.stall else "stalling is off")
            )
        if self.stop_after is not None and (self.stop_after < 8 or self.stop_after % 8):
            raise ValueError("to stop after %d bytes: packets have 8 bytes each" % self.stop_after)
        if self.stop_after is not None and self.halts_when_full:
            raise ValueError("a Micro Trace Buffer has one watermark: it stops there, or halts the core")
        _check_rules(self)

    @property
    def triggers(self) -> bool:
        """Whether a trigger stops the buffer."""
        return any(isinstance(rule.do, Trigger) for rule in self.rules)


def _check_places(options: TraceOptions) -> None:
    data = options.data_include + options.data_exclude
    for pair in options.include + options.exclude + data + options.broadcast_ranges:
        if not 0 <= pair.first <= pair.last:
            raise ValueError("address range %s ends before it starts" % (pair,))
    if data and not options.data:
        raise ValueError("address ranges of loads and stores: data trace is off; set data to addresses, values or both")
    if options.broadcast_ranges and not options.branch_broadcast:
        raise ValueError("address ranges of branch broadcast: it is off")
    if any(address < 0 for address in options.start_at + options.stop_at):
        raise ValueError("an address is at least 0")


def _check_states_of_the_processor(options: TraceOptions) -> None:
    if not options.secure and not options.nonsecure:
        raise ValueError("neither Secure nor Non-secure code is to be traced: nothing is left")
    if any(not 0 <= level.number <= 3 for level in options.levels):
        raise ValueError("exception levels are numbered 0 to 3")
    if any(not 0 <= context <= 0xFFFFFFFF for context in options.contexts):
        raise ValueError("a Context ID has 32 bits")


def _check_rules(options: TraceOptions) -> None:
    if not 0 <= options.trigger_position <= 100:
        raise ValueError("trigger position %d: must be from 0 to 100 percent" % options.trigger_position)
    numbers = [counter.number for counter in options.counters]
    for number in numbers:
        if numbers.count(number) > 1:
            raise ValueError("counter %d is declared twice" % number)
    if not 0 <= options.first_state < STATES:
        raise ValueError("state %d: a sequencer has states 0 to %d" % (options.first_state, STATES - 1))
    # Which of both it would do is unpredictable (IHI 0064, 7.3, TRCVISSCTLR).
    starts, stops = (
        {
            each
            for rule in options.rules
            if rule.do == action
            for each in alternatives(rule.when)
            if isinstance(each, (Executed, Watched))
        }
        for action in (StartTracing(), StopTracing())
    )
    starts, stops = starts | {*map(Executed, options.start_at)}, stops | {*map(Executed, options.stop_at)}
    for each in starts & stops:
        what = "0x%08x" % each.address if isinstance(each, Executed) else str(each)
        raise ValueError("%s both starts and stops the trace: choose one" % what)
    if any(isinstance(rule.do, Timestamp) for rule in options.rules) and not (options.timestamps or options.data):
        raise ValueError("timestamps at an event: timestamps are off")
    moved = any(isinstance(rule.do, (NextState, FirstState)) for rule in options.rules)
    for rule in options.rules:
        for counter in _counters_of(rule):
            # A counter that nobody set holds anything.
            if counter not in numbers:
                raise ValueError('counter %d is used but not set; "etm counter %d VALUE" sets it' % (counter, counter))
        for event in members(rule.when):
            if isinstance(event, InState) and not moved:
                raise ValueError(
                    'state %d: nothing takes the sequencer there; "etm on EVENT do next-state" does' % event.state
                )
        _check_states(rule.do, rule.when)


def _counters_of(rule: Rule) -> Tuple[int, ...]:
    used = tuple(event.counter for event in members(rule.when) if isinstance(event, AtZero))
    return used + ((rule.do.counter,) if isinstance(rule.do, (Count, Reload)) else ())


def _check_states(action: Action, event: Event) -> None:
    states = [each.state for each in members(event) if isinstance(each, InState)]
    if isinstance(action, NextState):
        states += [action.source, action.target]
        if action.source == action.target:
            raise ValueError("from state %d to itself is no step" % action.source)
    for state in states:
        if not 0 <= state < STATES:
            raise ValueError("state %d: a sequencer has states 0 to %d" % (state, STATES - 1))
