"""Trace Memory Controller with RAM (ETB, ETF) as circular buffer.

Arm CoreSight Trace Memory Controller TRM (DDI 0461B), 2.2 (states, circular buffer mode), 3.2.
"""

from __future__ import annotations

import struct
from typing import List, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.borrowed import Borrowed, Restoration, Settled
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import MARK, MARK_BYTES, Drained, Progress, SinkSetup, SinkStatus
from gdb_etm.coresight.steps import Step, carry_out, poll, write
from gdb_etm.errors import CaptureError
from gdb_etm.registers import tmc
from gdb_etm.registers.page import Page, Register

_LARGEST = 1 << 26
_FRAME = 16
_CHUNK_WORDS = 1024
_HINT = "is its trace clock on, and is nothing else using this buffer?"
_MARK = struct.pack("<%dI" % len(MARK), *MARK)
_FORMATTED = tmc.FFCR.encode(EnFt=1, EnTI=1, FOnFlIn=1, FOnTrigEvt=1, TrigOnTrigIn=1)
_STOP_AT_ONCE: Tuple[Step, ...] = (
    write(tmc.CTL, tmc.CTL.encode(TraceCaptEn=0), "stopped while it is programmed"),
    poll(tmc.STS, "registers must not be written before", _HINT, TMCReady=1),
)


