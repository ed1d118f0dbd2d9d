"""The engine of a Cortex-M: Unicorn 2.1.4, made exact.

What Unicorn does otherwise than a core, and what is done about it:

- A hook on memory accesses leaves IT state when it fires inside an IT block, and the code after the block then
  runs as if conditional. So there is none but in :mod:`gdb_etm.board.watch`, which takes it away; devices are MMIO
  regions, and faults have their own hooks.
- The hook on instructions is silent for those whose condition fails. So blocks are hooked, see
  :mod:`gdb_etm.board.path`.
- A request to stop inside an IT block is lost, and a failing store does not end the block there. So a stop is asked
  for again at the next block, which has not run, and after a failing store registers and RAM are put back. An IT block
  runs as a whole.
- A request to stop from within a store takes effect before the store is complete. So outside of IT blocks such a store
  is first left undone, and then run as a single instruction.
- Addresses to stop at are part of the translated code. So it is thrown away when they change.
- The privilege that translated code was made for is not looked at again when registers are written. An MSR on a hidden
  page does that.
"""

from __future__ import annotations

from typing import Any, Callable, FrozenSet, Iterable, List, Optional

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.bus import Bus
from gdb_etm.board.conditions import ConditionWatch
from gdb_etm.board.emulator import FOREVER, STUBS, STUBS_SIZE, Emulator, emu_start
from gdb_etm.board.exceptions import HARD_FAULT
from gdb_etm.board.models import CoreModel
from gdb_etm.board.path import CortexMBlock, CortexMPath
from gdb_etm.board.registers import CORTEX_M
from gdb_etm.board.stops import RunEnd, RunResult
from gdb_etm.board.t32 import T32Instruction, condition_passes
from gdb_etm.board.watch import AccessGuard, AccessWatch

# Instructions on the engine's own page, each at its offset.
_MSR_PSP_R0, _MRS_R0_MSPLIM, _MRS_R0_PSPLIM, _MSR_MSPLIM_R0, _MSR_PSPLIM_R0 = range(0, 40, 8)
_STUB_CODE = {
    _MSR_PSP_R0: "80f30988",
    _MRS_R0_MSPLIM: "eff30a80",
    _MRS_R0_PSPLIM: "eff30b80",
    _MSR_MSPLIM_R0: "80f30a88",
    _MSR_PSPLIM_R0: "80f30b88",
}
_R0 = arm_const.UC_ARM_REG_R0
_GENERAL = [_R0 + number for number in range(13)]
_GENERAL += [arm_const.UC_ARM_REG_SP, arm_const.UC_ARM_REG_LR, arm_const.UC_ARM_REG_PC]
_PSP = arm_const.UC_ARM_REG_PSP
XPSR_T = 1 << 24
_IT_BITS = 0x0600FC00
_IPSR = 0x1FF
_CONTROL, _NPRIV = arm_const.UC_ARM_REG_CONTROL, 1
_NOPS = bytes.fromhex("00bf00bf")


