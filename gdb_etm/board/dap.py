"""The debug port and its access ports, on the wire (ADIv5.2).

An access ends in one of three ways: it returns, it raises :class:`FaultResponse`, or it raises :class:`WaitResponse`; a
probe turns the last two into what its user sees.
"""

from __future__ import annotations

from typing import Callable, Dict, Mapping, Optional, Protocol, Sequence

from gdb_etm.board.bus import BusFault
from gdb_etm.board.faults import Faults

DP_IDR = 0x6BA02477
AHB_AP_IDR = 0x84770011
NARROW_AHB_AP_IDR = 0x84770001
APB_AP_IDR = 0x44770002

# Debug port registers, by address (B2.2).
ABORT = 0x0
CTRL_STAT = 0x4
SELECT = 0x8
RDBUFF = 0xC

# CTRL/STAT fields (B2.2.2).
_ORUNDETECT = 1 << 0
STICKYORUN = 1 << 1
STICKYCMP = 1 << 4
STICKYERR = 1 << 5
READOK = 1 << 6
WDATAERR = 1 << 7
_CTRL_WRITABLE = 0x54FFFF0D
_CDBGPWRUPREQ = 1 << 28
_CSYSPWRUPREQ = 1 << 30
_CDBGRSTREQ = 1 << 26

# Access port registers, by address (C2.6).
_CSW = 0x00
_TAR = 0x04
_DRW = 0x0C
_BD0 = 0x10
_BD3 = 0x1C
_BASE = 0xF8
_IDR = 0xFC

# CSW fields (C2.6.4): Size 2:0, AddrInc 5:4 (packed transfers are not implemented), Prot 30:24, DeviceEn 6.
_CSW_WRITABLE = 0x4F000017
# An APB-AP distinguishes software's accesses from a debugger's by DbgSwEnable, bit 31.
_CSW_SOFTWARE = 1 << 31
_CSW_FIXED = 1 << 6
_CSW_RESET = 0x03000052
_INCREMENT = 0x10


class FaultResponse(Exception):
    """The debug port's FAULT response.

    An error is sticky until it is cleared through ABORT.
    """


class WaitResponse(Exception):
    """The debug port answered WAIT: the access before has not ended yet."""


class BusMemory(Protocol):
    """What the access port reaches."""

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes.

        :raises BusFault: nothing is there.
        """

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes.

        :raises BusFault: nothing is there.
        """


class AhbAccessPort:
    """A memory access port with 8, 16 and 32-bit accesses.

    :param memory: What it reaches.
    :param base: Address of the ROM table; None for no table.
    """

    idr = AHB_AP_IDR
    # Bytes of an access, by CSW.Size.
    sizes: Mapping[int, int] = {0: 1, 1: 2, 2: 4}
    writable = _CSW_WRITABLE
    # Bits of TAR that are incremented: an AHB-AP with this IDR has 12, and pyOCD counts on it.
    increments = 0xFFF

    def __init__(self, memory: BusMemory, base: Optional[int]) -> None:
        self._memory = memory
        # Without a table: the format's bit, and not present (C2.6.1).
        self._base = 2 if base is None else base | 3
        self._csw = _CSW_RESET
        self._tar = 0

    def read(self, register: int) -> int:
        """Read a register of the port.

        :raises BusFault: an access through DRW or a banked data register failed.
        """
        if register == _DRW:
            value = self._memory.read(self._tar, self._size) << 8 * (self._tar & 3)
            self._increment()
            return value
        if _BD0 <= register <= _BD3:
            return self._memory.read((self._tar & ~0xF) | (register - _BD0), 4)
        fixed = {_CSW: self._csw, _TAR: self._tar, _BASE: self._base, _IDR: self.idr}
        return fixed.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """Write a register of the port.

        :raises BusFault: an access through DRW or a banked data register failed.
        """
        if register == _DRW:
            size = self._size
            lane = value >> 8 * (self._tar & 3) & ((1 << 8 * size) - 1)
            self._memory.write(self._tar, size, lane)
            self._increment()
        elif _BD0 <= register <= _BD3:
            self._memory.write((self._tar & ~0xF) | (register - _BD0), 4, value)
        elif register == _CSW:
            if value & 7 not in self.sizes:
                value = (value & ~7) | (self._csw & 7)
            self._csw = (value & self.writable) | _CSW_FIXED
        elif register == _TAR:
            self._tar = value

    @property
    def _size(self) -> int:
        return self.sizes[self._csw & 7]

    def _increment(self) -> None:
        if self._csw & _INCREMENT:
            self._tar = (self._tar & ~self.increments) | ((self._tar + self._size) & self.increments)


