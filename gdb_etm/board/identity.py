"""CoreSight identification registers, as every component shows them at the end of its 4 KiB block (CoreSight B2)."""

from __future__ import annotations

from typing import Dict

CLASS_ROM_TABLE = 0x1
CLASS_CORESIGHT = 0x9
CLASS_GENERIC = 0xE
PART_CORTEX_M33 = 0xD21


def identification(
    part: int, devtype: int = 0, devarch: int = 0, devid: int = 0, component_class: int = CLASS_CORESIGHT
) -> Dict[int, int]:
    """Return the identification registers of a component designed by Arm, by offset.

    :param part: Part number, 12 bits.
    :param devtype: DEVTYPE: major type in bits 3:0, sub-type in bits 7:4.
    :param devarch: DEVARCH, 0 for a component without one.
    :param devid: DEVID.
    :param component_class: Class in CIDR1.
    """
    registers = {
        0xFD0: 0x04,
        0xFD4: 0,
        0xFD8: 0,
        0xFDC: 0,
        0xFE0: part & 0xFF,
        0xFE4: 0xB0 | part >> 8,
        0xFE8: 0x0B,
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
    """

    LAR = 0xFB0
    LSR = 0xFB4
    KEY = 0xC5ACCE55

    def __init__(self) -> None:
        self.locked = True

    def status(self) -> int:
        """Return LSR: implemented, 32-bit, and whether it is locked."""
        return 1 | self.locked << 1

    def write(self, value: int) -> None:
        """Write LAR: the key unlocks, anything else locks."""
        self.locked = value != self.KEY
