"""The instruction sets of a Cortex-A, A32 and T32, run by Unicorn 2.1.4 with the MMU off.

Unicorn keeps the privilege that it found when code last changed it, whatever is written to CPSR; an MSR on a hidden
page makes it look again.  As with a Cortex-M (:mod:`gdb_etm.board.engine`) only blocks are hooked, devices are MMIO
regions, and after a failing store registers and RAM are put back.  Interrupts are taken between blocks, or where a
count of instructions ends, but never inside an IT block.  What a device wants after it was written to happens at the
end of the block.
"""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Tuple

from unicorn import Uc, UcError, arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.bus import FLASH_BASE, FLASH_SIZE, RAM_BASE, RAM_SIZE, Bus, BusFault
from gdb_etm.board.cortex_a_path import Block, Path
from gdb_etm.board.engine import emu_start
from gdb_etm.board.path import WrongPath
from gdb_etm.board.registers import CORTEX_A, RegisterWatch
from gdb_etm.board.stops import BY_INTERRUPT, Run, Stop

CPSR_T = 1 << 5

SystemRegister = Tuple[int, int, int, int]
"""CRn, CRm, opc1 and opc2 of a register of the system control coprocessor."""

SCR: SystemRegister = (1, 1, 0, 0)
_IT_BITS = 0x0600FC00
_R0 = arm_const.UC_ARM_REG_R0
# An instruction on a page of the engine's own, where programs have no business.
_STUB = 0x1F000000
_STUB_SIZE = 0x1000
_MSR_CPSR_R0 = bytes.fromhex("00f021e1")
_FOREVER = 1 << 30
_WRITES = (const.UC_MEM_WRITE_UNMAPPED, const.UC_MEM_WRITE_PROT)
_FETCHES = (const.UC_MEM_FETCH_UNMAPPED, const.UC_MEM_FETCH_PROT)


