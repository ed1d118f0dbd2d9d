"""Encoder of loads and stores into the ETMv4 data stream.

Addresses and values come late and out of order; markers align the two streams.

What an analyser needs to find the instruction of a transfer is IHI 0064, 2.4.4: a marker in both streams wherever its
search from the last match would go wrong.  The lateness is made up, as the speculation is (see ``speculation.py``).
"""

from __future__ import annotations

import random
from typing import Dict, List, NamedTuple, Optional, Sequence

from gdb_etm.protocols.etmv4.encode.data_packets import P1, P2, DataWriter
from gdb_etm.protocols.etmv4.encode.packets import numbered_sync
from gdb_etm.protocols.etmv4.encode.speculation import CANCEL, Speculator

_MOST_LATE = 6
_MOST_OPEN = 20
_SOMEWHERE = 0x20001000


class BusTransfer(NamedTuple):
    """One transfer of an instruction or of an exception's entry or return."""

    address: int
    value: int
    # Transfer index: which of the instruction's transfers it is (F.2.1, F.2.9).
    order: int
    # Whether its address follows from those of the transfers before it.
    inferable: bool = False


class _Parent(NamedTuple):
    # Transfers that wait, and the P0 element that they belong to.
    position: int
    key: int
    transfers: Sequence[BusTransfer]


class DataEncoder:
    """Traces transfers into a data stream, and markers into both streams.

    :param instructions: The instruction stream, whose P0 elements own the transfers.
    :param writer: The data stream.
    :param keys: How many keys P0 elements count through.
    :param special: Right keys from here up to the second number are special.
    :param addresses: Whether addresses are traced (TRCCONFIGR.DA).
    :param values: Whether values are traced (TRCCONFIGR.DV).
    :param late: Whether transfers are traced late and out of order.
    """

    def __init__(
        self,
        instructions: Speculator,
        writer: DataWriter,
        keys: int,
        special: range,
        addresses: bool,
        values: bool,
        late: bool = True,
    ) -> None:
        self._instructions = instructions
        self._writer = writer
        self._keys = keys
        self._special = special
        self._addresses = addresses
        self._values = values
        self._late = late
        self._random = random.Random(keys)
        self._number = 0
        self._settling = False
        # Whether a numbered marker was written, which wants a timestamp near it in both streams (2.4.4).
        self.timestamp_due = False
        self._restart()
        instructions.on_wrong = self._wrong

    def _restart(self) -> None:
        self._parents: List[_Parent] = []
        # Values to come by the right key of their P1 element.
        self._open: Dict[int, int] = {}
        # The position of the last matched P0 element; None where an analyser does not know any.
        self._matched: Optional[int] = None
        self._numbered_due = True

    def transfer(self, transfers: Sequence[BusTransfer]) -> None:
        """Take the transfers of the P0 element that was written last."""
        if transfers:
            self._parents.append(_Parent(self._instructions.last_position, self._instructions.last_key, transfers))

    def step(self) -> None:
        """Trace some of what waits; to be called after each P0 element."""
        while self._parents and (len(self._parents) > self._patience() or self._is_old(self._parents[0])):
            self._trace(self._choose(len(self._parents)))
        while self._open and len(self._open) > self._patience():
            self._close(self._choose(len(self._open)))

    def settle(self) -> None:
        """Trace all that waits."""
        self._settling = True
        while self._parents:
            self._trace(0)
        while self._open:
            self._close(0)
        self._settling = False

    def synchronise(self) -> None:
        """Write a synchronisation point; the next transfer is marked by number (2.4.4)."""
        self.settle()
        self._writer.synchronise()
        self._numbered_due = True

    def overflow(self) -> None:
        """Lose what waits, of both streams, and begin anew."""
        self._writer.drop()
        self._restart()
        self._writer.overflow()

    @property
    def count(self) -> int:
        """Number of bytes in the data stream so far."""
        return self._writer.count

    def deliver(self) -> None:
        """Hand over all data trace generated so far."""
        self._writer.deliver()

    def event(self) -> None:
        """Report that event 0 occurred."""
        self._writer.event()

    def timestamp(self, value: int) -> None:
        """Write a timestamp."""
        self._writer.timestamp(value)
        self.timestamp_due = False

    def _patience(self) -> int:
        return self._random.randint(0, _MOST_LATE) if self._late else 0

    def _choose(self, count: int) -> int:
        return min(count - 1, self._random.choice((0, 0, 0, 1, 2))) if self._late else 0

    def _is_old(self, parent: _Parent) -> bool:
        # Its key is needed again before long.
        return self._instructions.last_position - parent.position >= self._keys // 2

    def _wrong(self) -> None:
        # An element of a wrong path: what it loads is traced as anything else, if it comes before the cancel.
        if self._random.randrange(3) == 0:
            address = _SOMEWHERE + self._random.randrange(0, 256, 4)
            transfer = BusTransfer(address, self._random.getrandbits(16), 0)
            self._trace_of(_Parent(self._instructions.last_position, self._instructions.last_key, (transfer,)))

    def _trace(self, which: int) -> None:
        self._trace_of(self._parents.pop(which))

    def _trace_of(self, parent: _Parent) -> None:
        for transfer in parent.transfers:
            self._mark(parent)
            while len(self._open) >= _MOST_OPEN:
                self._close(0)
            right = self._right_key()
            address = transfer.address if self._addresses else 0
            self._writer.add(P1(address, parent.key, right, transfer.order, transfer.inferable or not self._addresses))
            if self._values:
                self._open[right] = transfer.value

    def _right_key(self) -> int:
        # The next one, unless it is still in use; now and then a special one.
        right = self._writer.next_right
        specials = [key for key in self._special if key not in self._open]
        if specials and (right in self._open or self._late and self._random.randrange(16) == 0):
            return specials[0]
        while right in self._open:
            right = (right + 1) % self._special.start
        return right

    def _close(self, which: int) -> None:
        right = list(self._open)[which]
        self._writer.add(P2(self._open.pop(right), right))

    # Markers (2.4.4).

    def _mark(self, parent: _Parent) -> None:
        if self._numbered_due:
            self._numbered_due = False
            self._instructions.put(numbered_sync(self._number))
            self._writer.numbered_sync(self._number)
            self._number = (self._number + 1) % 8
            self.timestamp_due = True
        elif self._is_found(parent):
            self._matched = max(self._matched or 0, parent.position)
            return
        else:
            self._instructions.unnumbered_sync()
            self._writer.unnumbered_sync()
        if self._matched is None or parent.position > self._matched:
            self._matched = parent.position

    def _is_found(self, parent: _Parent) -> bool:
        # Whether the search from the last matched element ends at this one, whatever comes later in the stream.
        start = self._matched
        if start is None or start <= self._instructions.trail_start:
            return False
        trail, base = self._instructions.trail, self._instructions.trail_start
        ahead = self._keys // 2
        end_key = (trail[start - base] + ahead) % self._keys
        stopped = False
        for position in range(start, base + len(trail)):
            item = trail[position - base]
            if item == parent.key:
                return position == parent.position
            if item in (CANCEL, end_key):
                stopped = True
                break
        if not stopped and 1 <= (parent.key - trail[start - base]) % self._keys <= ahead:
            return False  # the search goes on to what is not written yet, and its key will come again there
        if not stopped and (self._settling or self._random.randrange(2)):
            # If trace ends before the end of the search space, an analyser finds nothing; so a marker is better.
            return False
        for position in range(start - 1, base - 1, -1):
            if trail[position - base] == parent.key:
                return position == parent.position
        return False
