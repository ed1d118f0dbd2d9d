"""Base of the trace buffers: RAM, formatter, flushes, and the trigger.

Ref: CoreSight Components TRM (DDI 0314H), 9.4 to 9.6; CoreSight TMC TRM (DDI 0461), 2.3 and 3.3.  A trigger starts the
trigger counter, which counts words that are stored; when it is at zero the trigger event occurs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Callable, Dict, Mapping, Optional

from gdb_etm.board.formatter import Formatter
from gdb_etm.board.identity import ComponentDevice

TRG, FFSR, FFCR = 0x01C, 0x300, 0x304
_SIZE, _RRD, _RRP, _RWP, _CTL, _RWD = 0x004, 0x010, 0x014, 0x018, 0x020, 0x024

# Trace ID under which the trace bus and formatted trace report triggers.
TRIGGER_ID = 0x7D

# FFSR.
_STOPPED = 1 << 1
# FFCR.
_ENABLE_FORMATTER = 1 << 0
_TELL_TRIGGERS = 1 << 1
_FLUSH_ON_EVENT = 1 << 5
_FLUSH_MANUALLY = 1 << 6
_TELL_TRIGGER_IN = 1 << 8
_TELL_TRIGGER_EVENT = 1 << 9
_TELL_FLUSH = 1 << 10
_STOP_ON_FLUSH = 1 << 12
_STOP_ON_EVENT = 1 << 13


class TraceRam(ComponentDevice):
    """A trace buffer but for its states and most of its registers.

    :param base: Address of its registers.
    :param size: Size of its RAM in bytes, a multiple of 16.
    :param fixed: Read-only registers by offset.
    :param control_mask: Implemented bits of FFCR.
    :param pointer_unit: Bytes that a pointer counts by.
    :raises ValueError: the size is not one that a trace buffer can have.
    """

    def __init__(self, base: int, size: int, fixed: Mapping[int, int], control_mask: int, pointer_unit: int) -> None:
        if size % 16 or not 512 <= size <= 1 << 24:
            raise ValueError("a trace buffer of %d bytes: give a multiple of 16 from 512 to 16 MiB" % size)
        super().__init__(base, fixed)
        self.words_read = 0
        # Called to have the sources hand over all trace.
        self.flush: Callable[[], None] = lambda: None
        # Called to have the sources synchronise soon.
        self.request_sync: Callable[[], None] = lambda: None
        # The flush of this number does not end; 0: none is so.
        self.stuck_flush = 0
        self._control_mask = control_mask
        self._pointer_unit = pointer_unit
        self._ram = bytearray(size)
        self._formatter = Formatter(self._store)
        self._raw = bytearray()
        self._full = False
        # Offsets in the RAM.
        self._next_read = 0
        self._next_write = 0
        self._stored = 0
        # A manual flush shows in one read of FFCR before it is over.
        self._flushing = False
        self._stuck = False
        # Words until the trigger event; None before a trigger and after the event.
        self._countdown: Optional[int] = None
        self._seen = False
        self._event = False
        self._plain: Dict[int, int] = {TRG: 0, FFCR: 0}
        # Implemented bits of those of them that can be written while capture is disabled.
        self._masks: Dict[int, int] = {TRG: size // 4 - 1}

    @property
    @abstractmethod
    def is_enabled(self) -> bool:
        """Whether capture is enabled, though it may have stopped."""

    @property
    @abstractmethod
    def is_capturing(self) -> bool:
        """Whether trace is stored."""

    @property
    def is_full(self) -> bool:
        """Whether the write pointer has wrapped (FULL)."""
        return self._full

    def pace(self, limit: int) -> int:
        """Return how many instructions may run before it may be full.

        A few may come later: until a core halts some time passes.
        """
        left = len(self._ram) - self._next_write
        return limit if self._full or not self.is_capturing else max(8, min(limit, left // 16))

    @abstractmethod
    def _status(self) -> Dict[int, int]:
        """Return the registers that show the capture's state, by offset."""

    @abstractmethod
    def _take_word(self) -> int:
        """Read RRD: the next word, and move RRP on."""

    @abstractmethod
    def _enable(self, enable: int) -> None:
        """Write CTL.TraceCaptEn."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop capturing, and fill up what is not stored yet by :meth:`_fill_up`."""

    # Trace.

    def take(self, trace_id: int, data: bytes) -> None:
        """Capture trace; nothing happens unless capturing is on."""
        if not self.is_capturing:
            return
        if self._countdown is None:
            self._capture(trace_id, data)
            return
        for index, byte in enumerate(data):
            self._capture(trace_id, bytes((byte,)))
            if self._countdown == 0:
                self._countdown = None
                if not self._plain[FFCR] & _STOP_ON_EVENT:
                    self._capture(trace_id, data[index + 1 :])
                self._trigger_event()
                return

    def trigger(self) -> None:
        """Take a trigger; those after the first do nothing."""
        if not self.is_capturing or self._seen:
            return
        self._seen = True
        self._tell(_TELL_TRIGGER_IN)
        self._countdown = self._plain[TRG]
        if self._countdown == 0:
            self._trigger_event()

    def _capture(self, trace_id: int, data: bytes) -> None:
        if self._plain[FFCR] & _ENABLE_FORMATTER:
            self._formatter.write(trace_id, data)
            return
        self._raw += data
        whole = len(self._raw) & ~3
        self._store(bytes(self._raw[:whole]))
        del self._raw[:whole]

    def _tell(self, what: int) -> None:
        # The formatter puts a trigger into the trace.
        wanted = what | _TELL_TRIGGERS | _ENABLE_FORMATTER
        if self._plain[FFCR] & wanted == wanted:
            self._formatter.write(TRIGGER_ID, b"\0")

    def _trigger_event(self) -> None:
        self._countdown, self._event = None, True
        self._tell(_TELL_TRIGGER_EVENT)
        control = self._plain[FFCR]
        if control & _STOP_ON_EVENT:
            self._stop()
        elif control & _FLUSH_ON_EVENT:
            self._flush()

    def _flush(self) -> None:
        self.flush()
        self._tell(_TELL_FLUSH)
        if self._plain[FFCR] & _STOP_ON_FLUSH and self.is_capturing:
            self._stop()

    # Registers.

    def _read(self, offset: int) -> int:
        if offset == _RRD:
            return self._take_word()
        if offset == FFCR:
            return self._read_control()
        live = {
            _SIZE: len(self._ram) // 4,
            _RRP: self._next_read // self._pointer_unit,
            _RWP: self._next_write // self._pointer_unit,
            _CTL: int(self.is_enabled),
            FFSR: (0 if self.is_capturing else _STOPPED) | self._stuck,
            **self._status(),
        }
        return live.get(offset, self._plain.get(offset, 0))

    def _write(self, offset: int, value: int) -> None:
        if offset == _CTL:
            self._enable(value & 1)
        elif offset == FFCR:
            self._set_control(value)
        elif not self.is_enabled:
            self._write_disabled(offset, value)

    def _write_disabled(self, offset: int, value: int) -> None:
        # What can be written only while capture is off.
        pointer = value * self._pointer_unit % len(self._ram) & ~3
        if offset in self._masks:
            self._plain[offset] = value & self._masks[offset]
        elif offset == _RRP:
            self._next_read = pointer
        elif offset == _RWP:
            self._next_write = pointer
        elif offset == _RWD:
            self._put(value.to_bytes(4, "little"))

    def _read_control(self) -> int:
        value = self._plain[FFCR] | (_FLUSH_MANUALLY if self._flushing else 0)
        self._flushing = self._stuck
        return value

    def _set_control(self, value: int) -> None:
        self._plain[FFCR] = value & self._control_mask & ~_FLUSH_MANUALLY
        if value & _FLUSH_MANUALLY and self.is_capturing:
            self._flushing = True
            self.stuck_flush -= 1
            self._stuck = self.stuck_flush == 0
            if self._stuck:
                self.flush()
            else:
                self._flush()

    # RAM.

    def _clear(self) -> None:
        # What begins anew with a capture.
        self._full = self._seen = self._event = False
        self._countdown = None
        self._stored = 0
        self._formatter = Formatter(self._store)
        self._raw.clear()

    def _fill_up(self) -> None:
        # The formatter fills its frame up; the raw stream ends in a one and zeros, to the next word.
        self._countdown = None
        if self._plain[FFCR] & _ENABLE_FORMATTER:
            self._formatter.stop()
            return
        self._raw += b"\x01"
        self._store(bytes(self._raw) + bytes(-len(self._raw) % 4))
        self._raw.clear()

    def _store(self, data: bytes) -> None:
        for start in range(0, len(data), 4):
            self._put(data[start : start + 4])
            self._stored += 4
        if self._countdown is not None:
            self._countdown = max(0, self._countdown - len(data) // 4)

    def _put(self, word: bytes) -> None:
        self._ram[self._next_write : self._next_write + 4] = word
        self._next_write += 4
        if self._next_write == len(self._ram):
            self._next_write = 0
            self._full = True

    def _next_word(self) -> int:
        self.words_read += 1
        word = int.from_bytes(self._ram[self._next_read : self._next_read + 4], "little")
        self._next_read = (self._next_read + 4) % len(self._ram)
        return word
