"""An :class:`~gdb_etm.access.port.AccessPort` over one of pyOCD's memory access ports.

Registers of a MEM-AP: Arm Debug Interface v5.2 (IHI 0031), C2.6; of an ADIv6 MEM-AP the same at 0xD00 (IHI 0074).
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from pyocd.core import exceptions
from pyocd.coresight.ap import (
    CSW_ADDRINC,
    CSW_SIZE,
    CSW_SIZE32,
    MEM_AP,
    MEM_AP_CSW,
    MEM_AP_DRW,
    MEM_AP_TAR,
    APVersion,
    MEM_APv2_CONTROL_REG_OFFSET,
)

from gdb_etm.access.watched_probe import NonsenseError, UsbError
from gdb_etm.errors import AccessError

# Most words fetched under one hold of the probe's lock; pyOCD's GDB server gets its turn in between.
CHUNK_WORDS = 1024

_DP_RDBUFF = 0xC
_ALL_ONES = 0xFFFFFFFF


class PyocdPort:
    """Aligned 32-bit access through one MEM-AP; safe beside pyOCD's own threads.

    :param ap: The access port, of an open pyOCD session.
    :raises AccessError: The probe does not answer.
    """

    def __init__(self, ap: MEM_AP) -> None:
        self._ap = ap
        self._dp = ap.dp
        # Whether a read has gone the ordinary way, which leaves in CSW the attributes that pyOCD chose for this port.
        self._has_read = False
        self._offset = 0 if ap.ap_version is APVersion.APv1 else MEM_APv2_CONTROL_REG_OFFSET
        # Such a probe (ST-Link) reports a write's fault before the call returns; others post writes.
        try:
            self._writes_complete = ap.dp.probe.get_memory_interface_for_ap(ap.address) is not None
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "open %s" % self.name) from None

    @property
    def name(self) -> str:
        """Type and id of the access port, such as ``"AHB-AP 0"``."""
        return ap_name(self._ap)

    def read32(self, address: int) -> int:
        """Read one word."""
        _check(address)
        try:
            found = int(self._ap.read_memory(address, 32))
            self._has_read = True
            return found
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "read 0x%08x" % address, address) from None

    def write32(self, address: int, value: int) -> None:
        """Write one word; it has reached the bus on return."""
        _check(address)
        try:
            self._ap.lock()
            try:
                self._ap.write_memory(address, value & _ALL_ONES, 32)
                if not self._writes_complete:
                    # RDBUFF waits for the outstanding write and reports its fault (IHI 0031, B2.2).
                    self._dp.read_dp(_DP_RDBUFF)
            finally:
                self._ap.unlock()
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "write 0x%08x" % address, address) from None

    def write_block(self, address: int, values: Sequence[int]) -> None:
        """Write consecutive words of memory; they have reached the bus on return."""
        _check(address)
        try:
            self._ap.write_memory_block32(address, list(values))
            self._ap.read_memory(address, 32)
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "write 0x%08x" % address, address) from None

    def read_block(self, address: int, words: int) -> List[int]:
        """Read ``words`` consecutive words."""
        _check(address)
        result: List[int] = []
        while len(result) < words:
            at = address + 4 * len(result)
            count = min(CHUNK_WORDS, words - len(result))
            try:
                result += self._ap.read_memory_block32(at, count)
            except (exceptions.Error, OSError) as error:
                raise access_error(error, "read 0x%08x" % at, at) from None
        return result

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word ``words`` times, one DAP transfer each."""
        _check(address)
        result: List[int] = []
        while len(result) < words:
            try:
                result += self._read_same(address, min(CHUNK_WORDS, words - len(result)))
            except (exceptions.Error, OSError) as error:
                raise access_error(error, "read 0x%08x" % address, address) from None
        return result

    def _read_same(self, address: int, words: int) -> List[int]:
        """Read one address repeatedly, with SELECT, CSW and TAR held."""
        ap = self._ap
        base = ap.address.address + self._offset
        # MEM_AP.locked() does not unlock when its body raises, hence the explicit calls.
        ap.lock()
        try:
            first = [] if self._has_read else [int(ap.read_memory(address, 32))]
            self._has_read = True
            if len(first) == words:
                return first
            csw = ap.read_reg(self._offset + MEM_AP_CSW)
            ap.write_reg(self._offset + MEM_AP_CSW, csw & ~(CSW_SIZE | CSW_ADDRINC) | CSW_SIZE32)
            try:
                ap.write_reg(self._offset + MEM_AP_TAR, address)
                rest = self._dp.read_ap_multiple(base + MEM_AP_DRW, words - len(first))
            finally:
                ap.write_reg(self._offset + MEM_AP_CSW, csw)
            return [*first, *rest]
        finally:
            ap.unlock()


def ap_name(ap: MEM_AP) -> str:
    """Return an access port's type and id, such as ``"AHB-AP 0"``."""
    number = ap.address.nominal_address
    return "%s %s" % (ap.type_name, number if number < 256 else hex(number))


def _check(address: int) -> None:
    if address & 3 or not 0 <= address <= _ALL_ONES:
        raise AccessError("0x%x is no address of a word" % address, address)


def access_error(error: Exception, what: str, address: Optional[int] = None) -> AccessError:
    """Translate pyOCD's exception.

    :param error: A USB error of pyOCD's back ends is an OSError.
    :param what: What could not be done, such as ``"read 0x20000000"``.
    """
    kind, why = _reason(error)
    detail: Optional[str] = str(error.args[0]) if error.args and isinstance(error.args[0], str) else None
    message = "cannot %s: %s" % (what, why)
    return AccessError("%s (%s)" % (message, detail) if detail else message, address, kind)


def _reason(error: Exception) -> Tuple[str, str]:
    if isinstance(error, exceptions.TransferFaultError):
        return "fault", "the bus answered with a fault"
    if isinstance(error, (exceptions.TransferTimeoutError, exceptions.TimeoutError)):
        return "timeout", "no answer in time"
    if isinstance(error, exceptions.TransferProtocolError):
        return "lost", "the target no longer answers; check its power and the cable"
    if isinstance(error, NonsenseError):
        return "lost", "the debug probe sent nonsense; unplug it and plug it in again"
    if isinstance(error, UsbError):
        return "lost", "the debug probe failed"
    if isinstance(error, (exceptions.ProbeError, OSError)):
        return "lost", "the debug probe no longer answers; is it unplugged?"
    return "fault", "the access failed"
