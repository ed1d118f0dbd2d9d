"""A halted core of Armv7-A or Armv7-R: state, single steps, runs.

The program runs in Supervisor mode, with interrupts masked; a step is a breakpoint at whatever is not the instruction.
Ref: DDI 0406C, B1.3 (modes), C3.3 (breakpoints), C5 (Debug state), C11.11 (registers).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional

from gdb_etm.coresight.core_debug import CoreDebugDriver, CoreMemory
from gdb_etm.errors import CaptureError
from gdb_etm.registers import cortex_a
from gdb_etm.selftest.findings import StepSkipped
from gdb_etm.selftest.program import A_PROFILE

# DBGDIDR.Version of Armv7.
_VERSIONS = (3, 4, 5)
_MODE, _USER, _SUPERVISOR, _MONITOR, _HYP, _SYSTEM = 0x1F, 0x10, 0x13, 0x16, 0x1A, 0x1F
_MASKS, _THUMB = 0x1C0, 1 << 5
# IT state, J and T.
_STATE = 0x0700FC00 | _THUMB
_SP, _LR = 13, 14
# CRn, CRm, opc2 of registers that an exception or an abort changes.
_VBAR, _DFSR, _DFAR, _IFSR, _IFAR = (12, 0, 0), (5, 0, 0), (6, 0, 0), (5, 0, 1), (6, 0, 2)
_SCTLR = (1, 0, 0)
_CACHES, _HIGH_VECTORS, _THUMB_EXCEPTIONS = 0x1004, 1 << 13, 1 << 30
# Clean data to the point of unification, invalidate instruction caches and branch predictors; barriers.
_DCCMVAU, _ICIALLU, _BPIALL, _DSB, _ISB = (7, 11, 1), (7, 5, 0), (7, 5, 6), (7, 10, 4), (7, 5, 4)
_LINE = 32
# DBGVCR: undefined instructions and aborts, in Secure and Non-secure state.
_CATCH, _NON_SECURE_CATCH = 1 << 1 | 1 << 3 | 1 << 4, 1 << 25 | 1 << 27 | 1 << 28
_MISMATCH = 4


class _Saved(NamedTuple):
    # Core registers by their names, and debug registers by their offsets.
    registers: Mapping[str, int]
    words: Mapping[int, int]


class HaltedCoreA:
    """A core in Debug state, reached by its own instructions.

    :param core: Its debug registers.
    """

    program = A_PROFILE
    exception_name = "SVC"

    def __init__(self, core: CoreDebugDriver) -> None:
        self._core = core
        self.port = CoreMemory(core)
        self._control = core.get(cortex_a.DBGDSCR)
        self._state = _Saved({}, {})
        # R0, CPSR and PC as they were found: a PC that was written cannot be read.
        self._found: Optional[Mapping[str, int]] = None
        # Where the next run begins, once that was written.
        self._jumped: Optional[int] = None

    @property
    def is_halted(self) -> bool:
        """Whether it is in Debug state."""
        return bool(self._core.status("HALTED"))

    def halt(self) -> None:
        """Halt it.

        :raises CaptureError: It does not halt.
        """
        self._core.halt()

    def let_run(self) -> None:
        """Have it run on, its state put back."""
        self._core.restart()
        self._core.set(cortex_a.DBGDSCR, self._control)

    def check_state(self) -> None:
        """See that its state can be put back.

        :raises CaptureError: It cannot.
        """
        core = self._core
        version = cortex_a.DBGDIDR.get(core.get(cortex_a.DBGDIDR), "Version")
        if version not in _VERSIONS:
            raise CaptureError("the core's debug registers are not those of Armv7 (DBGDIDR.Version is %d)" % version)
        status = cortex_a.DBGDSCR.decode(core.get(cortex_a.DBGDSCR))
        if status["TXfull"] or status["RXfull"]:
            name = "TXfull" if status["TXfull"] else "RXfull"
            raise CaptureError("a word waits in the core's debug channel (DBGDSCR.%s), and would be lost" % name)
        if status["SDABORT_l"] or status["ADABORT_l"] or status["UND_l"]:
            raise CaptureError("an abort of another debugger waits in DBGDSCR: reset the core first")
        mode = self._open()["cpsr"] & _MODE
        if mode in (_MONITOR, _HYP):
            raise CaptureError("the core is in %s mode, from which nobody comes back by the debugger" % _NAMES[mode])

    def _open(self) -> Mapping[str, int]:
        # From here on R0 is on the way; a write of CPSR leaves the PC UNKNOWN.
        core = self._core
        core.control(ITRen=1, ExtDCCmode=0)
        if self._found is None:
            scratch = core.read(0)
            cpsr = core.cpsr
            self._found = {"r0": scratch, "cpsr": cpsr, "pc": core.pc(cpsr)}
        return self._found

    def put_word_back(self) -> None:
        """Put back PC, R0, and DBGDSCR as it was found."""
        if self._found is not None:
            self._core.jump(self._found["pc"] | bool(self._found["cpsr"] & _THUMB))
            self._core.write(0, self._found["r0"])
        self._core.set(cortex_a.DBGDSCR, self._control)

    def stack_pointers(self) -> List[int]:
        """Read those of the current mode and of Supervisor mode."""
        core = self._core
        cpsr = core.cpsr
        found = [core.read(_SP)]
        core.cpsr = cpsr & ~_MODE & ~_STATE | _SUPERVISOR
        found.append(core.read(_SP))
        core.cpsr = cpsr
        return found

    def is_code(self, address: int, end: int) -> bool:
        """Whether code may be there: the architecture says nothing."""
        return 0 < address and end <= 1 << 32

    # State.

    def save(self) -> int:
        """Read all that the self test may change.

        :returns: How many core registers.
        :raises CaptureError: The core runs no instruction of ours.
        """
        core = self._core
        found = dict(self._open())
        cpsr = found["cpsr"]
        for number in range(1, 15):
            found["r%d" % number] = core.read(number)
        if cpsr & _MODE not in (_USER, _SYSTEM):
            found["spsr"] = core.spsr
        core.cpsr = cpsr & ~_MODE & ~_STATE | _SUPERVISOR
        found.update({"sp_svc": core.read(_SP), "lr_svc": core.read(_LR), "spsr_svc": core.spsr})
        for name, register in _SYSTEM_REGISTERS.items():
            found[name] = core.system(*register)
        core.cpsr = cpsr
        words = {each.offset: core.get(each) for each in (cortex_a.DBGVCR, cortex_a.DBGBVR0, cortex_a.DBGBCR0)}
        self._state = _Saved(found, words)
        return len(found)

    def prepare(self) -> None:
        """Hold interrupts back, and have aborts halt the core."""
        self._core.control(HDBGen=1, INTdis=1)
        both = cortex_a.DBGDIDR.get(self._core.get(cortex_a.DBGDIDR), "SE_imp")
        self._core.set(cortex_a.DBGVCR, _CATCH | (_NON_SECURE_CATCH if both else 0))
        self._core.set(cortex_a.DBGBCR0, 0)

    def restore(self) -> List[str]:
        """Put everything back, and read it again.

        :returns: What is not as it was, one line each.
        """
        core = self._core
        self._open()
        wanted, words = self._state
        cpsr = wanted["cpsr"]
        core.cpsr = cpsr & ~_MODE & ~_STATE | _SUPERVISOR | _MASKS
        for name, register in _SYSTEM_REGISTERS.items():
            core.set_system(*register, wanted[name])
        core.spsr = wanted["spsr_svc"]
        core.write(_SP, wanted["sp_svc"])
        core.write(_LR, wanted["lr_svc"])
        core.cpsr = cpsr
        if "spsr" in wanted:
            core.spsr = wanted["spsr"]
        for number in range(1, 15):
            core.write(number, wanted["r%d" % number])
        for offset, value in words.items():
            core.set(cortex_a.PAGE.by_offset[offset], value)
        # The PC is the last, and cannot be read again.
        found = self._read_again()
        wrong = [
            "%s was 0x%08x and is 0x%08x" % (name, wanted[name], value)
            for name, value in found.items()
            if wanted[name] != value
        ]
        wrong += [
            "%s was 0x%08x and is 0x%08x" % (cortex_a.PAGE.by_offset[offset].name, value, now)
            for offset, value in words.items()
            for now in (core.get(cortex_a.PAGE.by_offset[offset]),)
            if value != now
        ]
        self.put_word_back()
        return wrong

    def _read_again(self) -> Dict[str, int]:
        core = self._core
        found = {"r%d" % number: core.read(number) for number in range(1, 15)}
        found["cpsr"] = core.cpsr
        return found

    # Running.

    def enter(self, address: int, stack: int, **registers: int) -> None:
        """Set the next instruction, of A32, stack pointer and some registers."""
        core = self._core
        self._open()
        core.cpsr = core.cpsr & ~_MODE & ~_STATE | _SUPERVISOR | _MASKS
        core.write(_SP, stack)
        core.jump(address)
        self._jumped = address
        for name, value in sorted(registers.items(), reverse=True):
            # R0 is the last.
            core.write(int(name[1:]), value)

    @property
    def pc(self) -> int:
        """Address of the next instruction."""
        return self.registers()["pc"]

    def registers(self) -> Dict[str, int]:
        """Read PC and CPSR; R0 stays."""
        core = self._core
        kept = core.read(0)
        cpsr = core.cpsr
        pc = core.pc(cpsr) if self._jumped is None else self._jumped
        core.write(0, kept)
        return {"pc": pc, "cpsr": cpsr}

    def step(self) -> int:
        """Run one instruction.

        :returns: The address of the next one.
        :raises CaptureError: The core does not halt again.
        """
        here = self.registers()
        lanes = 3 << (here["pc"] & 2) if here["cpsr"] & _THUMB else 0xF
        self._core.set(cortex_a.DBGBVR0, here["pc"] & ~3)
        self._core.set(cortex_a.DBGBCR0, cortex_a.DBGBCR0.encode(BT=_MISMATCH, BAS=lanes, PMC=3, E=1))
        try:
            return self.run()
        finally:
            self._core.set(cortex_a.DBGBCR0, 0)

    def run(self) -> int:
        """Run until a BKPT or an abort halts the core.

        :returns: The address of the next instruction.
        :raises CaptureError: It does not halt by itself; it was halted then.
        """
        self._core.restart()
        self._jumped = None
        try:
            self._core.await_halt("the program did not come to its BKPT")
        except CaptureError:
            self._core.halt()
            self._core.control(ITRen=1)
            raise
        self._core.control(ITRen=1)
        return self.pc

    def why(self) -> str:
        """Say by its registers why it halted."""
        status = self._core.get(cortex_a.DBGDSCR)
        moe = cortex_a.DBGDSCR.fields["MOE"].words(cortex_a.DBGDSCR.get(status, "MOE"))
        values = self._core.system(*_DFSR), self._core.system(*_IFSR)
        return "DBGDSCR.MOE %s, DFSR 0x%08x, IFSR 0x%08x" % (moe, *values)

    def forget_code(self, address: int, size: int) -> None:
        """Have the core fetch code anew that its stores wrote (B2.2.9)."""
        core = self._core
        if core.system(*_SCTLR) & _CACHES:
            for line in range(address & -_LINE, address + size, _LINE):
                core.set_system(*_DCCMVAU, line)
            core.set_system(*_DSB, 0)
            core.set_system(*_ICIALLU, 0)
            core.set_system(*_BPIALL, 0)
            core.set_system(*_DSB, 0)
            core.set_system(*_ISB, 0)

    def check_exception(self) -> None:
        """See that an SVC is taken by vectors that can be moved.

        :raises StepSkipped: It is not.
        """
        control = self._core.system(*_SCTLR)
        if control & (_HIGH_VECTORS | _THUMB_EXCEPTIONS):
            raise StepSkipped("the vectors are not at VBAR, or in T32 (SCTLR is 0x%08x)" % control)
        if not cortex_a.DBGDIDR.get(self._core.get(cortex_a.DBGDIDR), "SE_imp"):
            raise StepSkipped("the core has no VBAR (DBGDIDR.SE_imp is 0)")

    @contextmanager
    def vectors_at(self, base: int) -> Iterator[None]:
        """Have exceptions taken by the vectors at an address.

        :raises StepSkipped: VBAR does not keep it.
        """
        before = self._core.system(*_VBAR)
        self._core.set_system(*_VBAR, base)
        try:
            if self._core.system(*_VBAR) != base:
                raise StepSkipped("the vector table cannot be moved into RAM (VBAR does not keep 0x%08x)" % base)
            yield
        finally:
            self._core.set_system(*_VBAR, before)


_NAMES = {_MONITOR: "Monitor", _HYP: "Hyp"}
_SYSTEM_REGISTERS = {"dfsr": _DFSR, "dfar": _DFAR, "ifsr": _IFSR, "ifar": _IFAR}
