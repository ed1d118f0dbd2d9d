"""The engine of a Cortex-A: A32 and T32 code under Unicorn.

Unicorn is 2.1.4; the MMU is off.

Unicorn keeps the privilege that it found when code last changed it, whatever is written to CPSR; an MSR on a hidden
page makes it look again.  Interrupts are taken between blocks, or where a count of instructions ends, but never inside
an IT block.  What a device wants after it was written to happens at the end of the block.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterable, List, Tuple

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.bus import Bus
from gdb_etm.board.cortex_a_path import CortexABlock, make_block
from gdb_etm.board.cortex_a_watch import AccessNotes
from gdb_etm.board.emulator import FOREVER, STUBS, STUBS_SIZE, Emulator, emu_start
from gdb_etm.board.path import BlockPath
from gdb_etm.board.registers import CORTEX_A
from gdb_etm.board.stops import RunEnd, RunResult
from gdb_etm.program.isa import is_wide

CPSR_T = 1 << 5

# CRn, CRm, opc1 and opc2 of a register of the system control coprocessor.
SystemRegister = Tuple[int, int, int, int]

SCR: SystemRegister = (1, 1, 0, 0)
_NON_SECURE = 1
_MODE, _MONITOR = 0x1F, 0x16
_IT_BITS = 0x0600FC00
_R0 = arm_const.UC_ARM_REG_R0
_MSR_CPSR_R0 = bytes.fromhex("00f021e1")
# Where a debugger's instructions begin on the hidden page, each 8 bytes after the other, and where they end: a count of
# one does not hold Unicorn after an instruction of an IT block.
_DEBUG_STUBS = range(STUBS + 0x100, STUBS + STUBS_SIZE, 8)
_STUB_EXITS = frozenset([STUBS + len(_MSR_CPSR_R0), *(at + 4 for at in _DEBUG_STUBS)])
_NO_BREAKPOINTS: FrozenSet[int] = frozenset()


class CortexAEngine(Emulator):
    """The core's registers and instructions.

    :param bus: What the core reaches.
    :param model: The end of Unicorn's name for the core.
    """

    def __init__(self, bus: Bus, model: str) -> None:
        super().__init__(bus, const.UC_MODE_ARM, model, CORTEX_A, {0: _MSR_CPSR_R0})
        self._path: BlockPath[CortexABlock] = BlockPath(bus.code, make_block)
        self._blocks: List[CortexABlock] = []
        self._breakpoints = self._exits = _NO_BREAKPOINTS
        self._debug_stubs: Dict[int, int] = {}
        # Whether it runs instructions of the program.
        self.running = False
        self.watch = AccessNotes(self._uc)
        self._uc.ctl_exits_enabled(True)
        self._uc.ctl_set_exits(sorted(_STUB_EXITS))

    def set_breakpoints(self, addresses: Iterable[int]) -> None:
        """Stop before the instructions at these addresses."""
        self._breakpoints = frozenset(addresses)
        self._set_exits(self._breakpoints)

    def _set_exits(self, addresses: FrozenSet[int]) -> None:
        if addresses != self._exits:
            self._exits = addresses
            self._uc.ctl_set_exits(sorted(addresses | _STUB_EXITS))
            self._uc.ctl_flush_tb()

    @property
    def is_at_breakpoint(self) -> bool:
        """Whether the next instruction is where it stops."""
        return self.pc & ~1 in self._breakpoints

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
        emu_start(self._uc._uch, STUBS, 0, 0, 1)
        self.write(_R0, saved)
        self._in_stub = False

    @property
    def cpsr(self) -> int:
        """The program status register."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_CPSR))

    @property
    def non_secure(self) -> bool:
        """Whether it is in Non-secure state."""
        return self.cpsr & _MODE != _MONITOR and bool(self.read_system(SCR, True) & _NON_SECURE)

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

    def execute(self, opcode: int) -> RunResult:
        """Run an A32 instruction that is nowhere in memory.

        The PC and the state stay as they are.
        """
        pc, state = self.pc, self.cpsr & (_IT_BITS | CPSR_T)
        at = self._debug_stubs.get(opcode)
        if at is None:
            if len(self._debug_stubs) == len(_DEBUG_STUBS):
                self._debug_stubs.clear()
                self._uc.ctl_flush_tb()
            at = self._debug_stubs[opcode] = _DEBUG_STUBS[len(self._debug_stubs)]
            self._uc.mem_write(at, opcode.to_bytes(4, "little"))
        self._uc.reg_write(arm_const.UC_ARM_REG_CPSR, self.cpsr & ~(_IT_BITS | CPSR_T))
        self._clear()
        self._blocks.clear()
        self._in_stub = True
        error = self._start(at, 0xFFFFFFFF, 1)
        self._in_stub = False
        found = self._outcome([], error)
        self.registers.clear()
        self._uc.reg_write(arm_const.UC_ARM_REG_CPSR, self.cpsr & ~(_IT_BITS | CPSR_T) | state)
        self.pc = pc
        # It may have been a store.
        self._stale = True
        return found

    def step(self) -> RunResult:
        """Run one instruction, also one of an IT block whose condition fails."""
        pc, cpsr = self.pc, self.cpsr
        code = int.from_bytes(self._bus.code(pc & ~1, 2), "little")
        following = (pc & ~1) + (4 if not pc & 1 or is_wide(code) else 2)
        is_it = bool(pc & 1) and code & 0xFF00 == 0xBF00 and bool(code & 0xF)
        # Unicorn does not count those whose condition fails.
        self._set_exits(frozenset((following,)) if is_it or self.in_it_block else _NO_BREAKPOINTS)
        found = self._go(1)
        self._set_exits(self._breakpoints)
        if cpsr & _IT_BITS and found.executed and self.pc & ~1 == following:
            # A hook on accesses leaves the IT state behind.
            self._uc.reg_write(arm_const.UC_ARM_REG_CPSR, self.cpsr & ~_IT_BITS | _advanced(cpsr) & _IT_BITS)
        return found

    def run(self, limit: int) -> RunResult:
        """Run one to `limit` instructions, IT blocks whole, until something happens."""
        if self.in_it_block:
            return self._go(1)
        if self.is_at_breakpoint:
            return self.step()
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
        self.running = True
        try:
            error = self._start(self.pc, 0xFFFFFFFF, count)
        finally:
            self.running = False
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
        self.watch.found.clear()
        if True in (self.registers.begin(), self.watch.begin()) or self._stale:
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


def _advanced(cpsr: int) -> int:
    # CPSR with the IT state after an instruction of the block (DDI 0406C, A2.5.2, ITAdvance).
    state = cpsr >> 25 & 3 | cpsr >> 8 & 0xFC
    state = 0 if not state & 7 else state & 0xE0 | state << 1 & 0x1F
    return (state & 3) << 25 | (state & 0xFC) << 8
