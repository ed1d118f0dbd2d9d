"""Log of the instruction stream, for analysing data and conditional instructions.

Kept only for units that trace data or conditional instructions.  Cancelled P0 elements stay in the log, for a
cancelled one can own data (IHI 0064, 2.4.4).
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Union

from gdb_etm.protocols.etmv4.results import ResultQueue


class Parent:
    """A P0 element, referred to by data address elements."""

    __slots__ = ("key", "entry", "event")

    def __init__(self, key: int) -> None:
        # 0 up to TRCIDR9.NUMP0KEY.
        self.key = key
        # The entry of the recording whose last instruction it is; -1 while or when it is not known to have run.
        self.entry = -1
        # The index of the recording's event that it is, for exceptions and returns; otherwise -1.
        self.event = -1


class Marker(NamedTuple):
    """A data synchronisation marker, in either stream."""

    # 0 to 7; None for an unnumbered one.
    number: Optional[int]


class Time(NamedTuple):
    """A timestamp, in either stream."""

    value: int


class Cancelled(NamedTuple):
    """The youngest P0 elements were cancelled."""

    # How many, at least 1.
    elements: int


class Lost(NamedTuple):
    """Trace was lost: an overflow, a discard, or unreadable bytes."""


Item = Union[Parent, Marker, Time, Cancelled, Lost]


class Log:
    """The log of one instruction stream."""

    def __init__(self) -> None:
        # In stream order, cancelled P0 elements included.
        self.items: List[Item] = []
        # The elements about conditional instructions.
        self.conditions = ResultQueue()
