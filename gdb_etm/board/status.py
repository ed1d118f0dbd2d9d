"""Fault status and exception control of the System Control Block.

Bits of DFSR and DEMCR are here too (DDI 0553, D1.2.36 and D1.2.34).
"""

from __future__ import annotations

from gdb_etm.board.exceptions import BUS_FAULT, MEM_MANAGE, USAGE_FAULT

# CFSR (DDI 0553, D1.2.13).
_IACCVIOL = 1 << 0
_DACCVIOL = 1 << 1
_MUNSTKERR = 1 << 3
_MSTKERR = 1 << 4
_MMARVALID = 1 << 7
_IBUSERR = 1 << 8
_PRECISERR = 1 << 9
_IMPRECISERR = 1 << 10
_UNSTKERR = 1 << 11
_STKERR = 1 << 12
_BFARVALID = 1 << 15
_USAGE = {
    "UNDEFINSTR": 1 << 16,
    "INVSTATE": 1 << 17,
    "INVPC": 1 << 18,
    "NOCP": 1 << 19,
    "STKOF": 1 << 20,
    "UNALIGNED": 1 << 24,
    "DIVBYZERO": 1 << 25,
}
_ASPEN = 1 << 31
# CCR.
UNALIGN_TRP = 1 << 3
DIV_0_TRP = 1 << 4

# DFSR.
DFSR_HALTED = 1 << 0
DFSR_BKPT = 1 << 1
DFSR_DWTTRAP = 1 << 2
DFSR_VCATCH = 1 << 3
DFSR_EXTERNAL = 1 << 4

# DEMCR vector catch, by what is caught.
VC_CORERESET = 1 << 0
VC_MMERR = 1 << 4
VC_NOCPERR = 1 << 5
VC_CHKERR = 1 << 6
VC_STATERR = 1 << 7
VC_BUSERR = 1 << 8
VC_INTERR = 1 << 9
VC_HARDERR = 1 << 10


class Status:
    """Fault status, VTOR, and the few controls of exception handling.

    :param traps_unaligned: Whether unaligned accesses fault whatever CCR says.
    """

    def __init__(self, traps_unaligned: bool = False) -> None:
        self._traps_unaligned = traps_unaligned
        self.reset()

    def reset(self) -> None:
        """Take the values after a reset."""
        self.vtor = 0
        self.cfsr = 0
        self.hfsr = 0
        self.mmfar = 0
        self.bfar = 0
        self.ccr = 0
        self.fpccr = _ASPEN
        self.fpcar = 0
        self.cpacr = 0
        self.scr = 0
        # The exception to derive from a failed stacking, or 0.
        self.stacking_fault = 0

    @property
    def traps_unaligned(self) -> bool:
        """All unaligned accesses fault (CCR.UNALIGN_TRP), not those of several words alone."""
        return self._traps_unaligned or bool(self.ccr & UNALIGN_TRP)

    @property
    def sleep_on_exit(self) -> bool:
        """Sleep when an exception return goes to Thread mode (SCR.SLEEPONEXIT)."""
        return bool(self.scr & 2)

    def usage_fault(self, name: str) -> None:
        """Note a UsageFault by the name of its bit in UFSR."""
        self.cfsr |= _USAGE[name]

    def data_bus_fault(self, address: int) -> None:
        """Note a precise BusFault on data."""
        self.cfsr |= _PRECISERR | _BFARVALID
        self.bfar = address

    def imprecise_bus_fault(self) -> None:
        """Note that a complete store has failed; its address is lost."""
        self.cfsr |= _IMPRECISERR

    def data_memory_fault(self, address: int) -> None:
        """Note a MemManage fault on data."""
        self.cfsr |= _DACCVIOL | _MMARVALID
        self.mmfar = address

    def fetch_bus_fault(self) -> None:
        """Note a BusFault on a fetch."""
        self.cfsr |= _IBUSERR

    def fetch_memory_fault(self) -> None:
        """Note a MemManage fault on a fetch."""
        self.cfsr |= _IACCVIOL

    def stacking_bus_fault(self) -> None:
        """Note that an exception entry could not write its frame."""
        self.cfsr |= _STKERR
        self.stacking_fault = BUS_FAULT

    def stacking_memory_fault(self) -> None:
        """Note that an exception entry may not write its frame."""
        self.cfsr |= _MSTKERR
        self.stacking_fault = MEM_MANAGE

    def unstacking_memory_fault(self) -> None:
        """Note that an exception return may not read its frame."""
        self.cfsr |= _MUNSTKERR

    def stacking_limit(self) -> None:
        """Note that an exception entry's frame would lie below the stack limit."""
        self.usage_fault("STKOF")
        self.stacking_fault = USAGE_FAULT

    def unstacking_bus_fault(self) -> None:
        """Note that an exception return could not read its frame."""
        self.cfsr |= _UNSTKERR
