"""Faults of a board on demand, to test whoever talks to it."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence

# Faults of the probe and its cable, the worst first.
OF_THE_PROBE = ("unplug_after", "stuck", "usb_error", "short_read")


class Faults(NamedTuple):
    """What goes wrong, and when; nothing unless asked for.

    In text each is a name with hyphens, and a number after a colon where it takes one: ``wait:10``, ``no-etm``.
    """

    # Every so many accesses to the access port are answered WAIT once; the probe tries again.
    wait: int = 0
    # From this access to the access port on, all are answered WAIT.
    hang: int = 0
    # The probe is gone after this many transfers.
    unplug_after: int = 0
    # The probe answers nothing any more after this many transfers: whoever asks it waits for ever.
    stuck: int = 0
    # USB fails once, after this many transfers.
    usb_error: int = 0
    # One answer of the probe holds a value too few, after this many transfers.
    short_read: int = 0
    # These four count words read from the trace buffer, not transfers.
    in_drain: bool = False
    # The trace unit's FIFO overflows once, after this many bytes of trace.
    overflow: int = 0
    # The trace unit's FIFO for the data stream overflows once, after this many bytes of data trace.
    data_overflow: int = 0
    # The chip has no trace unit.
    no_etm: bool = False
    # The chip has no funnel, and the trace unit is not connected to the buffer.
    no_funnel: bool = False
    # The chip has no trace buffer.
    no_sink: bool = False
    # The probe is in use by another program.
    busy: bool = False
    # The trace hardware has a clock, which a register of the chip's vendor switches; it is off at power-up.
    clock_gate: bool = False
    # The trace unit has power only while its register asks for it (TRCPDCR.PU, ETMPDCR.PowerUp).
    power_domain: bool = False
    # The trace unit has the OS Lock, which is locked at power-up.
    os_lock: bool = False
    # The chip's debug authentication forbids tracing.
    no_authentication: bool = False
    # The trace buffer's flush of this number does not end, until the buffer is switched off.
    stuck_flush: int = 0
    # The trace unit loses its power for a moment after this many bytes of trace.
    power_loss: int = 0
    # The trace clock is off at power-up, and an access to what it drives never ends.
    clock_hang: bool = False
    # The trace unit loses its power each time that the core sleeps.
    sleep_power: bool = False
    # Software on the chip has claimed the trace unit.
    claimed: bool = False
    # After this many bytes of trace a clock is switched, and some bytes are lost on their way.
    clock_switch: int = 0
    # After this many instructions a watchdog resets the chip, once.
    watchdog: int = 0
    # Each access of the debugger to the flash is answered WAIT so many times.
    slow_flash: int = 0
    # Another source, with trace ID 0x01, sends this many bytes for each byte of the trace unit's.
    noise: int = 0

    def of_probe(self, transfers: int, drained: int) -> Optional[str]:
        """Name the probe's fault by now: of :data:`OF_THE_PROBE`, or None.

        :param transfers: Number of transfers so far.
        :param drained: Number of words read from the trace buffer.
        """
        count = drained if self.in_drain else transfers - 1
        return next((name for name in OF_THE_PROBE if 0 < getattr(self, name) <= count), None)


def parse_faults(names: Sequence[str]) -> Faults:
    """Return the faults that text asks for.

    :param names: Faults such as ``"wait:10"``.
    :raises ValueError: a name is unknown, or its number is missing, not wanted or not positive.
    """
    wanted: Dict[str, Any] = {}
    for name in names:
        word, colon, number = name.strip().partition(":")
        field = word.replace("-", "_")
        if field not in Faults._fields:
            known = ", ".join(known.replace("_", "-") for known in Faults._fields)
            raise ValueError("no fault is called '%s'; there are %s" % (word, known))
        if isinstance(getattr(Faults(), field), bool):
            if colon:
                raise ValueError("fault '%s' takes no number" % word)
            wanted[field] = True
        else:
            if not number.isdigit() or int(number) == 0:
                raise ValueError("fault '%s' needs a positive number, as in '%s:10'" % (word, word))
            wanted[field] = int(number)
    return Faults(**wanted)


class FaultCountdown:
    """Counts bytes until a fault, which happens once.

    :param count: How many; 0: it never happens.
    """

    def __init__(self, count: int) -> None:
        self._left = count
        self._is_due = False

    def pass_bytes(self, count: int) -> None:
        """Count bytes."""
        if self._left > 0:
            self._left -= count
            self._is_due = self._left <= 0

    def take(self) -> bool:
        """Tell, once, whether the fault is due."""
        is_due, self._is_due = self._is_due, False
        return is_due

    def cancel(self) -> None:
        """Let the fault never happen."""
        self._left, self._is_due = 0, False
