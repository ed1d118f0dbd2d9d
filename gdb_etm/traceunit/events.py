"""Events and actions of trace units, independent of the architecture.

An event is true in some clock cycles and false in others.  ``&``, ``|`` and ``~`` join events; a rule says what happens
when one is true.  Which comparator, selector or event field that takes is the plan's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.traceunit.addresses import AddressRange

# Counters have 16 bits in every architecture (IHI 0064, 4.2.1; IHI 0014Q, 2.9).
LARGEST_COUNT = 0xFFFF
# States of the largest sequencer, from 0; ETMv3 and PTM have three (IHI 0064, 4.2.2; IHI 0014Q, 2.10).
STATES = 4


class Event:
    """Something that is or is not so in a clock cycle."""

    def __and__(self, other: Event) -> Event:
        return And(self, other)

    def __or__(self, other: Event) -> Event:
        return Or(self, other)

    def __invert__(self) -> Event:
        return self.of if isinstance(self, Not) else Not(self)


class AccessType(Enum):
    """Which transfers of data an event is about."""

    LOAD = "load"
    STORE = "store"
    EITHER = "access"


class DataValue(NamedTuple):
    """A value to compare loads and stores with."""

    value: int
    # Bytes: 1, 2, 4 or 8.
    size: int = 4
    # Bits of the value that may be anything.
    ignored: int = 0
    # Whether another value is waited for, and not this one.
    differs: bool = False

    def __str__(self) -> str:
        mask = "" if not self.ignored else " ignoring 0x%x" % self.ignored
        size = "" if self.size == 4 else " size %d" % self.size
        return "%s 0x%x%s%s" % ("!=" if self.differs else "==", self.value, size, mask)


@dataclass(frozen=True)
class Executed(Event):
    """Instruction at an address, executed or fetched speculatively."""

    address: int

    def __str__(self) -> str:
        return "exec *0x%08x" % self.address


@dataclass(frozen=True)
class ExecutedIn(Event):
    """An instruction of a range is executed."""

    where: AddressRange

    def __str__(self) -> str:
        return "in %s" % (self.where,)


@dataclass(frozen=True)
class Accessed(Event):
    """Load or store of an address, or of a range."""

    # Of a single address both ends are that.
    where: AddressRange
    access: AccessType = AccessType.EITHER
    value: Optional[DataValue] = None

    def __str__(self) -> str:
        first, last = self.where
        where = "0x%08x" % first if first == last else str(self.where)
        return "%s %s%s" % (self.access.value, where, "" if self.value is None else " %s" % (self.value,))


@dataclass(frozen=True)
class Watched(Event):
    """Match of a processor's comparator that somebody else programmed.

    A Cortex-M's DWT has them.
    """

    number: int

    def __str__(self) -> str:
        return "dwt %d" % self.number


@dataclass(frozen=True)
class InContext(Event):
    """The processor runs with a Context ID."""

    context: int

    def __str__(self) -> str:
        return "context 0x%x" % self.context


@dataclass(frozen=True)
class InMachine(Event):
    """The processor runs a virtual machine, by its VMID."""

    machine: int

    def __str__(self) -> str:
        return "vmid 0x%x" % self.machine


@dataclass(frozen=True)
class AtZero(Event):
    """A counter is at zero."""

    counter: int

    def __str__(self) -> str:
        return "counter %d" % self.counter


@dataclass(frozen=True)
class InState(Event):
    """The sequencer is in a state."""

    state: int

    def __str__(self) -> str:
        return "state %d" % self.state


@dataclass(frozen=True)
class Input(Event):
    """An external input of the trace unit is active."""

    number: int

    def __str__(self) -> str:
        return "input %d" % self.number


@dataclass(frozen=True)
class Committed(Event):
    """Real execution of an instruction or access: a single-shot control.

    One of those given; speculative execution does not count.

    Its members are :class:`Executed`, :class:`ExecutedIn`, :class:`Accessed`, or all of them :class:`Watched`.
    """

    of: Tuple[Event, ...]
    # Whether it is so each time, rather than the first time only.
    again: bool = False

    def __str__(self) -> str:
        members = " or ".join(map(str, self.of))
        return "%s %s" % ("each" if self.again else "once", members if len(self.of) == 1 else "(%s)" % members)


@dataclass(frozen=True)
class Constant(Event):
    """Always, or never."""

    value: bool

    def __str__(self) -> str:
        return "always" if self.value else "never"


ALWAYS, NEVER = Constant(True), Constant(False)


@dataclass(frozen=True)
class Not(Event):
    """An event is not so."""

    of: Event

    def __str__(self) -> str:
        return "not %s" % _grouped(self.of)


@dataclass(frozen=True)
class And(Event):
    """Both are so, in the same cycle."""

    first: Event
    second: Event

    def __str__(self) -> str:
        return "%s and %s" % (_grouped(self.first, Or), _grouped(self.second, Or))


@dataclass(frozen=True)
class Or(Event):
    """At least one is so."""

    first: Event
    second: Event

    def __str__(self) -> str:
        return "%s or %s" % (_grouped(self.first, And), _grouped(self.second, And))


@dataclass(frozen=True)
class Trigger:
    """Action: stop the buffer, :attr:`TraceOptions.trigger_position` percent after the event."""

    def __str__(self) -> str:
        return "trigger"


@dataclass(frozen=True)
class StartTracing:
    """Trace from here on."""

    def __str__(self) -> str:
        return "start"


@dataclass(frozen=True)
class StopTracing:
    """Trace no more from here on, until the next :class:`StartTracing`."""

    def __str__(self) -> str:
        return "stop"


@dataclass(frozen=True)
class Trace:
    """Action: trace only while the event holds.

    Of several such rules any suffices.
    """

    def __str__(self) -> str:
        return "trace"


@dataclass(frozen=True)
class Mark:
    """Put an event packet into the trace."""

    # Which event of the unit's; None: one that is free.
    number: Optional[int] = None
    # In the data stream as well.
    in_data: bool = False

    def __str__(self) -> str:
        return "mark" if self.number is None else "mark %d" % self.number


@dataclass(frozen=True)
class Output:
    """Drive an external output of the trace unit."""

    number: int

    def __str__(self) -> str:
        return "output %d" % self.number


@dataclass(frozen=True)
class Timestamp:
    """Put the time into the trace."""

    def __str__(self) -> str:
        return "timestamp"


@dataclass(frozen=True)
class Count:
    """Action: decrement a counter in each cycle of the event."""

    counter: int

    def __str__(self) -> str:
        return "count %d" % self.counter


@dataclass(frozen=True)
class Reload:
    """Set a counter to its reload value."""

    counter: int

    def __str__(self) -> str:
        return "reload %d" % self.counter


@dataclass(frozen=True)
class NextState:
    """Action: move the sequencer from one state to another.

    Nothing happens in other states.
    """

    source: int
    # A neighbour of it; in an ETMv3 or a PTM any other state.
    target: int

    def __str__(self) -> str:
        return "next-state %d-%d" % (self.source, self.target)


@dataclass(frozen=True)
class FirstState:
    """Take the sequencer to state 0, wherever it is."""

    def __str__(self) -> str:
        return "first-state"


Action = Union[Trigger, StartTracing, StopTracing, Trace, Mark, Output, Timestamp, Count, Reload, NextState, FirstState]


class Rule(NamedTuple):
    """What is done when an event is so."""

    when: Event
    do: Action
    # The event in the user's words; empty: as it prints.
    text: str = ""

    def __str__(self) -> str:
        return "on %s do %s" % (self.text or self.when, self.do)


@dataclass(frozen=True)
class Counter:
    """Counter: its first value and reload; rules :class:`Count` decrement it.

    :param number: Which one, from 0.
    :param value: Where it begins, 0 to 65535: so many counts later it is at zero.
    :param reload: What a reload sets it to, 0 to 65535; None: ``value`` again.
    :param is_periodic: Whether it reloads by itself at the count after zero, so that it is at zero for one count in
        ``reload`` + 1.
    :param is_chained: Whether it goes down, too, when the counter before it reloads.
    :raises ValueError: A value does not fit.
    """

    number: int
    value: int
    reload: Optional[int] = None
    is_periodic: bool = False
    is_chained: bool = False

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("counter %d: the first is counter 0" % self.number)
        for value in (self.value, self.reloaded):
            if not 0 <= value <= LARGEST_COUNT:
                raise ValueError("counter %d: %d does not fit; it counts 0 to %d" % (self.number, value, LARGEST_COUNT))

    @property
    def reloaded(self) -> int:
        """What a reload sets it to."""
        return self.value if self.reload is None else self.reload

    def __str__(self) -> str:
        words = ["counter %d from %d" % (self.number, self.value)]
        words += ["reload %d" % self.reload] if self.reload is not None else []
        words += ["periodic"] if self.is_periodic else []
        words += ["chained"] if self.is_chained else []
        return " ".join(words)


def members(event: Event) -> Tuple[Event, ...]:
    """List the operands of ``and``, ``or`` and ``not``, else the event."""
    if isinstance(event, (And, Or)):
        return members(event.first) + members(event.second)
    if isinstance(event, Not):
        return members(event.of)
    return (event,)


def alternatives(event: Event) -> Tuple[Event, ...]:
    """List what ``or`` joins, whatever each of these is."""
    if isinstance(event, Or):
        return alternatives(event.first) + alternatives(event.second)
    return (event,)


def any_of(events: Sequence[Event]) -> Event:
    """Join events by ``or``; none of them is never."""
    result = events[0] if events else NEVER
    for each in events[1:]:
        result = Or(result, each)
    return result


def _grouped(event: Event, *others: type) -> str:
    # In words: "and" and "or" are never mixed without brackets.
    bracketed = isinstance(event, others or (And, Or))
    return "(%s)" % event if bracketed else str(event)
