"""Ports that make hardware misbehave or interrupt the user's command."""

from __future__ import annotations

from typing import Dict, List, Tuple

from gdb_etm.access.port import AccessPort


class Stuck:
    """A port through which some bits of some registers never change.

    :param port: The real port.
    :param stuck: Address -> (bits, what they read as).
    """

    def __init__(self, port: AccessPort, stuck: Dict[int, Tuple[int, int]]) -> None:
        self._port = port
        self.stuck = stuck

    @property
    def name(self) -> str:
        """The real port's name."""
        return self._port.name

    def read32(self, address: int) -> int:
        """Read one word."""
        mask, value = self.stuck.get(address, (0, 0))
        return self._port.read32(address) & ~mask | value

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        self._port.write32(address, value)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return [self.read32(address + 4 * n) for n in range(words)]

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read one word many times."""
        return self._port.read_fifo(address, words)


class Interrupted:
    """A port with Ctrl-C before or after a numbered access.

    :param port: The real port.
    """

    def __init__(self, port: AccessPort) -> None:
        self._port = port
        self._countdown = -1
        self._late = False
        self.accesses = 0

    def interrupt_at(self, access: int, late: bool) -> None:
        """Choose the access, counted from now; -1 for never.

        :param late: Whether the access is made, and only its result is lost.
        """
        self._countdown = access
        self._late = late

    @property
    def name(self) -> str:
        """The real port's name."""
        return self._port.name

    def read32(self, address: int) -> int:
        """Read one word."""
        late = self._early()
        value = self._port.read32(address)
        self._interrupt(late)
        return value

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        late = self._early()
        self._port.write32(address, value)
        self._interrupt(late)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        late = self._early()
        values = self._port.read_block(address, words)
        self._interrupt(late)
        return values

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read one word many times."""
        late = self._early()
        values = self._port.read_fifo(address, words)
        self._interrupt(late)
        return values

    def _early(self) -> bool:
        self.accesses += 1
        self._countdown -= 1
        self._interrupt(self._countdown == -1 and not self._late)
        return self._countdown == -1 and self._late

    def _interrupt(self, now: bool) -> None:
        if now:
            raise KeyboardInterrupt
