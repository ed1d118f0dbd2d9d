"""Embedded Trace Buffer of CoreSight SoC-400 and before, as a circular buffer.

Arm CoreSight Components TRM (DDI 0314H), 9.4 and 9.6.  Its pointers count words.
"""

from __future__ import annotations

import struct
from typing import List, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import MARK, Drained, Progress, SinkSetup, SinkStatus
from gdb_etm.coresight.steps import Step, carry_out, poll, write
from gdb_etm.errors import CaptureError
from gdb_etm.registers import etb
from gdb_etm.registers.page import Page, Register

_LARGEST_WORDS = 1 << 24
_FRAME_WORDS = 4
_CHUNK_WORDS = 1024
_HINT = "is its trace clock on, and is nothing else using this buffer?"
_FORMATTED = etb.FFCR.encode(EnFTC=1, EnFCont=1)
_STOP_AT_ONCE: Tuple[Step, ...] = (
    write(etb.CTL, etb.CTL.encode(TraceCaptEn=0), "stopped while it is programmed"),
    poll(etb.FFSR, "registers must not be written before", _HINT, FtStopped=1),
)


class EmbeddedTraceBuffer:
    """A classic ETB.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    """

    def __init__(self, port: AccessPort, base: int, deadline: Deadline) -> None:
        self.registers = Borrowed(port, base)
        self._deadline = deadline
        self._words = 0
        self._setup, self._stopped_itself = SinkSetup(), False

    @property
    def size(self) -> int:
        """Size in bytes."""
        return 4 * self._words

    def attach(self) -> None:
        """Make its registers writable and read its size.

        :raises CaptureError: The size makes no sense.
        """
        self.registers.unlock()
        words = self.registers.read(etb.RDP)
        if not 0 < words <= _LARGEST_WORDS or words % _FRAME_WORDS:
            raise CaptureError(
                "the trace buffer at 0x%08x says that it holds %d words: is it powered and clocked?"
                % (self.registers.base, words)
            )
        self._words = words

    @property
    def requests_sync(self) -> bool:
        """Whether it can ask the sources for synchronisation points."""
        return False

    @property
    def page(self) -> Page:
        """What its registers are."""
        return etb.PAGE

    def steps(self, setup: SinkSetup = SinkSetup()) -> Tuple[Step, ...]:
        """Return the steps that :meth:`start` makes.

        :param setup: An ETB cannot ask for synchronisation points.
        """
        words = setup.trigger_words(self.size)
        until = (write(etb.TRG, 0, "no trigger"), write(etb.FFCR, _FORMATTED, "frames with trace IDs"))
        if setup.after_trigger is not None:
            stopping = _FORMATTED | etb.FFCR.encode(StopTrig=1)
            until = (
                write(etb.TRG, words, "%d bytes more after a trigger" % (4 * words)),
                write(etb.FFCR, stopping, "frames with trace IDs, until so much after a trigger"),
            )
        return (
            *_STOP_AT_ONCE,
            write(etb.RWP, setup.begin(self.size) // 4, "the buffer is empty", is_live=True),
            write(etb.RRP, 0, "read from the start", is_live=True),
            *until,
            write(etb.CTL, etb.CTL.encode(TraceCaptEn=1), "capture"),
        )

    def start(self, setup: SinkSetup = SinkSetup()) -> None:
        """Empty the buffer and capture; new trace replaces the oldest.

        :raises CaptureError: It does not stop what it did before.
        """
        self._setup, self._stopped_itself = setup, False
        steps = self.steps(setup)
        if setup.full_after:
            self.abandon()
            self.registers.write(etb.RWP, setup.begin(self.size) // 4 - len(MARK))
            for word in MARK:
                self.registers.command(etb.RWD, word)
            steps = steps[len(_STOP_AT_ONCE) :]
        carry_out(steps, self.registers, etb.PAGE, self._deadline)

    def stop(self) -> None:
        """Flush and stop; the source must have stopped before.

        :raises CaptureError: The flush or the stop does not complete.
        """
        registers = self.registers
        if not registers.read(etb.CTL):
            return
        if self._is_stopped():
            # A trigger has stopped it: there is nothing to flush into.
            self._stopped_itself = True
            self.abandon()
            return
        stop = _FORMATTED | etb.FFCR.encode(StopFl=1)
        registers.write(etb.FFCR, stop)
        registers.write(etb.FFCR, stop | etb.FFCR.encode(FOnMan=1))
        self._wait(etb.FFCR, FOnMan=0)
        self._wait(etb.FFSR, FtStopped=1)
        self.abandon()

    def drain(self, progress: Optional[Progress] = None) -> Drained:
        """Read the stopped buffer, one transfer a word; repeatable."""
        registers = self.registers
        status = etb.STS.decode(registers.read(etb.STS))
        wrapped = bool(status["Full"])
        write, begin = registers.read(etb.RWP) % self._words, self._setup.begin(self.size) // 4
        if wrapped and self._setup.full_after and self._read_at(begin - len(MARK), len(MARK)) == [*MARK]:
            wrapped, write = False, write + self._words
        start, length = (write, self._words) if wrapped else (begin, write - begin)
        # Frames lie at multiples of four words of the RAM: what is left of the oldest one is of no use.
        cut = -start % _FRAME_WORDS
        registers.write(etb.RRP, (start + cut) % self._words)
        values: List[int] = []
        while len(values) < length - cut:
            count = min(_CHUNK_WORDS, length - cut - len(values))
            values += registers.port.read_fifo(registers.base + etb.RRD.offset, count)
            if progress is not None:
                progress(4 * count, 4 * (length - cut))
        end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
        return Drained(struct.pack("<%dI" % len(values), *values), end, bool(status["Triggered"]), self._stopped_itself)

    def abandon(self) -> None:
        """Stop capturing at once, whatever is on its way."""
        carry_out(_STOP_AT_ONCE, self.registers, etb.PAGE, self._deadline)

    def status(self) -> SinkStatus:
        """Look, without changing anything."""
        registers = self.registers
        status = etb.STS.decode(registers.read(etb.STS))
        begin = self._setup.begin(self.size)
        filled = self.size if status["Full"] else (4 * registers.read(etb.RWP) - begin) % self.size
        capturing = bool(registers.read(etb.CTL)) and not self._is_stopped()
        return SinkStatus(capturing, filled, bool(status["Full"]), bool(status["Triggered"]))

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        return self.registers.restoration(etb.CTL)

    def release(self) -> None:
        """Put its registers back as they were found."""
        self.abandon()
        self.registers.restore(etb.CTL)

    def _read_at(self, index: int, words: int) -> List[int]:
        self.registers.write(etb.RRP, index)
        return self.registers.port.read_fifo(self.registers.base + etb.RRD.offset, words)

    def _is_stopped(self) -> bool:
        # By a trigger, that is, which leaves TraceCaptEn set.
        if self._setup.after_trigger is None:
            return False
        return bool(etb.FFSR.get(self.registers.read(etb.FFSR), "FtStopped"))

    def _wait(self, register: Register, **fields: int) -> None:
        self._deadline.wait(self.registers.port, self.registers.base, register, _HINT, **fields)
