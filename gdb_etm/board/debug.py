"""Debug registers of the System Control Space (DDI 0553, B12 and D1.2)."""

from __future__ import annotations

from unicorn import arm_const

from gdb_etm.board import frame
from gdb_etm.board.cortex_m import CortexMCore
from gdb_etm.board.status import DFSR_HALTED

_DFSR = 0xD30
_DHCSR = 0xDF0
_DCRSR = 0xDF4
_DCRDR = 0xDF8
_DEMCR = 0xDFC

_DBGKEY = 0xA05F
_C_DEBUGEN = 1 << 0
_C_HALT = 1 << 1
_C_STEP = 1 << 2
_C_MASKINTS = 1 << 3
_S_REGRDY = 1 << 16
_S_HALT = 1 << 17
_S_SLEEP = 1 << 18
_S_LOCKUP = 1 << 19
_S_RETIRE_ST = 1 << 24
_S_RESET_ST = 1 << 25
_DEMCR_WRITABLE = 0x010007F1

_MASKS = (
    (0, arm_const.UC_ARM_REG_PRIMASK, 0x01),
    (8, arm_const.UC_ARM_REG_BASEPRI, 0xF0),
    (16, arm_const.UC_ARM_REG_FAULTMASK, 0x01),
    (24, arm_const.UC_ARM_REG_CONTROL, 0x07),
)
# DCRSR.REGSEL of what is one Unicorn register.
_PLAIN = {
    **{number: register for number, register in enumerate(frame.R)},
    13: frame.SP,
    14: frame.LR,
    17: frame.MSP,
    18: frame.PSP,
    33: frame.FPSCR,
}
# Without the Security Extension the limits are those of Non-secure state.
_PC, _XPSR, _CFBP, _MSPLIM, _PSPLIM, _S0 = 15, 16, 20, 30, 31, 64


class DebugRegisters:
    """Registers by which a debugger halts, steps and inspects the core.

    Software reads them all, and writes only DEMCR and DFSR.

    :param core: The core.
    """

    offsets = frozenset((_DFSR, _DHCSR, _DCRSR, _DCRDR, _DEMCR))

    def __init__(self, core: CortexMCore) -> None:
        self._core = core
        self._dcrdr = 0

    def request_reset(self) -> None:
        """Reset the system, at once or after the current instruction."""
        if self._core.engine.running:
            self._core.reset_wanted = True
        else:
            self._core.reset()

    def read(self, offset: int) -> int:
        """Read a register by its offset in the System Control Space."""
        if offset == _DHCSR:
            return self._read_dhcsr()
        return {_DFSR: self._core.dfsr, _DCRDR: self._dcrdr, _DEMCR: self._core.demcr}.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register by its offset in the System Control Space."""
        if offset == _DFSR:
            self._core.dfsr &= ~value
        elif offset == _DEMCR:
            self._core.demcr = value & _DEMCR_WRITABLE
        elif self._core.engine.running:
            return
        elif offset == _DHCSR and value >> 16 == _DBGKEY:
            self._write_dhcsr(value)
        elif offset == _DCRDR:
            self._dcrdr = value
        elif offset == _DCRSR and self._core.halted:
            if value >> 16 & 1:
                self._write_register(value & 0x7F, self._dcrdr)
            else:
                self._dcrdr = self._read_register(value & 0x7F)

    def _read_dhcsr(self) -> int:
        core = self._core
        value = 0
        for bit, is_set in (
            (_C_DEBUGEN, core.debug_enabled),
            (_C_HALT, core.halted),
            (_C_STEP, core.stepping),
            (_C_MASKINTS, core.interrupts_masked),
            (_S_REGRDY, core.halted),
            (_S_HALT, core.halted),
            (_S_SLEEP, core.sleeping),
            (_S_LOCKUP, core.locked_up and not core.halted),
            (_S_RETIRE_ST, core.retired),
            (_S_RESET_ST, core.was_reset),
        ):
            value |= bit if is_set else 0
        # Both are sticky until they are read.
        core.retired = core.was_reset = False
        return value

    def _write_dhcsr(self, value: int) -> None:
        core = self._core
        core.debug_enabled = bool(value & _C_DEBUGEN)
        if core.halted or not core.debug_enabled:
            core.interrupts_masked = core.debug_enabled and bool(value & _C_MASKINTS)
        core.refresh_breakpoints()
        if core.debug_enabled and value & _C_HALT:
            core.halt(DFSR_HALTED)
        elif core.halted:
            core.resume(core.debug_enabled and bool(value & _C_STEP))

    def _read_register(self, number: int) -> int:
        engine = self._core.engine
        if number in _PLAIN:
            # R13 is the stack pointer of the mode that the core is in.
            read = engine.read if number == 13 else engine.read_special
            return read(_PLAIN[number]) & 0xFFFFFFFF
        if number == _PC:
            return engine.pc
        if number == _XPSR:
            return engine.xpsr
        if number == _CFBP:
            return sum((engine.read_special(register) & mask) << shift for shift, register, mask in _MASKS)
        if number in (_MSPLIM, _PSPLIM):
            return engine.stack_limit(number == _PSPLIM)
        if _S0 <= number < _S0 + 32:
            pair = engine.read(frame.D[(number - _S0) >> 1])
            return pair >> 32 * (number & 1) & 0xFFFFFFFF
        return 0

    def _write_register(self, number: int, value: int) -> None:
        engine = self._core.engine
        if number in _PLAIN:
            write = engine.write if number == 13 else engine.write_special
            write(_PLAIN[number], value & ~3 if number in (13, 17, 18) else value)
        elif number == _PC:
            engine.jump(value)
        elif number == _XPSR:
            engine.xpsr = value
        elif number == _CFBP:
            for shift, register, mask in _MASKS:
                engine.write_special(register, value >> shift & mask)
            engine.refresh_privilege()
        elif number in (_MSPLIM, _PSPLIM):
            engine.set_stack_limit(number == _PSPLIM, value & ~7)
        elif _S0 <= number < _S0 + 32:
            register, shift = frame.D[(number - _S0) >> 1], 32 * (number & 1)
            engine.write(register, (engine.read(register) & ~(0xFFFFFFFF << shift)) | value << shift)
