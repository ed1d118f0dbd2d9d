"""Buffer of a Micro Trace Buffer: a part of the program's RAM.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3, 3.2.1 and 3.2.4.
"""

from __future__ import annotations

import struct
from typing import List, Optional, Tuple

from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.sink import BufferPlace, Drained, Progress, SinkSetup, SinkStatus
from gdb_etm.coresight.steps import Step, write
from gdb_etm.errors import CaptureError
from gdb_etm.registers import mtb
from gdb_etm.registers.page import Page

_CHUNK_WORDS = 1024
_PACKET = 8
# What a watermark does.
_FLOWS = {
    None: "no watermark",
    False: "the trace stops at the watermark (AUTOSTOP)",
    True: "the core halts at the watermark (AUTOHALT)",
}
# Of the pointer, without WRAP.
_ALL = 0xFFFFFFF8


class MtbBuffer:
    """The part of the RAM that packets go to.

    :param registers: Of the Micro Trace Buffer, shared with its driver, which puts them back.
    """

    def __init__(self, registers: Borrowed) -> None:
        self.registers = registers
        self._base = 0
        self._place: Optional[BufferPlace] = None
        # The bits of an address that the pointer has; all before they were looked at.
        self._reach = 0xFFFFFFFF
        # What was in RAM that is only borrowed.
        self._found: Tuple[int, ...] = ()
        # What MTB_FLOW was written.
        self.flow = 0

    @property
    def size(self) -> int:
        """Size in bytes; 0 before a place was chosen."""
        return 0 if self._place is None else self._place.size

    @property
    def place(self) -> Optional[BufferPlace]:
        """Where it is; None before a place was chosen."""
        return self._place

    @property
    def requests_sync(self) -> bool:
        """Whether it can ask the sources for synchronisation points."""
        return False

    @property
    def page(self) -> Page:
        """What its registers are."""
        return mtb.PAGE

    def attach(self) -> None:
        """Read where the RAM begins that the pointer counts from."""
        self._base = self.registers.read(mtb.BASE)

    def steps(self, setup: SinkSetup = SinkSetup()) -> Tuple[Step, ...]:
        """Return the steps that :meth:`start` makes."""
        place = setup.place or self._place
        start = 0 if place is None else self._pointer(place.address)
        return (
            write(mtb.POSITION, start, "the buffer is empty, and begins at its address", is_live=True),
            write(mtb.FLOW, self._flow(setup, start), _FLOWS[None if setup.watermark is None else setup.halts]),
        )

    def start(self, setup: SinkSetup = SinkSetup()) -> None:
        """Empty the buffer.

        :raises CaptureError: The pointer does not take its address.
        """
        if setup.place is not None and setup.place != self._place:
            self._give_back()
            self._point_to(setup.place)
            if not setup.place.is_reserved:
                self._found = tuple(self._read(setup.place.address, setup.place.size // 4))
            self._place = setup.place
        elif self._place is not None:
            self._point_to(self._place)
        self.flow = self._flow(setup, 0 if self._place is None else self._pointer(self._place.address))
        self.registers.write(mtb.FLOW, self.flow)

    def stop(self) -> None:
        """Do nothing: what stops the unit stops it."""

    def address_of(self, position: int) -> int:
        """Give the address that a value of MTB_POSITION stands for."""
        start = 0 if self._place is None else self._place.address
        return start + ((position & _ALL) - self._pointer(start))

    def drain(self, progress: Optional[Progress] = None) -> Drained:
        """Read the buffer from RAM; repeatable."""
        place = self._place
        if place is None:
            return Drained(b"", BufferEnd.UNKNOWN)
        position = self.registers.read(mtb.POSITION)
        within = self.address_of(position) - place.address
        wrapped = bool(mtb.POSITION.get(position, "WRAP"))
        if not 0 <= within < place.size:
            words = "something has moved MTB_POSITION to 0x%x, out of the buffer: nothing of it was read"
            return Drained(b"", BufferEnd.UNKNOWN, notes=(words % position,))
        values: List[int] = []
        wanted = (place.size if wrapped else within) // 4
        while len(values) < wanted:
            count = min(_CHUNK_WORDS, wanted - len(values))
            values += self._read(place.address + 4 * len(values), count)
            if progress is not None:
                progress(4 * count, 4 * wanted)
        if wrapped:
            values = values[within // 4 :] + values[: within // 4]
        end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
        return Drained(struct.pack("<%dI" % len(values), *values), end)

    def abandon(self) -> None:
        """Do nothing: what stops the unit stops it."""

    def status(self) -> SinkStatus:
        """Look, without changing anything."""
        position, master = self.registers.read(mtb.POSITION), self.registers.read(mtb.MASTER)
        wrapped = bool(mtb.POSITION.get(position, "WRAP"))
        start = 0 if self._place is None else self._place.address
        filled = self.size if wrapped else max(0, min(self.address_of(position) - start, self.size))
        return SinkStatus(bool(mtb.MASTER.get(master, "EN")), filled, wrapped)

    def restoration(self) -> List[Restoration]:
        """List the writes that put back lent RAM."""
        start = 0 if self._place is None else self._place.address
        port = self.registers.port
        return [Restoration(port, start + 4 * n, value) for n, value in enumerate(self._found)]

    def release(self) -> None:
        """Put back what was in RAM that was only borrowed."""
        self._give_back()
        self._place = None

    def _point_to(self, place: BufferPlace) -> None:
        # Bits of the pointer that no RAM needs read as zero: it is the address modulo what the MTB reaches.
        self.registers.write(mtb.POSITION, _ALL)
        self._reach = self.registers.read(mtb.POSITION) | _PACKET - 1
        start = self._pointer(place.address)
        self.registers.write(mtb.POSITION, start)
        found = self.registers.read(mtb.POSITION)
        if found != start or self._reach + 1 < place.size:
            words = "MTB_POSITION was written 0x%x and reads 0x%x: has the MTB a clock?"
            raise CaptureError(words % (start, found))
        end = place.address + place.size
        if self._base and not (self._base <= place.address and end <= self._base + self._reach + 1):
            words = "%s is not in the RAM that the MTB reaches: from 0x%08x (MTB_BASE) on, 0x%x bytes (MTB_POSITION)"
            raise CaptureError(words % (place, self._base, self._reach + 1))

    def _flow(self, setup: SinkSetup, start: int) -> int:
        if setup.watermark is None:
            return 0
        return (start + setup.watermark & self._reach) | mtb.FLOW.encode(AUTOHALT=setup.halts, AUTOSTOP=not setup.halts)

    def _pointer(self, address: int) -> int:
        return address & self._reach

    def _read(self, address: int, words: int) -> List[int]:
        return list(self.registers.port.read_block(address, words))

    def _give_back(self) -> None:
        found, self._found = self._found, ()
        if found and self._place is not None:
            for n, value in enumerate(found):
                self.registers.port.write32(self._place.address + 4 * n, value)