class Engine:
    """The core's registers and instructions.

    :param bus: What the core reaches.
    :param model: The end of Unicorn's name for the core.
    """

    def __init__(self, bus: Bus, model: str) -> None:
        self._bus = bus
        self._uc: Any = Uc(const.UC_ARCH_ARM, const.UC_MODE_ARM)
        self._uc.ctl_set_cpu_model(getattr(arm_const, "UC_CPU_ARM_" + model))
        self._path = Path(self._read_code)
        self._stale = False
        self._blocks: List[Block] = []
        self._left = 0
        self._held = False
        self._stopping = False
        self._in_stub = False
        self._interrupt = -1
        self._fault: Optional[Tuple[Stop, int]] = None
        self._undo: Optional[Tuple[Any, bytes]] = None
        self.registers = RegisterWatch(self._uc, CORTEX_A)
        self._map()
        self._uc.hook_add(const.UC_HOOK_BLOCK, self._on_block)
        self._uc.hook_add(const.UC_HOOK_INTR, self._on_interrupt)
        self._uc.hook_add(const.UC_HOOK_MEM_UNMAPPED | const.UC_HOOK_MEM_PROT, self._on_fault)

    def _map(self) -> None:
        self._memory = [(ctypes.c_char * len(part)).from_buffer(part) for part in (self._bus.flash, self._bus.ram)]
        flash, ram = (ctypes.addressof(part) for part in self._memory)
        self._uc.mem_map_ptr(FLASH_BASE, FLASH_SIZE, const.UC_PROT_READ | const.UC_PROT_EXEC, flash)
        self._uc.mem_map_ptr(RAM_BASE, RAM_SIZE, const.UC_PROT_ALL, ram)
        self._uc.mem_map(_STUB, _STUB_SIZE, const.UC_PROT_EXEC)
        self._uc.mem_write(_STUB, _MSR_CPSR_R0)

    def map_device(self, base: int, size: int) -> None:
        """Lead the core's accesses to a range of addresses to the bus."""

        def read(_uc: Any, offset: int, size: int, _data: Any) -> int:
            try:
                return self._bus.read(base + offset, size)
            except BusFault:
                return 0

        def write(_uc: Any, offset: int, size: int, value: int, _data: Any) -> None:
            self._stopping = True
            try:
                self._bus.write(base + offset, size, value & ((1 << 8 * size) - 1))
            except BusFault:
                return

        self._uc.mmio_map(base, size, read, None, write, None)

    def read(self, register: int) -> int:
        """Read a register by Unicorn's number."""
        return int(self._uc.reg_read(register))

    def write(self, register: int, value: int) -> None:
        """Write a register by Unicorn's number."""
        self._uc.reg_write(register, value)

    def read_system(self, register: SystemRegister, secure: bool) -> int:
        """Read a register of the system control coprocessor.

        :param secure: Which of its two banks.
        """
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_CP_REG, (15, 0, int(secure), *register)))

    def write_system(self, register: SystemRegister, secure: bool, value: int) -> None:
        """Write a register of the system control coprocessor."""
        self._uc.reg_write(arm_const.UC_ARM_REG_CP_REG, (15, 0, int(secure), *register, value))

    def change_mode(self, cpsr: int) -> None:
        """Write CPSR with another mode, as an exception does; the PC is lost."""
        # Unicorn refuses Monitor mode in Non-secure state.
        scr = self.read_system(SCR, True)
        self.write_system(SCR, True, 0)
        self._uc.reg_write(arm_const.UC_ARM_REG_CPSR, cpsr)
        self.write_system(SCR, True, scr)
        saved, self._in_stub = self.read(_R0), True
        self.write(_R0, self.cpsr)
        emu_start(self._uc._uch, _STUB, _STUB + len(_MSR_CPSR_R0), 0, 0)
        self.write(_R0, saved)
        self._in_stub = False

    @property
    def cpsr(self) -> int:
        """The program status register."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_CPSR))

    @property
    def place(self) -> int:
        """The next instruction: its address, with bit 0 set in Thumb state."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_PC)) & ~1 | bool(self.cpsr & CPSR_T)

    @place.setter
    def place(self, value: int) -> None:
        self._uc.reg_write(arm_const.UC_ARM_REG_PC, value)

    @property
    def in_it_block(self) -> bool:
        """Whether the next instruction is in an IT block."""
        return bool(self.cpsr & _IT_BITS)

    def code_changed(self) -> None:
        """Forget translated code before the next run: the debugger has written memory."""
        self._stale = True

    def run(self, limit: int) -> Run:
        """Run until something happens, at most `limit` instructions but at least one, and IT blocks as a whole."""
        if self.in_it_block:
            return self._go(1)
        self._left = limit
        found = self._go(0)
        if found.executed or found.stop is not Stop.LIMIT or not self._held:
            return found
        # The first block is longer.
        return self._go(limit)

    def _go(self, count: int) -> Run:
        """Let Unicorn run, and find out what happened; it counts instructions if `count` is not 0."""
        self._begin(count)
        error = emu_start(self._uc._uch, self.place, 0xFFFFFFFF, 0, count)
        if self._uc._hook_exception is not None:
            raise self._uc._hook_exception
        if self._undo is not None:
            context, ram = self._undo
            self._uc.context_restore(context)
            self._bus.ram[:] = ram
        executed = self._path.walk(self._blocks, None if self._held else self.place)
        self.registers.complete([place & ~1 for place in executed] if self.registers.wanted else ())
        return self._outcome(executed, error)

    def _begin(self, count: int) -> None:
        self._blocks.clear()
        self._held = False
        self._interrupt = -1
        self._fault = None
        self._undo = None
        # Where Unicorn counts, it is asked to stop in the first block.
        self._stopping = count > 0
        if count:
            self._left = _FOREVER
        self.registers.clear()
        if self.registers.begin() or self._stale:
            self._stale = False
            self._uc.ctl_flush_tb()
            self._path.forget()

    def _outcome(self, executed: List[int], error: int) -> Run:
        """Name the reason for which Unicorn stopped."""
        if self._fault is not None:
            return Run(executed, *self._fault)
        if self._interrupt >= 0:
            if self._interrupt not in BY_INTERRUPT:
                raise WrongPath("Unicorn raised exception %d at 0x%08x" % (self._interrupt, self.place))
            return Run(executed, BY_INTERRUPT[self._interrupt])
        last = self._blocks[-1] if self._blocks and executed and executed[-1] == self._blocks[-1].places[-1] else None
        if error == const.UC_ERR_INSN_INVALID and not (last is not None and last.pauses):
            return Run(executed, Stop.UNDEFINED)
        if error not in (const.UC_ERR_OK, const.UC_ERR_INSN_INVALID):
            raise WrongPath("Unicorn ended with '%s' at 0x%08x" % (UcError(error), self.place))
        if last is not None and last.returns:
            return Run(executed, Stop.RETURNED)
        return Run(executed, Stop.WFI if last is not None and last.waits else Stop.LIMIT)

    def _on_block(self, uc: Any, address: int, size: int, _data: Any) -> None:
        if self._in_stub:
            return
        thumb = bool(uc.reg_read(arm_const.UC_ARM_REG_CPSR) & CPSR_T)
        block = self._path.block(address | thumb, size)
        self._left -= len(block.places)
        begun = bool(self._blocks)
        if self._left < 0 or begun and (self._stopping or self._blocks[-1].changes):
            self._held = True
            uc.emu_stop()
        else:
            self._blocks.append(block)

    def _on_interrupt(self, uc: Any, number: int, _data: Any) -> None:
        self._interrupt = number
        uc.emu_stop()

    def _on_fault(self, uc: Any, kind: int, address: int, _size: int, _value: int, _data: Any) -> bool:
        if self._fault is None:
            if kind in _WRITES:
                self._fault = Stop.WRITE, address
                self._undo = uc.context_save(), bytes(self._bus.ram)
            else:
                self._fault = (Stop.FETCH if kind in _FETCHES else Stop.READ), address
        return False

    def _read_code(self, address: int, size: int) -> bytes:
        place = self._bus.memory(address, size)
        if place is None:
            return bytes(size)
        memory, offset = place
        return bytes(memory[offset : offset + size])
