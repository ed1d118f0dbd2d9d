"""Hanging accesses, slow flash, a watchdog, bytes lost on their way."""

from __future__ import annotations

from typing import Callable, Optional, Union

from gdb_etm.board.bus import FLASH_BASE, FLASH_SIZE
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.cortex_a_machine import CortexAMachine
from gdb_etm.board.dap import BusMemory, WaitResponse
from gdb_etm.board.domain import Clocked
from gdb_etm.board.machine import Machine

# Bytes of trace that are lost while a clock changes.
_LOST = 40


class Hanging(Clocked):
    """A component that never ends an access while its clock stands still.

    Each access raises WaitResponse then.
    """

    def _check(self, offset: int) -> None:
        if not self._clock.runs:
            raise WaitResponse()


class SlowFlash:
    """Memory whose flash makes the debugger wait.

    :param memory: The memory.
    :param waits: How often an access to the flash is answered WAIT.
    """

    def __init__(self, memory: BusMemory, waits: int) -> None:
        self._memory = memory
        self._waits = waits
        self._left = waits

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes.

        :raises WaitResponse: not yet.
        """
        if FLASH_BASE <= address < FLASH_BASE + FLASH_SIZE:
            self._left -= 1
            if self._left >= 0:
                raise WaitResponse()
            self._left = self._waits
        return self._memory.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes."""
        self._memory.write(address, size, value)


class UnfedWatchdog:
    """A watchdog that nobody feeds.

    It resets the chip once after each reset by others.

    :param clock: The time.
    :param after: When, in instructions after such a reset.
    :param reset: Resets the core, after the instruction.
    """

    def __init__(self, clock: InstructionClock, after: int, reset: Callable[[], None]) -> None:
        self._clock = clock
        self._after = after
        self._reset = reset
        self._at: Optional[int] = None
        self._bites = False

    def restart(self) -> None:
        """Count from a reset on, unless it is its own."""
        self._at = None if self._bites else self._clock.now() + self._after
        self._bites = False

    def due(self) -> Optional[int]:
        """Return when it resets."""
        return self._at

    def fire(self) -> None:
        """Reset the chip, at the latest an instruction later."""
        assert self._at is not None
        self._bites = True
        self._at += 1
        self._reset()


def add_watchdog(machine: Union[Machine, CortexAMachine], after: int) -> None:
    """Put such a watchdog on a machine; of 0 instructions none."""
    if after:
        watchdog = UnfedWatchdog(machine.clock, after, machine.core.want_reset)
        machine.clock.add(watchdog)
        machine.core.on_reset = (*machine.core.on_reset, watchdog.restart)


class ClockSwitch:
    """A clock that is switched while trace is on its way.

    Some bytes are lost, once.

    :param after: How many bytes pass before; 0: it is never switched.
    """

    def __init__(self, after: int) -> None:
        self._left = after if after else -1
        self._lost = 0

    def passed(self, data: bytes) -> bytes:
        """Return what arrives of some bytes."""
        if self._left < 0 or self._lost >= _LOST:
            return data
        kept = data[: self._left]
        rest = data[self._left :]
        self._left -= len(kept)
        if not rest:
            return kept
        dropped = min(len(rest), _LOST - self._lost)
        self._lost += dropped
        return kept + rest[dropped:]
