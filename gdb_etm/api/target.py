"""A script's target outside GDB: the core that pyOCD opened."""

from __future__ import annotations

import os
import struct
import time
from typing import TYPE_CHECKING, Dict, Mapping, Optional, Protocol, Sequence

from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.debugger import Ran

if TYPE_CHECKING:
    from gdb_etm.access.client import Client

# A core halts in microseconds, unless it is held in reset or has no clock.
_HALT_SECONDS = 2.0


class Runner(Protocol):
    """What runs and halts the core: GDB or a :class:`ScriptDebugger`."""

    def run(self, seconds: Optional[float]) -> bool:
        """Let the core run until it halts.

        :param seconds: How long at most, after which it is halted; None: without end.
        :returns: Whether it halted by itself.
        :raises EtmError: It cannot be run.
        """

    def halt(self) -> None:
        """Halt the core, if it runs.

        :raises EtmError: It does not halt.
        """

    def reset(self) -> None:
        """Reset the chip and halt the core at its first instruction.

        :raises EtmError: It cannot be reset.
        """

    def load(self, path: str) -> None:
        """Write a program to the chip, and halt at its first instruction.

        :raises EtmError: It cannot be written.
        """

    def pc(self) -> int:
        """Give the address of the next instruction of the halted core.

        :raises EtmError: The core runs, or does not answer.
        """

    def set_breakpoint(self, address: int) -> int:
        """Set a breakpoint, and give its number for :meth:`clear_breakpoint`.

        :raises EtmError: It cannot be set.
        """

    def clear_breakpoint(self, number: int) -> None:
        """Take out a breakpoint; one that is gone is no error.

        :raises EtmError: It cannot be taken out.
        """


class ScriptDebugger(OfflineDebugger):
    """The debugger of a script outside GDB: ELF files and pyOCD's core.

    :param paths: ELF files with symbols; may be empty.
    :raises ImageError: A file cannot be read.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        super().__init__(paths)
        self._client: Optional[Client] = None
        self._breakpoints: Dict[int, int] = {}
        self._last = 0

    def connection(self) -> Optional[str]:
        """Describe the process beside us."""
        return None if self._client is None else self._client.hello.probe

    def connect(self, client: Client) -> None:
        """Take the core that the process has opened."""
        self._client = client

    def disconnect(self) -> None:
        """Give up the core; the process lets it run on."""
        self._client = None
        self._breakpoints.clear()

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the target's memory through the core's access port."""
        client = self._connected()
        first = address & ~3
        words = client.port().read_block(first, (address + size - first + 3) // 4)
        return struct.pack("<%dI" % len(words), *words)[address - first : address - first + size]

    def registers(self) -> Mapping[str, int]:
        """Read r0 to r12, sp, lr, pc and xpsr."""
        return self._client.registers() if self._client is not None and self._client.is_halted else {}

    def is_running(self) -> bool:
        """Ask the process."""
        return self._client is not None and not self._client.is_halted

    def location(self) -> str:
        """Name the function that the core is halted in."""
        if self._client is None or not self._client.is_halted:
            return ""
        address = self.pc()
        function = self.function_at(address)
        return function.name if function is not None else "0x%08x" % address

    def run(self, seconds: Optional[float]) -> bool:
        """Run the core until it halts, stepping over a breakpoint at first."""
        client = self._connected()
        try:
            client.run()
            if client.wait_for_halt(seconds):
                return True
        except KeyboardInterrupt:
            self.halt()
            raise
        self.halt()
        return False

    def run_once(self, seconds: Optional[float]) -> Ran:
        """Run the core until it halts."""
        begin = time.monotonic()
        itself = self.run(seconds)
        return Ran(itself, time.monotonic() - begin)

    def halt(self) -> None:
        """Halt the core, and wait until it has."""
        client = self._connected()
        client.halt()
        if not client.wait_for_halt(_HALT_SECONDS):
            raise AccessError("the core does not halt; is it held in reset, or without a clock?", kind="timeout")

    def reset(self) -> None:
        """Reset the chip; breakpoints stay."""
        self._connected().reset()

    def load(self, path: str) -> None:
        """Write a program, and halt at its first instruction; breakpoints stay."""
        self._connected().load(os.path.abspath(path))

    def pc(self) -> int:
        """Read the program counter."""
        return self._connected().registers()["pc"]

    def set_breakpoint(self, address: int) -> int:
        """Set a breakpoint; pyOCD counts two at one address as one."""
        self._connected().set_breakpoint(address)
        self._last += 1
        self._breakpoints[self._last] = address
        return self._last

    def clear_breakpoint(self, number: int) -> None:
        """Clear a breakpoint, unless another of ours has its address."""
        address = self._breakpoints.pop(number, None)
        if address is not None and address not in self._breakpoints.values():
            self._connected().clear_breakpoint(address)

    def _connected(self) -> Client:
        if self._client is None:
            raise ConnectError("no core: not connected, or to access ports alone")
        return self._client
