"""Register readings as evidence: read once, without side effects, and quoted."""

from __future__ import annotations

from typing import Dict, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.registers.page import Register


class Reading:
    """A register's value, with its fields by name.

    :param register: Which one.
    :param value: As it was read.
    """

    def __init__(self, register: Register, value: int) -> None:
        self._fields: Dict[str, int] = dict(register.decode(value))
        self._name = register.name
        # The whole register.
        self.value = value

    def __getitem__(self, field: str) -> int:
        return self._fields[field]

    def says(self, words: str) -> str:
        """Quote the register: ``"DEMCR 0x01000000: TRCENA is set"``."""
        return "%s 0x%08x: %s" % (self._name, self.value, words)


class RegisterBlock:
    """The registers of one component.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    """

    def __init__(self, port: AccessPort, base: int) -> None:
        self._port = port
        self.base = base

    @property
    def place(self) -> Tuple[AccessPort, int]:
        """The memory space and the address."""
        return self._port, self.base

    def read(self, register: Register) -> Reading:
        """Read a register.

        :raises AccessError: It does not answer.
        """
        return Reading(register, self._port.read32(self.base + register.offset))

    def word(self, offset: int) -> int:
        """Read a word.

        :raises AccessError: It does not answer.
        """
        return self._port.read32(self.base + offset)

    def write_text(self, register: Register, value: int) -> str:
        """Give the GDB command that writes a register."""
        return "set *(unsigned *)0x%08x = 0x%x" % (self.base + register.offset, value)
