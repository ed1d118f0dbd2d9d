"""A halted Cortex-M: state, single steps, runs.

Ref: Armv7-M (DDI 0403E), C1.5 and C1.6; Armv8-M (DDI 0553), D1.2, DHCSR, DCRSR, DEMCR.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Dict, Iterator, List, NamedTuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import AccessError, CaptureError
from gdb_etm.registers import cortex_m
from gdb_etm.registers.page import Register
from gdb_etm.selftest.findings import StepSkipped
from gdb_etm.selftest.program import BASELINE, MAINLINE

# DCRSR.REGSEL.
SP, LR, PC, XPSR = 13, 14, 15, 16
_MSP, _PSP, _MASKS, _FPSCR, _S0 = 17, 18, 20, 33, 64
_SECURE_LIMITS, _LIMITS = (28, 29), (30, 31)
_THUMB = 1 << 24
# The IT or ICI bits of xPSR.
_IT = 0x0600FC00
_IPSR = 0x1FF
# CPUID.ARCHITECTURE with the Main Extension, and of Armv7-M.
_MAINLINE = 0xF
_WORD = 0xFFFFFFFF
_RESTORED = (cortex_m.DEMCR, cortex_m.VTOR, cortex_m.MPU_CTRL, cortex_m.SHCSR)
# What a fault of ours would leave behind: each bit is cleared by writing a one.
_STICKY = (cortex_m.CFSR, cortex_m.HFSR, cortex_m.DFSR)
# Vector catch: a fault halts the core before its handler runs.
_CATCH = dict(VC_HARDERR=1, VC_INTERR=1, VC_BUSERR=1, VC_STATERR=1, VC_CHKERR=1, VC_NOCPERR=1, VC_MMERR=1)
_NO_READY = "the core is not halted, or without power"
# What the PC reads in lockup, in Armv8-M and Armv7-M.
_LOCKUP = (0xEFFFFFFE, 0xFFFFFFFE)
# Memory that holds code, by the default memory map (DDI 0403E, B3.1); its peripherals and devices do not.
_CODE = ((0x00000000, 0x40000000), (0x60000000, 0xA0000000))
_STATUS = (("CFSR", cortex_m.CFSR), ("HFSR", cortex_m.HFSR), ("DFSR", cortex_m.DFSR))
_CALLEE_SAVED = 13
_FLOATS = 32


class _Saved(NamedTuple):
    # What is put back.
    # By REGSEL, in the order of writing.
    registers: Dict[int, int]
    # By address; written in order.
    words: Dict[int, int]
    # What the sticky fault status held, by address.
    sticky: Dict[int, int]
    dhcsr: int


class HaltedCore:
    """A Cortex-M in Debug state.

    :param port: The core's memory.
    :param deadline: How long the core may take to answer.
    """

    exception_name = "NMI"

    def __init__(self, port: AccessPort, deadline: Deadline = Deadline()) -> None:
        self.port = port
        self._deadline = deadline
        # Software may have left a word there for a debugger; each access to a core register replaces it.
        self._word = self.system(cortex_m.DCRDR)
        identity = self.system(cortex_m.CPUID)
        # Whether it runs all of T32, and not what Armv6-M has of it.
        self.is_mainline = cortex_m.CPUID.get(identity, "ARCHITECTURE") == _MAINLINE
        self.program = MAINLINE if self.is_mainline else BASELINE
        self._state = _Saved({}, {}, {}, 0)
        architecture = cortex_m.DDEVARCH.get(self.system(cortex_m.DDEVARCH), "ARCHID")
        self._is_v8m = architecture == cortex_m.ARCHID_V8M
        # Whether there are two Security states.
        self.has_security = self._is_v8m and bool(cortex_m.ID_PFR1.get(self.system(cortex_m.ID_PFR1), "SECURITY"))

    def system(self, register: Register) -> int:
        """Read a register of the System Control Space."""
        return self.port.read32(cortex_m.SCS_BASE + register.offset)

    def set_system(self, register: Register, value: int) -> None:
        """Write a register of the System Control Space."""
        self.port.write32(cortex_m.SCS_BASE + register.offset, value)

    @property
    def is_halted(self) -> bool:
        """Whether it is in Debug state."""
        return bool(cortex_m.DHCSR.get(self.system(cortex_m.DHCSR), "S_HALT"))

    def halt(self) -> None:
        """Halt it.

        :raises CaptureError: It does not halt.
        """
        self._control(C_HALT=1)
        self._deadline.wait(self.port, cortex_m.SCS_BASE, cortex_m.DHCSR, "the core does not halt", S_HALT=1)

    def let_run(self) -> None:
        """Have it run on, its state put back."""
        self.set_system(cortex_m.DHCSR, cortex_m.DBGKEY << 16 | cortex_m.DHCSR.encode(C_DEBUGEN=1))

    # Core registers.

    def read(self, number: int) -> int:
        """Read a core register by its REGSEL.

        :raises CaptureError: It does not become ready.
        """
        self.set_system(cortex_m.DCRSR, cortex_m.DCRSR.encode(REGSEL=number))
        self._await_ready()
        return self.system(cortex_m.DCRDR)

    def write(self, number: int, value: int) -> None:
        """Write a core register by its REGSEL.

        :raises CaptureError: It does not become ready.
        """
        self.set_system(cortex_m.DCRDR, value)
        self.set_system(cortex_m.DCRSR, cortex_m.DCRSR.encode(REGWnR=1, REGSEL=number))
        self._await_ready()

    def _await_ready(self) -> None:
        self._deadline.wait(self.port, cortex_m.SCS_BASE, cortex_m.DHCSR, _NO_READY, S_REGRDY=1)

    # State.

    def check_state(self) -> None:
        """See that its state can be put back.

        :raises CaptureError: It cannot.
        """
        pc = self.read(PC)
        # A chip with blank flash shows the same PC after a reset, but runs no handler.
        if pc & ~1 in _LOCKUP and self.exception:
            raise CaptureError(
                'the core is in lockup (PC 0x%08x), which cannot be put back: "monitor reset halt" first' % pc
            )

    def save(self) -> int:
        """Read all that the self test may change.

        :returns: How many core registers.
        :raises CaptureError: A register does not become ready.
        :raises AccessError: The core does not answer.
        """
        dhcsr = self.system(cortex_m.DHCSR)
        words = {cortex_m.SCS_BASE + each.offset: self.system(each) for each in _RESTORED}
        sticky = {cortex_m.SCS_BASE + each.offset: self.system(each) for each in _STICKY}
        registers = {number: self.read(number) for number in self._numbers(dhcsr)}
        self._state = _Saved(registers, words, sticky, dhcsr)
        return len(registers)

    def prepare(self) -> None:
        """Hold interrupts back, catch faults, lift the MPU and stack limits.

        :raises AccessError: The core does not answer.
        """
        self._control(C_HALT=1)
        self.set_system(cortex_m.DEMCR, self.system(cortex_m.DEMCR) | cortex_m.DEMCR.encode(**_CATCH))
        if self.system(cortex_m.MPU_CTRL):
            self.set_system(cortex_m.MPU_CTRL, 0)
        for number in self._limits(self._state.dhcsr):
            self.write(number, 0)

    def restore(self) -> List[str]:
        """Put everything back, and read it again.

        :returns: What is not as it was, one line each.
        :raises AccessError: The core does not answer.
        """
        state = self._state
        for address, value in state.words.items():
            if self.port.read32(address) != value:
                self.port.write32(address, value)
        for number, value in state.registers.items():
            self.write(number, value)
        wrong = [
            "core register %d was 0x%08x and is 0x%08x" % (number, value, found)
            for number, value in state.registers.items()
            for found in (self.read(number),)
            if found != value
        ]
        self.put_word_back()
        wrong += [
            "0x%08x was 0x%08x and is 0x%08x" % (address, value, found)
            for address, value in state.words.items()
            for found in (self.port.read32(address),)
            if found != value
        ]
        self._control(C_HALT=1, C_MASKINTS=cortex_m.DHCSR.get(state.dhcsr, "C_MASKINTS"))
        for address, before in state.sticky.items():
            self.port.write32(address, self.port.read32(address) & ~before)
        return wrong

    def put_word_back(self) -> None:
        """Put DCRDR back as it was found."""
        self.set_system(cortex_m.DCRDR, self._word)

    def _numbers(self, dhcsr: int) -> Iterator[int]:
        yield from range(_CALLEE_SAVED)
        yield from (LR, PC, XPSR, _MSP, _PSP, _MASKS)
        yield from self._limits(dhcsr)
        if self.system(cortex_m.MVFR0):
            yield _FPSCR
            yield from range(_S0, _S0 + _FLOATS)

    def _limits(self, dhcsr: int) -> Iterator[int]:
        # The stack limits, those of Secure state where the debugger may see them.
        if self._is_v8m:
            # A Baseline has those of Secure state alone (DDI 0553, MSPLIM).
            if self.is_mainline:
                yield from _LIMITS
            if self.has_security and cortex_m.DHCSR.get(dhcsr, "S_SDE"):
                yield from _SECURE_LIMITS

    # Running.

    def enter(self, address: int, stack: int, **registers: int) -> None:
        """Set the next instruction, stack pointer and some registers.

        :param address: Of the instruction.
        """
        for name, value in registers.items():
            self.write(int(name[1:]), value)
        self.write(SP, stack)
        self.write(XPSR, self.read(XPSR) & ~_IT | _THUMB)
        self.write(PC, address)

    @property
    def pc(self) -> int:
        """Address of the next instruction."""
        return self.read(PC) & ~1

    @property
    def exception(self) -> int:
        """Number of the exception whose handler runs; 0 in Thread mode."""
        return self.read(XPSR) & _IPSR

    @property
    def is_privileged(self) -> bool:
        """Whether code may write the System Control Space."""
        return not self.read(_MASKS) >> 24 & 1

    def step(self) -> int:
        """Run one instruction.

        :returns: The address of the next one.
        :raises CaptureError: The core does not halt again.
        """
        self._control(C_STEP=1)
        self._await_halt()
        return self.pc

    def run(self) -> int:
        """Run until a BKPT or a fault halts the core.

        :returns: The address of the next instruction.
        :raises CaptureError: It does not halt by itself; it was halted then.
        """
        self._control()
        self._await_halt()
        return self.pc

    def registers(self) -> Dict[str, int]:
        """Read PC and exception number, as a capture has them."""
        return {"pc": self.pc, "xpsr": self.exception}

    def stack_pointers(self) -> List[int]:
        """Read both stack pointers."""
        return [self.read(number) for number in (_MSP, _PSP)]

    def is_code(self, address: int, end: int) -> bool:
        """Whether the memory map has code there."""
        return any(first <= address and end <= last for first, last in _CODE)

    def why(self) -> str:
        """Say by the fault status why it halted."""
        return ", ".join("%s 0x%08x" % (name, self.system(register)) for name, register in _STATUS)

    def check_exception(self) -> None:
        """See that an NMI is taken by vectors that can be moved.

        :raises StepSkipped: It is not.
        """
        if self.has_security:
            raise StepSkipped("an NMI may be taken in the other Security state (ID_PFR1.SECURITY)")
        if self.exception or not self.is_privileged:
            raise StepSkipped("an NMI cannot be made from the core's mode (xPSR exception %d)" % self.exception)

    @contextmanager
    def vectors_at(self, base: int) -> Iterator[None]:
        """Have exceptions taken by the vectors at an address.

        :raises StepSkipped: VTOR does not keep it.
        """
        before = self.system(cortex_m.VTOR)
        self.set_system(cortex_m.VTOR, base)
        try:
            if self.system(cortex_m.VTOR) != base:
                raise StepSkipped("the vector table cannot be moved into RAM (VTOR does not keep 0x%08x)" % base)
            yield
        finally:
            self.set_system(cortex_m.VTOR, before)

    def forget_code(self, address: int, size: int) -> None:
        """Have the core fetch code anew that the debugger wrote."""
        if cortex_m.CCR.get(self.system(cortex_m.CCR), "IC"):
            self.set_system(cortex_m.ICIALLU, 0)

    def _await_halt(self) -> None:
        try:
            self._deadline.of_program.wait(
                self.port, cortex_m.SCS_BASE, cortex_m.DHCSR, "the program did not come to its BKPT", S_HALT=1
            )
        except CaptureError:
            self.halt()
            raise

    def _control(self, **fields: int) -> None:
        wanted = {"C_DEBUGEN": 1, "C_MASKINTS": 1, **fields}
        self.set_system(cortex_m.DHCSR, cortex_m.DBGKEY << 16 | cortex_m.DHCSR.encode(**wanted))


def is_memory(port: AccessPort, address: int, words: int) -> bool:
    """Whether there is RAM, whose words keep two patterns.

    :raises AccessError: The target is gone.
    """
    try:
        found = port.read_block(address, words)
        for flip in (0x5A5A5A5A, 0xA5A5A5A5):
            for n, value in ((0, found[0]), (words - 1, found[-1])):
                port.write32(address + 4 * n, value ^ flip)
                kept = port.read32(address + 4 * n)
                port.write32(address + 4 * n, value)
                if kept != value ^ flip:
                    return False
    except AccessError as error:
        if error.kind != "fault":
            raise
        return False
    return True
