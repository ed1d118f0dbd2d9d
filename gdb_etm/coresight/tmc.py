"""Trace Memory Controller with its own RAM (ETB or ETF) as a circular buffer.

Arm CoreSight Trace Memory Controller TRM (DDI 0461B), 2.2 (states, circular buffer mode), 3.2.
"""

from __future__ import annotations

import struct
from typing import List, Optional

from gdb_etm.access.port import AccessPort
from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.borrowed import Borrowed, Restoration, Settled
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import Drained, Progress, SinkStatus
from gdb_etm.errors import CaptureError
from gdb_etm.registers import tmc
from gdb_etm.registers.page import Register

_LARGEST = 1 << 26
_FRAME = 16
_CHUNK_WORDS = 1024
_HINT = "is its trace clock on, and is nothing else using this buffer?"
_FORMATTED = tmc.FFCR.encode(EnFt=1, EnTI=1, FOnFlIn=1, FOnTrigEvt=1, TrigOnTrigIn=1)


class TraceMemoryController:
    """A TMC as ETB or ETF.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    """

    def __init__(self, port: AccessPort, base: int, deadline: Deadline) -> None:
        self._registers = Borrowed(port, base)
        self._deadline = deadline
        self._size = 0
        self._begun = False
        self._drained: Optional[Drained] = None

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._size

    def attach(self) -> None:
        """Make its registers writable and read its size.

        :raises CaptureError: The size makes no sense.
        """
        self._registers.unlock()
        words = self._registers.read(tmc.RSZ)
        if not 0 < words <= _LARGEST // 4 or words % 4:
            raise CaptureError("the trace buffer at 0x%08x says that it holds %d words: is it powered and clocked?"
                               % (self._registers.base, words))
        self._size = 4 * words

    @property
    def requests_sync(self) -> bool:
        """Whether it can ask the sources for synchronisation points: by its periodic synchronisation counter."""
        return True

    def start(self, sync_bytes: int = 0) -> None:
        """Empty the buffer and capture into it, the newest trace replacing the oldest.

        :param sync_bytes: Ask the sources for a synchronisation point every so many bytes, a power of two; 0: leave
            that as it is.
        :raises CaptureError: It does not get ready.
        """
        registers = self._registers
        self.abandon()
        if sync_bytes:
            period = min(max(sync_bytes.bit_length() - 1, tmc.PSCOUNT_LEAST), tmc.PSCOUNT_MOST)
            registers.write(tmc.PSCR, tmc.PSCR.encode(PSCount=period))
        for register, value in ((tmc.MODE, tmc.MODE.encode(MODE=tmc.MODE_CIRCULAR)), (tmc.RRP, 0), (tmc.RWP, 0),
                                (tmc.TRG, 0), (tmc.FFCR, _FORMATTED), (tmc.CTL, tmc.CTL.encode(TraceCaptEn=1))):
            registers.write(register, value)
        self._begun = False
        self._drained = None

    def stop(self) -> None:
        """Flush what is on its way into the buffer and stop capturing; the source must have stopped before.

        :raises CaptureError: The flush or the stop does not complete.
        """
        registers = self._registers
        if tmc.STS.get(registers.read(tmc.STS), "TMCReady"):
            return  # stopped before, or never started
        stop = _FORMATTED | tmc.FFCR.encode(StopOnFl=1)
        registers.write(tmc.FFCR, stop)
        registers.write(tmc.FFCR, stop | tmc.FFCR.encode(FlushMan=1))
        self._wait(tmc.FFCR, FlushMan=0)
        self._wait(tmc.STS, TMCReady=1)

    def drain(self, progress: Optional[Progress] = None) -> Drained:
        """Read the stopped buffer, one transfer a word; it is disabled afterwards.

        A drain that was interrupted may be repeated: it returns what is left.

        :raises CaptureError: The trace memory reports an error.
        """
        if self._drained is None:
            self._drained = self._read_out(progress)
        self._registers.write(tmc.CTL, tmc.CTL.encode(TraceCaptEn=0))
        return self._drained

    def abandon(self) -> None:
        """Stop capturing at once, whatever is on its way.

        :raises CaptureError: It does not get ready.
        """
        self._registers.write(tmc.CTL, tmc.CTL.encode(TraceCaptEn=0))
        self._wait(tmc.STS, TMCReady=1)

    def status(self) -> SinkStatus:
        """Look, without changing anything."""
        registers = self._registers
        status = tmc.STS.decode(registers.read(tmc.STS))
        filled = self._size if status["Full"] else registers.read(tmc.RWP) % self._size
        # A flush that stops it leaves TraceCaptEn set.
        capturing = bool(registers.read(tmc.CTL)) and not status["TMCReady"]
        return SinkStatus(capturing, filled, bool(status["Full"]))

    def restoration(self) -> List[Restoration]:
        """List the writes that put its registers back as they were found, in order."""
        ready = Settled(tmc.STS, tmc.STS.encode(TMCReady=1))
        return self._registers.restoration(tmc.CTL, ready)

    def release(self) -> None:
        """Put its registers back as they were found."""
        self.abandon()
        self._registers.restore(tmc.CTL)

    def _read_out(self, progress: Optional[Progress]) -> Drained:
        registers = self._registers
        status = tmc.STS.decode(registers.read(tmc.STS))
        if status["MemErr"]:
            raise CaptureError("the trace buffer at 0x%08x reports a memory error (STS.MemErr): its content is lost"
                               % registers.base)
        write = registers.read(tmc.RWP) % self._size
        start, length = (write, self._size) if status["Full"] else (0, write)
        # Reading begins at the oldest word and cannot begin again: what an interrupted drain has read is gone.
        taken = (registers.read(tmc.RRP) - start) % self._size if self._begun else 0
        again, self._begun = self._begun, True
        data = self._read(max(length - taken, 0) // 4, progress)
        end = BufferEnd.WRAPPED if status["Full"] else BufferEnd.STARTED
        if taken or again and not data:
            end = BufferEnd.UNKNOWN
        # Frames lie at multiples of 16 bytes of the RAM: what is left of the oldest one is of no use.
        return Drained(data[-(start + taken) % _FRAME:], end)

    def _read(self, words: int, progress: Optional[Progress]) -> bytes:
        # In pieces, so that Ctrl-C is heard between them.
        address = self._registers.base + tmc.RRD.offset
        values: List[int] = []
        while len(values) < words:
            piece = min(_CHUNK_WORDS, words - len(values))
            values += self._registers.port.read_fifo(address, piece)
            if progress is not None:
                progress(4 * piece, 4 * words)
        if tmc.EMPTY in values:
            del values[values.index(tmc.EMPTY):]
        return struct.pack("<%dI" % len(values), *values)

    def _wait(self, register: Register, **fields: int) -> None:
        self._deadline.wait(self._registers.port, self._registers.base, register, _HINT, **fields)