class CortexMEngine(Emulator):
    """The core's registers and instructions.

    :param bus: What the core reaches.
    :param model: Which core it is.
    """

    def __init__(self, bus: Bus, model: CoreModel) -> None:
        stubs = {offset: bytes.fromhex(code) + _NOPS for offset, code in _STUB_CODE.items()}
        super().__init__(bus, const.UC_MODE_THUMB | const.UC_MODE_MCLASS, model.unicorn, CORTEX_M, stubs)
        self._has_stack_limits = model.has_stack_limits
        self._path: CortexMPath = CortexMPath(bus.code, lambda: self.it_state, model.lacks)
        self._breakpoints: FrozenSet[int] = frozenset()
        self.watch_masks = False
        self.floating_point = False
        self.traps_division = False
        self.running = False
        self._before = 0
        self._blocks: List[CortexMBlock] = []
        self._limit = 0
        self._single = False
        self._postponed = False
        self.watch = AccessWatch(self._uc, bus, self._blocks)
        self.guard = AccessGuard(self._uc, self._refuse)
        # Tells whether code at an address may run, while the guard is wanted.
        self.may_execute: Callable[[int], bool] = lambda address: True
        self.conditions = ConditionWatch(self._uc)
        self._uc.ctl_exits_enabled(True)
        self._uc.ctl_set_exits([])

    @property
    def pc(self) -> int:
        """The address of the next instruction."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_PC))

    @property
    def xpsr(self) -> int:
        """Flags, IT state, T bit and exception number."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_XPSR))

    @xpsr.setter
    def xpsr(self, value: int) -> None:
        self._uc.reg_write(arm_const.UC_ARM_REG_XPSR_NZCVQG, value)

    @property
    def it_state(self) -> int:
        """ITSTATE, not 0 inside of an IT block."""
        xpsr = self.xpsr
        return xpsr >> 25 & 3 | xpsr >> 8 & 0xFC

    def jump(self, address: int) -> None:
        """Set the PC; the T bit stays."""
        thumb = bool(self.xpsr & XPSR_T)
        self._uc.reg_write(arm_const.UC_ARM_REG_PC, address & ~1 | thumb)

    def set_breakpoints(self, addresses: Iterable[int]) -> None:
        """Stop before the instructions at these addresses."""
        wanted = frozenset(addresses)
        if wanted != self._breakpoints:
            self._breakpoints = wanted
            self._set_exits(wanted)

    def _set_exits(self, addresses: Iterable[int]) -> None:
        self._uc.ctl_set_exits(sorted(addresses))
        self._uc.ctl_flush_tb()

    def _where(self) -> int:
        return self.pc

    def _on_device_read(self, value: int) -> None:
        self.watch.device_read(value)

    def _may_write(self) -> bool:
        if self._fault is not None:
            return False
        self._stopping = True
        if self._single or self.pc in self._blocks[-1].conditional:
            return True
        self._postponed = True
        self._uc.emu_stop()
        return False

    def elapsed(self) -> int:
        """Return how many instructions of the current run are complete."""
        if not self.running or not self._blocks:
            return 0
        last = self._blocks[-1]
        return self._before + self._limit - self._left - last.length + last.index(self.pc)

    def read_special(self, register: int) -> int:
        """Read a special register by Unicorn's number, whatever the privilege."""
        xpsr = self.xpsr
        # Unicorn shows unprivileged code zeros.
        hidden = not xpsr & _IPSR and self.read(_CONTROL) & _NPRIV
        if hidden:
            self.xpsr = xpsr | HARD_FAULT
        value = self.read(register)
        if hidden:
            self.xpsr = xpsr
        return value

    def write_special(self, register: int, value: int) -> None:
        """Write a special register by Unicorn's number, whatever the privilege."""
        xpsr = self.xpsr
        # Unicorn lets only privileged code do that, and Handler mode is privileged.
        if not xpsr & _IPSR:
            self.xpsr = xpsr | HARD_FAULT
        self.write(register, value)
        if not xpsr & _IPSR:
            self.xpsr = xpsr

    def refresh_privilege(self) -> None:
        """Make Unicorn update its privilege.

        It looks at CONTROL.nPRIV and the exception number again; unprivileged, the MSR does only that.
        """
        self._run_stub(_MSR_PSP_R0, self.read(_PSP))

    def stack_limit(self, process: bool) -> int:
        """Return PSPLIM or MSPLIM."""
        if not self._path.sets_limits or not self._has_stack_limits:
            return 0
        return self._run_privileged(_MRS_R0_PSPLIM if process else _MRS_R0_MSPLIM, 0)

    def set_stack_limit(self, process: bool, value: int) -> None:
        """Set PSPLIM or MSPLIM, where there are any."""
        if not self._has_stack_limits:
            return
        self._path.sets_limits = True
        self._run_privileged(_MSR_PSPLIM_R0 if process else _MSR_MSPLIM_R0, value)

    def _run_privileged(self, stub: int, r0: int) -> int:
        """Run one instruction of the engine's own in Handler mode."""
        xpsr = self.xpsr
        self.xpsr = xpsr | (0 if xpsr & _IPSR else HARD_FAULT)
        result = self._run_stub(stub, r0)
        self.xpsr = xpsr
        self.refresh_privilege()
        return result

    def _run_stub(self, stub: int, r0: int) -> int:
        """Run one hidden instruction with `r0`; return its `r0`."""
        pc, saved, xpsr = self.pc, self.read(_R0), self.xpsr
        self.xpsr = (xpsr & ~_IT_BITS) | XPSR_T
        self.write(_R0, r0)
        self._begin(FOREVER)
        self._in_stub = True
        emu_start(self._uc._uch, (STUBS + stub) | 1, 0, 0, 1)
        self._in_stub = False
        self._blocks.clear()
        result = self.read(_R0)
        self.write(_R0, saved)
        self.xpsr = xpsr
        self.jump(pc)
        return result

    def run(self, limit: int) -> RunResult:
        """Run one to `limit` instructions, IT blocks whole, until something happens."""
        if not self.xpsr & XPSR_T:
            return RunResult([], RunEnd.INVALID_STATE)
        if self.it_state:
            stop = self._refused(self._path.instruction(self.pc))
            return self._count(1) if stop is None else RunResult([], stop)
        self._begin(limit)
        found = self._go(limit)
        if found.executed or found.stop is not RunEnd.LIMIT or not self._held:
            return found
        return self._run_inside(self._blocks[-1], limit)

    def _run_inside(self, block: CortexMBlock, limit: int) -> RunResult:
        """Run part of a block that must not run as a whole.

        It is too long, or it holds an instruction to stop before.
        """
        stops = [limit]
        if not self.floating_point and block.first_floating_point is not None:
            if block.first_floating_point == 0 and self._condition_passes():
                return RunResult([], RunEnd.NO_COPROCESSOR)
            stops.append(block.first_floating_point)
        if block.first_it is not None:
            stops.append(block.first_it)
        checked = self._first_checked(block)
        if checked == 0 and not self.it_state:
            stop = self._refused(block.instructions[0])
            if stop is not None:
                return RunResult([], stop)
        if checked is not None:
            stops.append(max(checked, 1))
        count = min(stops)
        if count <= 0 or self.it_state:
            return self.step() if self._must_step(block) else self._count(1)
        return self._count(count)

    def _must_step(self, block: CortexMBlock) -> bool:
        """Tell whether an IT block may fault, and so needs single steps."""
        no_unit = not self.floating_point and block.first_floating_point is not None
        return no_unit or self._first_checked(block) is not None

    def _first_checked(self, block: CortexMBlock) -> Optional[int]:
        """Return the first instruction that may fault by its registers."""
        division = block.first_division if self.traps_division else None
        found = [index for index in (block.first_aligned, division) if index is not None]
        return min(found, default=None)

    def _refused(self, instruction: T32Instruction) -> Optional[RunEnd]:
        """Tell which fault the next instruction takes by its registers' values."""
        base, divisor = instruction.aligned_base(), instruction.divisor()
        if base is not None and self.read(_GENERAL[base]) & 3 and self._condition_passes():
            return RunEnd.UNALIGNED
        if divisor is not None and self.traps_division and not self.read(_GENERAL[divisor]):
            return RunEnd.DIVISION if self._condition_passes() else None
        return None

    def _condition_passes(self) -> bool:
        it_state = self.it_state
        return not it_state or condition_passes(it_state >> 4, self.xpsr)

    def step(self) -> RunResult:
        """Run one instruction, also inside of an IT block."""
        if not self.xpsr & XPSR_T:
            return RunResult([], RunEnd.INVALID_STATE)
        instruction = self._path.instruction(self.pc)
        if not self.floating_point and self._path.refuses(instruction) and self._condition_passes():
            return RunResult([], RunEnd.NO_COPROCESSOR)
        refused = self._refused(instruction)
        if refused is not None:
            return RunResult([], refused)
        inside = self.it_state or instruction.is_it()
        if not inside:
            return self._count(1)
        self._set_exits(self._breakpoints | {self.pc + instruction.size})
        found = self._count(1)
        self._set_exits(self._breakpoints)
        return found

    def step_lost(self, address: int) -> RunResult:
        """Run one instruction that stores to where nothing answers."""
        with self.lost_writes(address):
            return self.step()

    def _count(self, count: int) -> RunResult:
        """Run a number of instructions that Unicorn counts, in any block."""
        self._begin(FOREVER)
        self._single = count == 1
        return self._go(count)

    def _begin(self, limit: int) -> None:
        self._clear()
        self._blocks.clear()
        self.watch.clear()
        self.conditions.clear()
        self._limit = self._left = limit
        self._single = False
        self._postponed = False

    def _go(self, count: int) -> RunResult:
        """Let Unicorn run, and find out what happened."""
        watched = self.guard.begin(), self.watch.begin(), self.conditions.begin(), self.registers.begin()
        if True in watched or self._stale:
            self._forget()
        pc = self.pc
        self.running = True
        try:
            error = self._start(pc | 1, 0, count)
        finally:
            self.running = False
        # The held block has not started; the ones before it are complete.
        whole = len(self._blocks) - self._held
        executed = self._path.walk(self._blocks[:whole], None if self._held else self.pc)
        accesses = self.watch.transfers(executed, self._path)
        failed = self.conditions.failed(executed)
        self.registers.complete(executed)
        if self._postponed:
            before = len(executed)
            self._before += before
            rest = self._count(1)
            self._before -= before
            accesses.update({before + index: tuple(found) for index, found in rest.accesses.items()})
            failed |= {before + index for index in rest.failed}
            return rest._replace(executed=executed + rest.executed, accesses=accesses, failed=failed)
        return self._outcome(executed, error)._replace(accesses=accesses, failed=failed)

    def _outcome(self, executed: List[int], error: int) -> RunResult:
        """Name the reason for which Unicorn stopped."""
        stopped = self._stopped(executed)
        if stopped is not None:
            return stopped
        if error == const.UC_ERR_OK:
            slept = bool(executed) and self._path.instruction(executed[-1]).is_wfi()
            return RunResult(executed, RunEnd.WFI if slept else RunEnd.LIMIT)
        if error == const.UC_ERR_INSN_INVALID:
            if not self.xpsr & XPSR_T:
                return RunResult(executed, RunEnd.INVALID_STATE)
            if executed and self._path.instruction(executed[-1]).is_pause():
                return RunResult(executed, RunEnd.LIMIT)
            return RunResult(executed, RunEnd.UNDEFINED)
        raise self._failure(error)

    def _on_block(self, uc: Any, address: int, size: int, _data: Any) -> None:
        if self._fault is not None:
            uc.emu_stop()
            return
        block = self._path.known.get(address)
        if block is None or block.size != size:
            block = self._path.block(address, size)
            if STUBS <= address < STUBS + STUBS_SIZE and not self._in_stub:
                self._fault = RunEnd.FETCH, address
                self._uc.emu_stop()
        if self.guard.wanted and not self._in_stub and not self.may_execute(address):
            self._fault = RunEnd.FETCH_DEVICE, address
            self._uc.emu_stop()
        self._blocks.append(block)
        self._left -= block.length
        checked = block.first_aligned is not None or self.traps_division
        if self._left < 0 or self._stopping or checked or self.watch_masks or not self.floating_point:
            self._hold_if_needed(block)

    def _hold_if_needed(self, block: CortexMBlock) -> None:
        """Hold a block that must run in parts, or not yet."""
        if self._limit == FOREVER:
            hold = self._stopping
        else:
            unmasked = self.watch_masks and len(self._blocks) > 1 and self._blocks[-2].may_unmask
            no_unit = not self.floating_point and block.first_floating_point is not None
            hold = self._left < 0 or self._stopping or unmasked or no_unit or self._first_checked(block) is not None
        if hold:
            self._held = True
            self._uc.emu_stop()
