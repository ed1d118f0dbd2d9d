"""Special-purpose and fault registers of a halted Cortex-M.

The debugger's server does not give them: they are read by DCRSR and DCRDR, and from the memory map.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), DCRSR, DCRDR, DHCSR; Armv7-M (DDI 0403E), C1.6.3.  What DCRDR
held is put back: software may have left a word in it for a debugger.  DHCSR is read, as servers do all the time, which
clears its S_RESET_ST and S_RETIRE_ST.
"""

from __future__ import annotations

from typing import Collection, Dict, List, Tuple

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
_HINT = "the core is not halted, or without power"


class SpecialRegisters:
    """Reads what is missing of a halted core's registers.

    :param port: The core's memory.
    """

    def __init__(self, port: AccessPort) -> None:
        self._port = port

    def _limits(self) -> Tuple[Tuple[str, int], ...]:
        # The stack limits that the core has, and their REGSEL.
        architecture = cortex_m.CPUID.get(self._read(cortex_m.CPUID), "ARCHITECTURE")
        archid = cortex_m.DDEVARCH.get(self._read(cortex_m.DDEVARCH), "ARCHID")
        if architecture != _MAINLINE or archid != cortex_m.ARCHID_V8M:
            return ()
        if cortex_m.ID_PFR1.get(self._read(cortex_m.ID_PFR1), "SECURITY"):
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

    def fault_status(self) -> Dict[str, int]:
        """Read CFSR, the faults so far; empty without an answer.

        Empty too where the core has no CFSR.
        """
        try:
            if cortex_m.CPUID.get(self._read(cortex_m.CPUID), "ARCHITECTURE") != _MAINLINE:
                return {}
            return {"cfsr": self._read(cortex_m.CFSR)}
        except AccessError:
            return {}

    def _missing(self, known: Collection[str]) -> Dict[str, int]:
        wanted = [pair for pair in (("msp", _MSP), ("psp", _PSP)) if pair[0] not in known]
        if any(name not in known for name, _ in _PLACES):
            wanted.append(("masks", _MASKS))
        has_limits = any(name.startswith("msplim") for name in known)
        limits = () if has_limits else self._limits()
        if not (wanted or limits):
            return {}
        status = self._read(cortex_m.DHCSR)
        if not cortex_m.DHCSR.get(status, "S_HALT"):
            return {}
        if len(limits) == len(_LIMITS) or cortex_m.DHCSR.get(status, "S_SDE"):
            wanted += limits
        found = self._transfer(wanted)
        masks = found.pop("masks", None)
        if masks is not None:
            found.update((name, masks >> place & 0xFF) for name, place in _PLACES if name not in known)
        return found

    def _transfer(self, wanted: List[Tuple[str, int]]) -> Dict[str, int]:
        found: Dict[str, int] = {}
        before = self._read(cortex_m.DCRDR)
        try:
            for name, number in wanted:
                self._write(cortex_m.DCRSR, cortex_m.DCRSR.encode(REGSEL=number))
                Deadline().wait(self._port, cortex_m.SCS_BASE, cortex_m.DHCSR, _HINT, S_REGRDY=1)
                found[name] = self._read(cortex_m.DCRDR)
        finally:
            self._write(cortex_m.DCRDR, before)
        return found

    def _read(self, register: Register) -> int:
        return self._port.read32(cortex_m.SCS_BASE + register.offset)

    def _write(self, register: Register, value: int) -> None:
        self._port.write32(cortex_m.SCS_BASE + register.offset, value)