class NarrowAccessPort(AhbAccessPort):
    """An AHB-AP that increments 10 bits of TAR.

    No more than it has to (C2.2.2).  That of a Cortex-M7 (OpenOCD and pyOCD find this IDR on STM32H7).
    """

    idr = NARROW_AHB_AP_IDR
    increments = 0x3FF


class ApbAccessPort(AhbAccessPort):
    """A memory access port with 32-bit accesses only, for debug components."""

    idr = APB_AP_IDR
    sizes = {2: 4}
    writable = _CSW_WRITABLE | _CSW_SOFTWARE


class DebugPort:
    """A serial wire debug port, version 2.

    :param ports: The access ports, from number 0 on.
    :param reset: Resets the system, as a debug reset request does.
    :param faults: What goes wrong.
    """

    def __init__(self, ports: Sequence[AhbAccessPort], reset: Callable[[], None], faults: Faults = Faults()) -> None:
        self._ports = ports
        self._reset = reset
        self._faults = faults
        self._accesses = 0
        self._select = 0
        self._control = 0
        self._buffer = 0

    def read(self, register: int) -> int:
        """Read a debug port register, 0x0 to 0xC."""
        if register == 0:
            return DP_IDR
        if register == CTRL_STAT and self._select & 0xF == 0:
            # Each power-up or reset request is acknowledged at once, in the bit above it.
            requests = self._control & (_CDBGRSTREQ | _CDBGPWRUPREQ | _CSYSPWRUPREQ)
            return self._control | requests << 1
        if register in (SELECT, RDBUFF):
            return self._buffer
        return 0

    def write(self, register: int, value: int) -> None:
        """Write a debug port register, 0x0 to 0xC."""
        if register == ABORT:
            cleared: Dict[int, int] = {1 << 1: STICKYCMP, 1 << 2: STICKYERR, 1 << 3: WDATAERR, 1 << 4: STICKYORUN}
            self.clear(sum(flag for bit, flag in cleared.items() if value & bit))
        elif register == CTRL_STAT and self._select & 0xF == 0:
            if value & ~self._control & _CDBGRSTREQ:
                self._reset()
            flags = self._control & (STICKYORUN | STICKYCMP | STICKYERR | READOK | WDATAERR)
            self._control = flags | (value & _CTRL_WRITABLE)
        elif register == SELECT:
            self._select = value

    def clear(self, flags: int) -> None:
        """Clear sticky flags of CTRL/STAT."""
        self._control &= ~flags

    def note_overrun(self) -> None:
        """Take note that the answer was WAIT (B2.2.2, ORUNDETECT)."""
        if self._control & _ORUNDETECT:
            self._control |= STICKYORUN

    def read_ap(self, register: int) -> int:
        """Read a register of the selected access port.

        :param register: Address bits 3:2; the bank comes from SELECT.
        :raises FaultResponse: the access failed, an error is sticky, or debug is not powered up.
        :raises WaitResponse: the access port is busy.
        """
        self._check()
        return self.complete_read(register)

    def complete_read(self, register: int) -> int:
        """Read a register, of an access that has begun.

        :raises FaultResponse: the access failed.
        """
        if self._select >> 24 >= len(self._ports):
            return 0
        try:
            self._buffer = self._ports[self._select >> 24].read((self._select & 0xF0) | register)
        except BusFault as fault:
            raise self._stick() from fault
        self._control |= READOK
        return self._buffer

    def write_ap(self, register: int, value: int) -> None:
        """Write a register of the selected access port.

        :param register: Address bits 3:2; the bank comes from SELECT.
        :param value: 32-bit value.
        :raises FaultResponse: the access failed, an error is sticky, or debug is not powered up.
        :raises WaitResponse: the access port is busy.
        """
        self._check()
        self.complete_write(register, value)

    def complete_write(self, register: int, value: int) -> None:
        """Write a register, of an access that has begun.

        :raises FaultResponse: the access failed.
        """
        if self._select >> 24 >= len(self._ports):
            return
        try:
            self._ports[self._select >> 24].write((self._select & 0xF0) | register, value)
        except BusFault as fault:
            raise self._stick() from fault

    def _check(self) -> None:
        if not self._control & _CDBGPWRUPREQ:
            raise self._stick()
        if self._control & (STICKYERR | STICKYCMP | STICKYORUN | WDATAERR):
            raise FaultResponse()
        if self.is_busy():
            raise WaitResponse()

    def is_busy(self) -> bool:
        """Try an access, and tell whether the port needs longer for it."""
        self._accesses += 1
        slow = self._faults.wait > 0 and self._accesses % self._faults.wait == 0
        return slow or 0 < self._faults.hang <= self._accesses

    def _stick(self) -> FaultResponse:
        self._control = (self._control | STICKYERR) & ~READOK
        return FaultResponse()
