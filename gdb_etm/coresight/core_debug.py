"""An Armv7-A or Armv7-R core in Debug state: registers and memory.

A debugger writes A32 instructions to DBGITR, and the core runs them, whatever state its program is in; words go to and
fro by DBGDTRRX and DBGDTRTX.  Ref: DDI 0406C, C5.3 (what they do in Debug state), C8 (the transfer channel), C11.11.

R0 is on the way of all of it: who calls keeps it.
"""

from __future__ import annotations

from typing import List, NoReturn

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import AccessError
from gdb_etm.registers import cortex_a
from gdb_etm.registers.page import Register

# MRC and MCR of DBGDTR with R0; LDC and STC of it at R0, which goes on.
_TAKE, _SEND = 0xEE100E15, 0xEE000E15
_LOAD_NEXT, _STORE_NEXT = 0xECB05E01, 0xECA05E01
_MRS_CPSR, _MSR_CPSR, _MRS_SPSR, _MSR_SPSR = 0xE10F0000, 0xE12FF000, 0xE14F0000, 0xE16FF000
_MOV_R0_PC, _MOV_PC_R0 = 0xE1A0000F, 0xE1A0F000
_ISB = 0xEE070F95
_THUMB = 1 << 5
_FAST = 2


def _system(opcode: int, crn: int, crm: int, opc2: int) -> int:
    return opcode | crn << 16 | opc2 << 5 | crm


