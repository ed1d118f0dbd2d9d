"""Identification registers of any trace unit, read by field name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import Dict, Mapping, Sequence, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import runs
from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.page import Page, Register


class Identification(ABC):
    """A frozen view of a unit's identification registers.

    :param registers: Values by datasheet name; a missing register counts as 0.
    """

    _page: Page

    def __init__(self, registers: Mapping[str, int]) -> None:
        self.registers: Mapping[str, int] = MappingProxyType(dict(registers))

    @property
    def page(self) -> Page:
        """The unit's registers."""
        return self._page

    @property
    @abstractmethod
    def words(self) -> Tuple[str, ...]:
        """What the unit can do, a few words each."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.registers == other.registers

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.registers.items())))

    def field(self, name: str) -> int:
        """Return an identification field's value by its full name, such as ``"TRCIDR4.NUMACPAIRS"``."""
        register, field = name.split(".")
        return self._page.by_name[register].get(self.registers.get(register, 0), field)

    def require(self, name: str, feature: str) -> None:
        """Refuse a feature whose identification field is 0.

        :raises UnsupportedError: The field is 0.
        """
        if not self.field(name):
            raise UnsupportedError("%s: not in this trace unit (%s is 0)" % (feature, name), name)

    def shortage(self, name: str, noun: str, there: int, needed: int, user: str = "the events") -> UnsupportedError:
        """Return the error for too few resources of a kind.

        :param name: The identification field with their number.
        :param noun: Their kind, in the singular.
        :param user: What needs them.
        """
        nouns = noun + ("" if there == 1 else "s")
        return UnsupportedError("this unit has %d %s (%s); %s need %d" % (there, nouns, name, user, needed), name)


def read_registers(port: AccessPort, base: int, registers: Sequence[Register]) -> Dict[str, int]:
    """Read registers, neighbours in one access, and return their values by name."""
    names = {register.offset: register.name for register in registers}
    result: Dict[str, int] = {}
    for first, words in runs(names):
        for n, value in enumerate(port.read_block(base + first, words)):
            result[names[first + 4 * n]] = value
    return result