class TraceMemoryController:
    """A TMC as ETB or ETF.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    """

    def __init__(self, port: AccessPort, base: int, deadline: Deadline) -> None:
        self.registers = Borrowed(port, base)
        self._deadline = deadline
        self._size = 0
        self._begun = False
        # Where reading began.
        self._oldest = 0
        self._drained: Optional[Drained] = None
        self._setup, self._stopped_itself = SinkSetup(), False

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._size

    def attach(self) -> None:
        """Make its registers writable and read its size.

        :raises CaptureError: The size makes no sense.
        """
        self.registers.unlock()
        words = self.registers.read(tmc.RSZ)
        if not 0 < words <= _LARGEST // 4 or words % 4:
            raise CaptureError(
                "the trace buffer at 0x%08x says that it holds %d words: is it powered and clocked?"
                % (self.registers.base, words)
            )
        self._size = 4 * words

    @property
    def requests_sync(self) -> bool:
        """Whether its periodic synchronisation counter can request synchronisation points."""
        return True

    @property
    def page(self) -> Page:
        """What its registers are."""
        return tmc.PAGE

    def steps(self, setup: SinkSetup = SinkSetup()) -> Tuple[Step, ...]:
        """Return the steps that :meth:`start` makes."""
        period = min(max(setup.sync_bytes.bit_length() - 1, tmc.PSCOUNT_LEAST), tmc.PSCOUNT_MOST)
        request = write(tmc.PSCR, tmc.PSCR.encode(PSCount=period), "ask for a sync every %d bytes" % (1 << period))
        return (
            *_STOP_AT_ONCE,
            *((request,) if setup.sync_bytes else ()),
            write(tmc.MODE, tmc.MODE.encode(MODE=tmc.MODE_CIRCULAR), "the newest trace replaces the oldest"),
            write(tmc.RRP, 0, "read from the start", is_live=True),
            write(tmc.RWP, setup.begin(self._size), "the buffer is empty", is_live=True),
            *self._trigger_steps(setup),
            write(tmc.CTL, tmc.CTL.encode(TraceCaptEn=1), "capture"),
        )

    def _trigger_steps(self, setup: SinkSetup) -> Tuple[Step, ...]:
        if setup.after_trigger is None:
            return (
                write(tmc.TRG, 0, "no trigger"),
                write(tmc.FFCR, _FORMATTED, "frames with trace IDs, flushed when asked to"),
            )
        # What the flush of a trigger event brought would come after the end.
        formatted = _FORMATTED & ~tmc.FFCR.encode(FOnTrigEvt=1) | tmc.FFCR.encode(StopOnTrigEvt=1)
        words = setup.trigger_words(self._size)
        return (
            write(tmc.TRG, words, "%d bytes more after a trigger" % (4 * words)),
            write(tmc.FFCR, formatted, "frames with trace IDs, until so much after a trigger"),
        )

    def start(self, setup: SinkSetup = SinkSetup()) -> None:
        """Empty the buffer and capture; new trace replaces the oldest.

        :raises CaptureError: It does not get ready.
        """
        steps = self.steps(setup)
        if setup.full_after:
            self.abandon()
            self.registers.write(tmc.RWP, setup.begin(self._size) - MARK_BYTES)
            for word in MARK:
                self.registers.command(tmc.RWD, word)
            steps = steps[len(_STOP_AT_ONCE) :]
        carry_out(steps, self.registers, tmc.PAGE, self._deadline)
        self._begun = False
        self._drained = None
        self._setup, self._stopped_itself = setup, False

    def stop(self) -> None:
        """Flush and stop; the source must have stopped before.

        :raises CaptureError: The flush or the stop does not complete.
        """
        registers = self.registers
        if tmc.STS.get(registers.read(tmc.STS), "TMCReady"):
            self._stopped_itself = self._setup.after_trigger is not None
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
        self.registers.write(tmc.CTL, tmc.CTL.encode(TraceCaptEn=0))
        return self._drained

    def abandon(self) -> None:
        """Stop capturing at once, whatever is on its way.

        :raises CaptureError: It does not get ready.
        """
        carry_out(_STOP_AT_ONCE, self.registers, tmc.PAGE, self._deadline)

    def status(self) -> SinkStatus:
        """Look, without changing anything."""
        registers = self.registers
        status = tmc.STS.decode(registers.read(tmc.STS))
        begin = self._setup.begin(self._size)
        filled = self._size if status["Full"] else (registers.read(tmc.RWP) - begin) % self._size
        # A flush that stops it leaves TraceCaptEn set.
        capturing = bool(registers.read(tmc.CTL)) and not status["TMCReady"]
        return SinkStatus(capturing, filled, bool(status["Full"]), bool(status["Triggered"]))

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        ready = Settled(tmc.STS, tmc.STS.encode(TMCReady=1))
        return self.registers.restoration(tmc.CTL, ready)

    def release(self) -> None:
        """Put its registers back as they were found."""
        self.abandon()
        self.registers.restore(tmc.CTL)

    def _read_out(self, progress: Optional[Progress]) -> Drained:
        registers = self.registers
        status = tmc.STS.decode(registers.read(tmc.STS))
        if status["MemErr"]:
            raise CaptureError(
                "the trace buffer at 0x%08x reports a memory error (STS.MemErr): its content is lost" % registers.base
            )
        write, is_full = registers.read(tmc.RWP) % self._size, bool(status["Full"])
        start, length = (write, self._size) if is_full else (0, write)
        begin = self._setup.begin(self._size)
        if begin and not self._begun:
            # Reading begins where the component says: there, or at the oldest word of what it takes for its content.
            self._oldest = registers.read(tmc.RRP) % self._size
        if begin:
            start, length = self._oldest, (write - self._oldest) % self._size or is_full * self._size
        # Reading begins at the oldest word and cannot begin again: what an interrupted drain has read is gone.
        taken = (registers.read(tmc.RRP) - start) % self._size if self._begun else 0
        again, self._begun = self._begun, True
        data = self._read(max(length - taken, 0) // 4, progress)
        end = BufferEnd.WRAPPED if is_full else BufferEnd.STARTED
        if begin:
            # Of what was there before, an interrupted drain may have read a part.
            stale = (begin - start) % self._size - taken
            is_marked = stale >= MARK_BYTES and data[stale - MARK_BYTES : stale] == _MARK
            if is_marked or not taken and not (is_full and stale):
                return Drained(data[stale:], BufferEnd.STARTED, bool(status["Triggered"]), self._stopped_itself)
        if taken or again and not data:
            end = BufferEnd.UNKNOWN
        # Frames lie at multiples of 16 bytes of the RAM: what is left of the oldest one is of no use.
        return Drained(data[-(start + taken) % _FRAME :], end, bool(status["Triggered"]), self._stopped_itself)

    def _read(self, words: int, progress: Optional[Progress]) -> bytes:
        # In pieces, so that Ctrl-C is heard between them.
        address = self.registers.base + tmc.RRD.offset
        values: List[int] = []
        while len(values) < words:
            piece = min(_CHUNK_WORDS, words - len(values))
            values += self.registers.port.read_fifo(address, piece)
            if progress is not None:
                progress(4 * piece, 4 * words)
        if tmc.EMPTY in values:
            del values[values.index(tmc.EMPTY) :]
        return struct.pack("<%dI" % len(values), *values)

    def _wait(self, register: Register, **fields: int) -> None:
        self._deadline.wait(self.registers.port, self.registers.base, register, _HINT, **fields)
