"""Special-purpose and fault registers of a halted Cortex-M.

The debugger's server does not give them: they are read by DCRSR and DCRDR, and from the memory map.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), DCRSR, DCRDR, DHCSR; Armv7-M (DDI 0403E), C1.6.3.  What DCRDR
held is put back: software may have left a word in it for a debugger.  DHCSR is read, as servers do all the time, which
clears its S_RESET_ST and S_RETIRE_ST.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Collection, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import AccessError, CaptureError
from gdb_etm.registers import cortex_m
from gdb_etm.registers.page import Register

# DCRSR.REGSEL.
_MSP, _PSP, _MASKS = 17, 18, 20
_SECURE_LIMITS = (("msplim_s", 28), ("psplim_s", 29))
_LIMITS = (("msplim_ns", 30), ("psplim_ns", 31))
# In the word that REGSEL 20 gives.
_PLACES = (("primask", 0), ("basepri", 8), ("faultmask", 16), ("control", 24))
# CPUID.ARCHITECTURE with the Main Extension, and of Armv7-M.
_MAINLINE = 0xF
# Neighbours, each with the next; SFSR and SFAR are there with the Security Extension alone.
_FAULTS = (cortex_m.SHCSR, cortex_m.CFSR, cortex_m.HFSR, cortex_m.DFSR, cortex_m.MMFAR, cortex_m.BFAR)
_SECURE_FAULTS = (cortex_m.SFSR, cortex_m.SFAR)
_HINT = "the core is not halted, or without power"


class _Architecture(NamedTuple):
    # Armv7-M, or Armv8-M with the Main Extension.
    is_mainline: bool
    is_v8m: bool
    # Of Armv8-M with the Main Extension.
    has_security: bool


class SpecialRegisters:
    """Reads what is missing of a halted core's registers.

    What the core is is read once.

    :param port: The core's memory.
    """

    def __init__(self, port: AccessPort) -> None:
        self._port = port
        self._known: Optional[_Architecture] = None

    def _architecture(self) -> _Architecture:
        if self._known is None:
            is_mainline = cortex_m.CPUID.get(self._read(cortex_m.CPUID), "ARCHITECTURE") == _MAINLINE
            is_v8m = cortex_m.DDEVARCH.get(self._read(cortex_m.DDEVARCH), "ARCHID") == cortex_m.ARCHID_V8M
            has_security = (
                is_mainline and is_v8m and bool(cortex_m.ID_PFR1.get(self._read(cortex_m.ID_PFR1), "SECURITY"))
            )
            self._known = _Architecture(is_mainline, is_v8m, has_security)
        return self._known

    def _limits(self) -> Tuple[Tuple[str, int], ...]:
        # The stack limits that the core has, and their REGSEL.
        core = self._architecture()
        if not (core.is_mainline and core.is_v8m):
            return ()
        if core.has_security:
            return _SECURE_LIMITS + _LIMITS
        # Without the Security Extension there are those of Non-secure state alone.
        return tuple((name.partition("_")[0], number) for name, number in _LIMITS)

    def missing(self, known: Collection[str]) -> Dict[str, int]:
        """Read the stack pointers, limits, control and masks not yet known.

        Only those that the core has.

        Of a core with the Security Extension that keeps its Secure state from debuggers no limits are told: those of
        one state alone bound no stack pointer.

        :param known: Names of registers that need not be read, lower-case.
        :returns: Nothing where the core does not answer, or is not halted.
        """
        try:
            return self._missing(known)
        except (AccessError, CaptureError):
            return {}

    def status(self) -> Dict[str, int]:
        """Read the fault status registers and their addresses, and FPCCR; lower-case names.

        SFSR and SFAR too, where the core has them and shows them to the debugger.  Of registers that are banked, those
        of the core's present Security state are read (DDI 0553, DSCSR).

        :returns: Nothing where the core has none, or does not answer.
        """
        found: Dict[str, int] = {}
        with suppress(AccessError):
            core = self._architecture()
            if not core.is_mainline:
                return {}
            found.update(self._read_neighbours(_FAULTS))
            found["fpccr"] = self._read(cortex_m.FPCCR)
            if core.has_security and cortex_m.DHCSR.get(self._read(cortex_m.DHCSR), "S_SDE"):
                found.update(self._read_neighbours(_SECURE_FAULTS))
        return found

    def _read_neighbours(self, registers: Sequence[Register]) -> Dict[str, int]:
        words = self._port.read_block(cortex_m.SCS_BASE + registers[0].offset, len(registers))
        return {register.name.lower(): word for register, word in zip(registers, words)}

    def _missing(self, known: Collection[str]) -> Dict[str, int]:
        wanted = [pair for pair in (("msp", _MSP), ("psp", _PSP)) if pair[0] not in known]
        if any(name not in known for name, _ in _PLACES):
            wanted.append(("masks", _MASKS))
        has_limits = any(name.startswith("msplim") for name in known)
        limits = () if has_limits else self._limits()
        if not (wanted or limits):
            return {}
        status, before = self._status_and_data()
        if not cortex_m.DHCSR.get(status, "S_HALT"):
            return {}
        if len(limits) == len(_LIMITS) or cortex_m.DHCSR.get(status, "S_SDE"):
            wanted += limits
        found = self._transfer(wanted, before)
        masks = found.pop("masks", None)
        if masks is not None:
            found.update((name, masks >> place & 0xFF) for name, place in _PLACES if name not in known)
        return found

    def _transfer(self, wanted: List[Tuple[str, int]], before: int) -> Dict[str, int]:
        found: Dict[str, int] = {}
        try:
            for name, number in wanted:
                self._write(cortex_m.DCRSR, cortex_m.DCRSR.encode(REGSEL=number))
                status, found[name] = self._status_and_data()
                if not cortex_m.DHCSR.get(status, "S_REGRDY"):
                    Deadline().wait(self._port, cortex_m.SCS_BASE, cortex_m.DHCSR, _HINT, S_REGRDY=1)
                    found[name] = self._read(cortex_m.DCRDR)
        finally:
            self._write(cortex_m.DCRDR, before)
        return found

    def _status_and_data(self) -> Tuple[int, int]:
        # Neighbours, one access of the probe; DHCSR is read first, so what it says holds for DCRDR.
        status, _, data = self._port.read_block(cortex_m.SCS_BASE + cortex_m.DHCSR.offset, 3)
        return status, data

    def _read(self, register: Register) -> int:
        return self._port.read32(cortex_m.SCS_BASE + register.offset)

    def _write(self, register: Register, value: int) -> None:
        self._port.write32(cortex_m.SCS_BASE + register.offset, value)
