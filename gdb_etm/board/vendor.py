"""Parts of chips: vendors' registers, trace ports, second cores.

Only what a debugger can tell apart: values, which bits can be written, and what they switch.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Mapping, Optional

from gdb_etm.board.bus import PAGE
from gdb_etm.board.chips import Chip, Gate, VendorWord
from gdb_etm.board.identity import CLASS_GENERIC, ComponentDevice, identification

_PART_TPIU, _PART_A9 = 0x912, 0xC09
_PRSR, _AUTHSTATUS = 0x314, 0xFB8
_CPUID, _DHCSR, _DEMCR = 0xD00, 0xDF0, 0xDFC
_S_SLEEP, _S_REGRDY = 1 << 18, 1 << 16
_KEY = 0xA05F


class VendorPage:
    """A page with registers of the vendor.

    :param base: Its address.
    :param words: Its registers.
    """

    size = PAGE

    def __init__(self, base: int, words: Iterable[VendorWord]) -> None:
        self.base = base
        found = list(words)
        self._values: Dict[int, int] = {word.address - base: word.reset for word in found}
        self._writable: Mapping[int, int] = {word.address - base: word.writable for word in found}

    def read32(self, offset: int) -> int:
        """Read a register; 0 where there is none."""
        return self._values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write the bits of a register that can be written."""
        mask = self._writable.get(offset, 0)
        if mask:
            self._values[offset] = self._values[offset] & ~mask | value & mask

    def seen_at(self, base: int) -> VendorPage:
        """Give the same registers at another address."""
        page = VendorPage(base, ())
        page._values, page._writable = self._values, self._writable
        return page


def vendor_pages(chip: Chip) -> List[VendorPage]:
    """Make the pages of a chip's vendor registers."""
    bases = sorted({word.address & -PAGE for word in chip.words})
    return [VendorPage(base, [word for word in chip.words if word.address & -PAGE == base]) for base in bases]


class VendorClock:
    """What a vendor's register switches on.

    :param gate: Which register, and what it has to say; None: it is always on.
    :param pages: The vendor's registers.
    """

    def __init__(self, gate: Optional[Gate], pages: Iterable[VendorPage]) -> None:
        self._gate = gate
        self._page = next((page for page in pages if gate is not None and page.base == gate.address & -PAGE), None)

    @property
    def runs(self) -> bool:
        """Whether it is on."""
        if self._gate is None or self._page is None:
            return True
        value = self._page.read32(self._gate.address - self._page.base)
        return value & self._gate.mask == self._gate.value


class Tpiu(ComponentDevice):
    """A trace port that nobody listens to.

    :param base: Address of its registers.
    """

    def __init__(self, base: int) -> None:
        super().__init__(base, identification(_PART_TPIU, devtype=0x11))

    def _read(self, offset: int) -> int:
        return 0

    def _write(self, offset: int, value: int) -> None:
        pass


class SleepingCore(ComponentDevice):
    """The System Control Space of a core that nobody lets run.

    :param base: Address of its registers.
    :param cpuid: What it is.
    """

    def __init__(self, base: int, cpuid: int) -> None:
        super().__init__(base, {_CPUID: cpuid, **identification(0x00C, component_class=CLASS_GENERIC)}, has_lock=False)
        self._control = 0
        self._values: Dict[int, int] = {}

    def _read(self, offset: int) -> int:
        if offset == _DHCSR:
            # It sleeps until the other core wakes it, and cannot be halted before.
            return self._control | _S_SLEEP | _S_REGRDY
        return self._values.get(offset, 0)

    def _write(self, offset: int, value: int) -> None:
        if offset == _DHCSR:
            self._control = value & 0xF if value >> 16 == _KEY else self._control
        elif offset == _DEMCR:
            self._values[offset] = value


class WaitingCore(ComponentDevice):
    """The debug registers of a Cortex-A9 that nobody has let run.

    :param base: Address of its registers.
    """

    def __init__(self, base: int) -> None:
        super().__init__(base, {_PRSR: 1, _AUTHSTATUS: 0xFF, **identification(_PART_A9, devtype=0x15)})

    def _read(self, offset: int) -> int:
        return 0

    def _write(self, offset: int, value: int) -> None:
        pass
