"""Events of trace units, independent of the architecture.

An event is true in some clock cycles and false in others.  ``&``, ``|`` and ``~`` join events.  Which comparator,
selector or event field that takes is decided by the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional, Sequence, Tuple

from gdb_etm.traceunit.addresses import AddressRange

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