class CoreDebugDriver:
    """The debug registers of a core.

    :param port: Where they are.
    :param base: Their address.
    :param deadline: How long an instruction may take.
    """

    def __init__(self, port: AccessPort, base: int, deadline: Deadline = Deadline()) -> None:
        self._port = port
        self._base = base
        self.deadline = deadline

    def get(self, register: Register) -> int:
        """Read a debug register."""
        return self._port.read32(self._base + register.offset)

    def set(self, register: Register, value: int) -> None:
        """Write a debug register."""
        self._port.write32(self._base + register.offset, value)

    def status(self, field: str) -> int:
        """Read a field of DBGDSCR."""
        return cortex_a.DBGDSCR.get(self.get(cortex_a.DBGDSCR), field)

    def control(self, **fields: int) -> None:
        """Change fields of DBGDSCR."""
        value = self.get(cortex_a.DBGDSCR)
        for name, wanted in fields.items():
            field = cortex_a.DBGDSCR.fields[name]
            value = value & ~field.mask | cortex_a.DBGDSCR.encode(**{name: wanted})
        self.set(cortex_a.DBGDSCR, value)

    # Run control.

    def halt(self) -> None:
        """Halt the core.

        :raises CaptureError: It does not.
        """
        self.set(cortex_a.DBGDRCR, cortex_a.DBGDRCR.encode(HRQ=1))
        self._await_halt(self.deadline, "the core does not halt: is it in reset, or without a clock?")

    def await_halt(self, hint: str) -> None:
        """Wait until a program brings the core into Debug state.

        :raises CaptureError: It does not, before the deadline of a program.
        """
        self._await_halt(self.deadline.of_program, hint)

    def _await_halt(self, deadline: Deadline, hint: str) -> None:
        deadline.wait(self._port, self._base, cortex_a.DBGDSCR, hint, HALTED=1)

    def restart(self) -> None:
        """Leave Debug state (C5.1.3).

        :raises CaptureError: It does not.
        """
        self.control(ITRen=0)
        self.set(cortex_a.DBGDRCR, cortex_a.DBGDRCR.encode(RRQ=1, CSE=1))
        self.deadline.wait(self._port, self._base, cortex_a.DBGDSCR, "the core does not restart", RESTARTED=1)

    # Instructions and words.

    def execute(self, opcode: int) -> None:
        """Have the core run an A32 instruction.

        :raises CaptureError: It does not come to its end.
        :raises AccessError: It was aborted, or is not defined.
        """
        self.set(cortex_a.DBGITR, opcode)
        words = "the core does not run an instruction of the debugger's"
        self._check(self.deadline.wait(self._port, self._base, cortex_a.DBGDSCR, words, InstrCompl_l=1), opcode)

    def _check(self, status: int, opcode: int) -> None:
        fields = cortex_a.DBGDSCR.decode(status)
        if fields["SDABORT_l"] or fields["ADABORT_l"] or fields["UND_l"]:
            self.set(cortex_a.DBGDRCR, cortex_a.DBGDRCR.encode(CSE=1))
            what = "undefined" if fields["UND_l"] else "aborted"
            raise AccessError("instruction 0x%08x in Debug state: %s" % (opcode, what), kind="fault")

    def take(self) -> int:
        """Read the word that the core has sent."""
        hint = "the core sends nothing"
        self.deadline.wait(self._port, self._base, cortex_a.DBGDSCR, hint, TXfull_l=1)
        return self.get(cortex_a.DBGDTRTX)

    def repeat(self, opcode: int, times: int) -> List[int]:
        """Have an instruction run again each time its word is read.

        This is Fast mode (C8.2.2).

        :returns: The words before each run; the last one is still to be taken.
        :raises AccessError: One of them was aborted.
        """
        self.control(ExtDCCmode=_FAST)
        try:
            self.set(cortex_a.DBGITR, opcode)
            found = self._port.read_fifo(self._base + cortex_a.DBGDTRTX.offset, times)
        finally:
            self.control(ExtDCCmode=0)
        self._check(self.get(cortex_a.DBGDSCR), opcode)
        return found

    def read(self, number: int) -> int:
        """Read R0 to R14 of the current mode."""
        self.execute(_SEND | number << 12)
        return self.take()

    def write(self, number: int, value: int) -> None:
        """Write R0 to R14 of the current mode."""
        self.set(cortex_a.DBGDTRRX, value)
        self.execute(_TAKE | number << 12)

    def _read_by(self, opcode: int) -> int:
        self.execute(opcode)
        return self.read(0)

    def _write_by(self, opcode: int, value: int) -> None:
        self.write(0, value)
        self.execute(opcode)

    @property
    def cpsr(self) -> int:
        """The program status register, with its state bits."""
        return self._read_by(_MRS_CPSR)

    @cpsr.setter
    def cpsr(self, value: int) -> None:
        self._write_by(_MSR_CPSR, value)
        self.execute(_ISB)

    @property
    def spsr(self) -> int:
        """That of the current mode, which has one."""
        return self._read_by(_MRS_SPSR)

    @spsr.setter
    def spsr(self, value: int) -> None:
        self._write_by(_MSR_SPSR, value)

    def pc(self, cpsr: int) -> int:
        """Read where the program goes on; UNKNOWN once it was written (C5.3.1)."""
        return self._read_by(_MOV_R0_PC) - (4 if cpsr & _THUMB else 8) & 0xFFFFFFFF

    def jump(self, address: int) -> None:
        """Have the program go on elsewhere.

        In the same instruction set, and after CPSR was written.
        """
        self._write_by(_MOV_PC_R0, address)

    def system(self, crn: int, crm: int, opc2: int) -> int:
        """Read a register of the system control coprocessor, of opc1 0."""
        return self._read_by(_system(0xEE100F10, crn, crm, opc2))

    def set_system(self, crn: int, crm: int, opc2: int, value: int) -> None:
        """Write a register of the system control coprocessor, of opc1 0."""
        self._write_by(_system(0xEE000F10, crn, crm, opc2), value)


class CoreMemory(MemoryPort):
    """Memory by the core's loads and stores, through MMU and caches.

    :param core: In Debug state, with ITRen.
    """

    def __init__(self, core: CoreDebugDriver) -> None:
        super().__init__("the core's loads and stores")
        self._core = core

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        self._core.write(0, address)
        self._core.set(cortex_a.DBGDTRRX, value)
        try:
            self._core.execute(_STORE_NEXT)
        except AccessError as error:
            # The word is still on its way.
            self._core.execute(_TAKE)
            self._refuse("write", address, error)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        core, found = self._core, []
        core.write(0, address)
        try:
            core.execute(_LOAD_NEXT)
            if words > 1:
                found = core.repeat(_LOAD_NEXT, words - 1)
            return [*found, core.take()]
        except AccessError as error:
            self._refuse("read", address + 4 * len(found), error)

    def _refuse(self, what: str, address: int, error: AccessError) -> NoReturn:
        if error.kind != "fault":
            raise error
        raise AccessError("cannot %s 0x%08x by the core: it was aborted" % (what, address), address, "fault") from error
