"""Actions of trace units on events, independent of the architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional, Union

from gdb_etm.traceunit.events import Event

# Counters have 16 bits in every architecture (IHI 0064, 4.2.1; IHI 0014Q, 2.9).
LARGEST_COUNT = 0xFFFF


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
