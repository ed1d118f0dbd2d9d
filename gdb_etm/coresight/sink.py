"""What every trace buffer can do, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, List, NamedTuple, Optional, Protocol, Tuple

from gdb_etm.capture import BufferEnd

if TYPE_CHECKING:
    # At run time they bring pages of registers, which take a while to import.
    from gdb_etm.coresight.borrowed import Borrowed, Restoration
    from gdb_etm.coresight.steps import Step
    from gdb_etm.registers.page import Page

# Called while a buffer is read: with the bytes read since the last call, and with how many there are to read.
Progress = Callable[[int, int], None]


# Written below where a trace begins: while it is there, the trace has not come so far round.
MARK = (0x5AFE5AFE,) * 8
MARK_BYTES = 4 * len(MARK)


class BufferPlace(NamedTuple):
    """A part of the RAM that a trace goes to."""

    # A multiple of its size.
    address: int
    # In bytes, a power of two.
    size: int
    # Whether the program keeps it for the trace, so that nothing of it needs to be put back.
    is_reserved: bool = True
    # What the user should know of it, in a line; may be empty.
    note: str = ""

    def __str__(self) -> str:
        return "0x%08x-0x%08x" % (self.address, self.address + self.size - 1)


class SinkSetup(NamedTuple):
    """How a buffer captures, beside that the newest trace replaces the oldest."""

    # Ask the sources for a synchronisation point every so many bytes, a power of two; 0: leave that as it is.
    sync_bytes: int = 0
    # Stop so many bytes after a trigger; None: a trigger does nothing.
    after_trigger: Optional[int] = None
    # Tell after so many bytes, whole frames, that it is full, and keep those that come then; 0: when it is full.
    full_after: int = 0
    # Of a Micro Trace Buffer: the RAM that it goes to; None: as before.
    place: Optional[BufferPlace] = None
    # Of a Micro Trace Buffer: bytes after which it stops, or asks the core to halt; None: neither.
    watermark: Optional[int] = None
    halts: bool = False

    def trigger_words(self, size: int) -> int:
        """Number of 32-bit words that a buffer stores after a trigger.

        Whole formatter frames, and less than the buffer holds.

        :param size: Of the buffer, in bytes.
        """
        return 4 * (min(self.after_trigger or 0, size - 16) // 16)

    def begin(self, size: int) -> int:
        """Give where in the buffer's RAM the trace begins, in bytes.

        :param size: Of the buffer, in bytes.
        """
        return size - self.full_after if self.full_after else 0


class Drained(NamedTuple):
    """A buffer's content."""

    # Formatter frames, oldest byte first.
    data: bytes
    # Why the oldest byte is the oldest.
    end: BufferEnd
    # Whether there was a trigger.
    triggered: bool = False
    # Whether it had stopped, after the trigger, by itself.
    stopped_itself: bool = False
    # What the user should know before believing it, one line each.
    notes: Tuple[str, ...] = ()


def trigger_notes(setup: SinkSetup, size: int, drained: Drained) -> Tuple[str, ...]:
    """Say how a buffer ended that was to stop after a trigger.

    :param size: Of the buffer, in bytes.
    """
    if setup.after_trigger is None:
        return ()
    if drained.stopped_itself:
        words = "a trigger has stopped the buffer with {:,} bytes after it: the trace ends before the halt"
    elif drained.triggered:
        words = "a trigger came, and the halt less than {:,} bytes of trace after it"
    else:
        words = "no trigger came: the trace goes to the halt"
    return (words.format(4 * setup.trigger_words(size)),)


class SinkStatus(NamedTuple):
    """A buffer at a moment."""

    capturing: bool
    # Bytes of trace in it.
    filled: int
    wrapped: bool
    # Whether there was a trigger.
    triggered: bool = False


class Sink(Protocol):
    """A circular trace buffer."""

    @property
    def registers(self) -> Borrowed:
        """Its registers."""

    @property
    def page(self) -> Page:
        """What its registers are."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def requests_sync(self) -> bool:
        """Whether it can ask the sources for synchronisation points."""

    def attach(self) -> None:
        """Make its registers writable and read its size."""

    def steps(self, setup: SinkSetup = SinkSetup()) -> Tuple[Step, ...]:
        """Return the steps that :meth:`start` makes."""

    def start(self, setup: SinkSetup = SinkSetup()) -> None:
        """Empty the buffer and capture; new trace replaces the oldest."""

    def stop(self) -> None:
        """Flush and stop; the source must have stopped before."""

    def drain(self, progress: Optional[Progress] = None) -> Drained:
        """Read the stopped buffer."""

    def abandon(self) -> None:
        """Stop capturing at once, whatever is on its way."""

    def status(self) -> SinkStatus:
        """Look, without changing anything."""

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""

    def release(self) -> None:
        """Put its registers back as they were found."""
