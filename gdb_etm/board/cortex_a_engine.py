"""The engine of a Cortex-A: A32 and T32 code under Unicorn.

Unicorn is 2.1.4; the MMU is off.

Unicorn keeps the privilege that it found when code last changed it, whatever is written to CPSR; an MSR on a hidden
page makes it look again.  Interrupts are taken between blocks, or where a count of instructions ends, but never inside
an IT block.  What a device wants after it was written to happens at the end of the block.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.bus import Bus
from gdb_etm.board.cortex_a_path import CortexABlock, make_block
from gdb_etm.board.emulator import FOREVER, STUBS, Emulator, emu_start
from gdb_etm.board.path import BlockPath
from gdb_etm.board.registers import CORTEX_A
from gdb_etm.board.stops import RunEnd, RunResult

CPSR_T = 1 << 5

# CRn, CRm, opc1 and opc2 of a register of the system control coprocessor.
SystemRegister = Tuple[int, int, int, int]

SCR: SystemRegister = (1, 1, 0, 0)
_IT_BITS = 0x0600FC00
_R0 = arm_const.UC_ARM_REG_R0
_MSR_CPSR_R0 = bytes.fromhex("00f021e1")


class CortexAEngine(Emulator):
    """The core's registers and instructions.

    :param bus: What the core reaches.
    :param model: The end of Unicorn's name for the core.
    """

    def __init__(self, bus: Bus, model: str) -> None:
        super().__init__(bus, const.UC_MODE_ARM, model, CORTEX_A, {0: _MSR_CPSR_R0})
        self._path: BlockPath[CortexABlock] = BlockPath(bus.code, make_block)
        self._blocks: List[CortexABlock] = []

    def read_system(self, register: SystemRegister, secure: bool) -> int:
        """Read a register of the system control coprocessor.

        :param secure: Which of its two banks.
        """
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_CP_REG, (15, 0, int(secure), *register)))

    def write_system(self, register: SystemRegister, secure: bool, value: int) -> None:
        """Write a register of the system control coprocessor."""
        self._uc.reg_write(arm_const.UC_ARM_REG_CP_REG, (15, 0, int(secure), *register, value))

    def change_mode(self, cpsr: int) -> None:
        """Write CPSR with another mode, as exceptions do; the PC is lost."""
        # Unicorn refuses Monitor mode in Non-secure state.
        scr = self.read_system(SCR, True)
        self.write_system(SCR, True, 0)
        self._uc.reg_write(arm_const.UC_ARM_REG_CPSR, cpsr)
        self.write_system(SCR, True, scr)
        saved, self._in_stub = self.read(_R0), True
        self.write(_R0, self.cpsr)
        emu_start(self._uc._uch, STUBS, STUBS + len(_MSR_CPSR_R0), 0, 0)
        self.write(_R0, saved)
        self._in_stub = False

    @property
    def cpsr(self) -> int:
        """The program status register."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_CPSR))

    @property
    def pc(self) -> int:
        """The next instruction: its address, with bit 0 set in Thumb state."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_PC)) & ~1 | bool(self.cpsr & CPSR_T)

    @pc.setter
    def pc(self, value: int) -> None:
        self._uc.reg_write(arm_const.UC_ARM_REG_PC, value)

    @property
    def in_it_block(self) -> bool:
        """Whether the next instruction is in an IT block."""
        return bool(self.cpsr & _IT_BITS)

    def run(self, limit: int) -> RunResult:
        """Run one to `limit` instructions, IT blocks whole, until something happens."""
        if self.in_it_block:
            return self._go(1)
        self._left = limit
        found = self._go(0)
        if found.executed or found.stop is not RunEnd.LIMIT or not self._held:
            return found
        # The first block is longer.
        return self._go(limit)

    def _go(self, count: int) -> RunResult:
        """Let Unicorn run, and find out what happened.

        It counts instructions if `count` is not 0.
        """
        self._begin(count)
        error = self._start(self.pc, 0xFFFFFFFF, count)
        executed = self._path.walk(self._blocks, None if self._held else self.pc)
        self.registers.complete([address & ~1 for address in executed] if self.registers.wanted else ())
        return self._outcome(executed, error)

    def _begin(self, count: int) -> None:
        self._clear()
        self._blocks.clear()
        # Where Unicorn counts, it is asked to stop in the first block.
        self._stopping = count > 0
        if count:
            self._left = FOREVER
        if self.registers.begin() or self._stale:
            self._forget()

    def _outcome(self, executed: List[int], error: int) -> RunResult:
        """Name the reason for which Unicorn stopped."""
        stopped = self._stopped(executed)
        if stopped is not None:
            return stopped
        last = (
            self._blocks[-1] if self._blocks and executed and executed[-1] == self._blocks[-1].addresses[-1] else None
        )
        if error == const.UC_ERR_INSN_INVALID and not (last is not None and last.pauses):
            return RunResult(executed, RunEnd.UNDEFINED)
        if error not in (const.UC_ERR_OK, const.UC_ERR_INSN_INVALID):
            raise self._failure(error)
        if last is not None and last.returns:
            return RunResult(executed, RunEnd.RETURNED)
        return RunResult(executed, RunEnd.WFI if last is not None and last.waits else RunEnd.LIMIT)

    def _where(self) -> int:
        return self.pc

    def _may_write(self) -> bool:
        self._stopping = True
        return True

    def _on_block(self, uc: Any, address: int, size: int, _data: Any) -> None:
        if self._in_stub:
            return
        address |= bool(uc.reg_read(arm_const.UC_ARM_REG_CPSR) & CPSR_T)
        block = self._path.known.get(address)
        if block is None or block.size != size:
            block = self._path.block(address, size)
        self._left -= len(block.addresses)
        started = bool(self._blocks)
        if self._left < 0 or started and (self._stopping or self._blocks[-1].changes):
            self._held = True
            uc.emu_stop()
        else:
            self._blocks.append(block)
