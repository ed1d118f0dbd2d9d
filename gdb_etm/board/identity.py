"""Base of CoreSight components: identification, software lock, register page (CoreSight B2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Callable, Dict, Mapping

ARM = 0x43B
CLASS_ROM_TABLE = 0x1
CLASS_CORESIGHT = 0x9
CLASS_GENERIC = 0xE
PART_CORTEX_M33 = 0xD21


def identification(
    part: int,
    devtype: int = 0,
    devarch: int = 0,
    devid: int = 0,
    component_class: int = CLASS_CORESIGHT,
    designer: int = ARM,
) -> Dict[int, int]:
    """Return the identification registers of a component, by offset.

    :param part: Part number, 12 bits.
    :param devtype: DEVTYPE: major type in bits 3:0, sub-type in bits 7:4.
    :param devarch: DEVARCH, 0 for a component without one.
    :param devid: DEVID.
    :param component_class: Class in CIDR1.
    :param designer: JEP106 continuation code in bits 11:8, identity code in bits 6:0.
    """
    registers = {
        0xFD0: designer >> 8,
        0xFD4: 0,
        0xFD8: 0,
        0xFDC: 0,
        0xFE0: part & 0xFF,
        0xFE4: (designer & 0xF) << 4 | part >> 8,
        0xFE8: 8 | designer >> 4 & 7,
        0xFEC: 0,
        0xFF0: 0x0D,
        0xFF4: component_class << 4,
        0xFF8: 0x05,
        0xFFC: 0xB1,
    }
    if component_class == CLASS_CORESIGHT:
        registers.update({0xFBC: devarch, 0xFC0: 0, 0xFC4: 0, 0xFC8: devid, 0xFCC: devtype})
    return registers


class SoftwareLock:
    """The lock of a component's registers against stray writes (CoreSight B2.3.10).

    Locked at power-up; only LAR and nothing else can be written then.

    :param is_there: Whether the component has one.
    """

    LAR = 0xFB0
    LSR = 0xFB4
    KEY = 0xC5ACCE55

    def __init__(self, is_there: bool = True) -> None:
        self._is_there = is_there
        self.reset()

    def reset(self) -> None:
        """Lock it, as at power-up."""
        self.locked = self._is_there

    def status(self) -> int:
        """Return LSR: implemented, 32-bit, and whether it is locked."""
        return self._is_there | self.locked << 1

    def write(self, value: int) -> None:
        """Write LAR: the key unlocks, anything else locks."""
        self.locked = self._is_there and value != self.KEY


class ComponentDevice(ABC):
    """A component's page of registers.

    :param base: Its address.
    :param fixed: Read-only registers by offset.
    :param has_lock: Whether it has the software lock.
    """

    size = 0x1000

    def __init__(self, base: int, fixed: Mapping[int, int], has_lock: bool = True) -> None:
        self.base = base
        self._fixed = fixed
        self.has_lock = has_lock
        self._lock = SoftwareLock(has_lock)
        # Takes a write by the core itself, which comes after what the core has not told yet; tells whether it does.
        self.postpones: Callable[[Callable[[], None]], bool] = lambda write: False

    def read32(self, offset: int) -> int:
        """Read a register; some reads have effects."""
        if offset in self._fixed:
            return self._fixed[offset]
        return self._lock.status() if offset == SoftwareLock.LSR else self._read(offset)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked."""
        if not self.postpones(partial(self._accept, offset, value)):
            self._accept(offset, value)

    def _accept(self, offset: int, value: int) -> None:
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif not self._lock.locked:
            self._write(offset, value)

    @abstractmethod
    def _read(self, offset: int) -> int:
        """Read a register that is not fixed; 0 where there is none."""

    @abstractmethod
    def _write(self, offset: int, value: int) -> None:
        """Write a register; nothing happens where there is none."""
