"""Base of the trace units: registers, power, external inputs, faults."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import Callable, Dict, Generic, Mapping, Optional, Protocol, TypeVar

from gdb_etm.board.faults import FaultCountdown, Faults
from gdb_etm.board.identity import ComponentDevice
from gdb_etm.board.trace_ram import TraceRam

_PDSR, _CLAIMSET, _CLAIMCLR = 0x314, 0xFA0, 0xFA4
# Polls of the status register until it shows that the unit was switched on or off.
POLLS_TO_SETTLE = 2


class AnyEncoder(Protocol):
    """An encoder of any protocol: it makes the trace."""

    def enable(self) -> None:
        """Begin a trace run."""

    def disable(self) -> None:
        """End the trace run."""

    def flush(self) -> None:
        """Hand over all trace generated so far."""

    def deliver(self) -> None:
        """Hand over what is written."""

    def overflow(self) -> None:
        """Lose what is not written yet and restart."""

    def request_timestamp(self) -> None:
        """Ask for a timestamp soon."""

    def debug_halt(self, pc: int) -> None:
        """Take an entry to Debug state."""


class ResourceInputs(Protocol):
    """A unit's resources, as its external inputs drive them."""

    levels: int

    def pulse(self, number: int) -> None:
        """Take a pulse of an external input."""


E = TypeVar("E", bound=AnyEncoder)


class TraceUnitDevice(ComponentDevice, Generic[E]):
    """A trace unit but for most of its registers.

    :param base: Address of its registers.
    :param fixed: Read-only registers by offset.
    :param masks: Implemented bits of the others, whose contents are UNKNOWN after a reset.
    :param known: Those that are known after a reset, and what they are.
    :param claim_tags: Its claim tags.
    :param has_lock: Whether it has the software lock.
    :param out: Takes trace ID and trace bytes.
    :param faults: When its FIFO overflows, and when it loses its power.
    """

    def __init__(
        self,
        base: int,
        fixed: Mapping[int, int],
        masks: Mapping[int, int],
        known: Mapping[int, int],
        claim_tags: int,
        has_lock: bool,
        out: Callable[[int, bytes], None],
        faults: Faults,
    ) -> None:
        super().__init__(base, fixed, has_lock)
        self._masks = masks
        self._known = known
        self._claim_tags = claim_tags
        self._out = out
        self._random = random.Random(base)
        self._values: Dict[int, int] = {}
        self._reset_values()
        self._overflow = FaultCountdown(faults.overflow)
        self._power_loss = FaultCountdown(faults.power_loss)
        self._encoder: Optional[E] = None
        # Called when it has lost its power.
        self.power_lost: Callable[[], None] = lambda: None
        # Tells the time; timestamps count from when the unit was first enabled.
        self.now: Callable[[], int] = lambda: 0
        self._first_enabled: Optional[int] = None
        # Called with the external outputs, one bit each, when they change.
        self.outputs: Callable[[int], None] = lambda levels: None
        self._inputs_high = 0
        self._claims = 0
        self._sticky_power_down = True
        self._polls = 0

    @property
    @abstractmethod
    def _resources(self) -> Optional[ResourceInputs]:
        """The resources; None while nobody asks for them."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget the encoder, which has been disabled, and what belongs to it."""

    @abstractmethod
    def _read_trace(self, offset: int) -> int:
        """Read a register that only this kind of unit has."""

    @abstractmethod
    def _write_trace(self, offset: int, value: int) -> None:
        """Write a register that only this kind of unit has."""

    def register(self, offset: int) -> int:
        """Return what is programmed into a register."""
        return self._values.get(offset, 0)

    def _time(self) -> int:
        if self._first_enabled is None:
            self._first_enabled = self.now()
        return self.now() - self._first_enabled

    def _read(self, offset: int) -> int:
        if offset == _PDSR:
            # Reading clears the sticky bit; power is always on.
            value = 1 | self._sticky_power_down << 1
            self._sticky_power_down = False
            return value
        if offset == _CLAIMSET:
            return self._claim_tags
        return self._claims if offset == _CLAIMCLR else self._read_trace(offset)

    def _write(self, offset: int, value: int) -> None:
        if offset == _CLAIMSET:
            self._claims |= value & self._claim_tags
        elif offset == _CLAIMCLR:
            self._claims &= ~value
        else:
            self._write_trace(offset, value)

    def _reset_values(self) -> None:
        self._values.update({offset: self._random.getrandbits(32) & mask for offset, mask in self._masks.items()})
        self._values.update(self._known)

    def lose_power(self) -> None:
        """Stop, and forget what was programmed and what has not left it."""
        self._forget()
        self._lock.reset()
        self._sticky_power_down = True
        self.power_lost()
        self._polls = self._claims = 0
        self._reset_values()

    def connect(self, buffer: TraceRam) -> None:
        """Wire it to the trace buffer, and outputs to inputs.

        External outputs drive the inputs of the same numbers, as a cross trigger unit can do it.

        A cross trigger unit can do the latter.
        """
        buffer.flush = self.flush
        buffer.request_sync = self.request_sync
        self.outputs = self.set_inputs

    # What the trace buffer asks for.

    def flush(self) -> None:
        """Output all trace."""
        if self._encoder is not None:
            self._encoder.flush()

    def request_sync(self) -> None:
        """Take a request to synchronise soon, where the unit can."""

    # What the core does.

    def debug_entry(self, pc: int) -> None:
        """Take an entry to Debug state."""
        if self._encoder is not None:
            self._encoder.debug_halt(pc)

    # External inputs.

    def pulse(self, number: int) -> None:
        """Take a pulse of an external input."""
        if self._resources is not None:
            self._resources.pulse(number)

    def set_inputs(self, levels: int) -> None:
        """Take the levels of the external inputs from outside, one bit each."""
        self._inputs_high = levels
        if self._resources is not None:
            self._resources.levels = levels

    def _send(self, data: bytes) -> None:
        self._out(self._values[self._trace_id_register], data)
        self._overflow.pass_bytes(len(data))
        self._power_loss.pass_bytes(len(data))

    @property
    @abstractmethod
    def _trace_id_register(self) -> int:
        """Offset of the register that holds the trace ID."""

    def _suffer(self) -> None:
        # The faults that are due.
        if self._encoder is not None and self._overflow.take():
            self._encoder.overflow()
        if self._power_loss.take():
            self.lose_power()
