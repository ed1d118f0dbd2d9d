"""Waiting for a bit of hardware, but not for ever."""

from __future__ import annotations

import time
from typing import Callable, Dict, NamedTuple, NoReturn

from gdb_etm.access.port import AccessPort
from gdb_etm.errors import CaptureError
from gdb_etm.registers.page import Register


class Deadline(NamedTuple):
    """How long to wait for hardware, by which clock."""

    seconds: float = 1.0
    clock: Callable[[], float] = time.monotonic

    @property
    def of_program(self) -> Deadline:
        """How long to wait for a program on the target.

        Ten times as long: its clock may be one of 32 kHz, and a simulated board's computer may be busy.
        """
        return self._replace(seconds=10 * self.seconds)

    def wait(self, port: AccessPort, base: int, register: Register, hint: str, **fields: int) -> int:
        """Read a register until its fields have the given values.

        :param base: Address of the component's 4 KiB block.
        :param hint: What the user should try when this takes too long.
        :param fields: Field values to wait for.
        :returns: The register's value that ended the wait.
        :raises CaptureError: The time is over.
        """
        mask = sum(register.fields[name].mask for name in fields)
        wanted = register.encode(**fields) & mask
        return self.wait_until(
            lambda: port.read32(base + register.offset),
            lambda value: value & mask == wanted,
            lambda value: _late(port, base, register, value, hint, fields),
        )

    def wait_until(self, read: Callable[[], int], done: Callable[[int], bool], late: Callable[[int], NoReturn]) -> int:
        """Poll ``read`` until ``done`` accepts its result.

        When the time is over, ``late`` raises.

        At least two reads are made, however slow the access is: the first may have been early.
        """
        end = self.clock() + self.seconds
        value = read()
        while not done(value):
            expired = self.clock() >= end
            value = read()
            if expired and not done(value):
                late(value)
        return value


def _late(port: AccessPort, base: int, register: Register, value: int, hint: str, fields: Dict[str, int]) -> NoReturn:
    wanted = ", ".join("%s=%d" % field for field in fields.items())
    raise CaptureError(
        "%s at 0x%08x (%s) stays 0x%08x, %s was awaited: %s"
        % (register.name, base + register.offset, port.name, value, wanted, hint)
    )
