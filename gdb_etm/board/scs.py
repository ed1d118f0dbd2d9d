"""The System Control Space at 0xE000E000 (DDI 0553, D1.2).

NVIC, SysTick, System Control Block and debug registers.
"""

from __future__ import annotations

from typing import Callable, Dict

from gdb_etm.board import exceptions as exc
from gdb_etm.board import mpu
from gdb_etm.board.cortex_m import CortexMCore
from gdb_etm.board.debug import DebugRegisters
from gdb_etm.board.status import DIV_0_TRP, UNALIGN_TRP
from gdb_etm.board.systick import SysTick

_VECTKEY = 0x05FA
_SYSRESETREQ = 1 << 2

# ICSR, CFSR, HFSR and DFSR.
_ZERO_HAS_NO_EFFECT = frozenset((0xD04, 0xD28, 0xD2C, 0xD30))

# ICSR bits that set or clear a pending exception.
_ICSR_SET = {31: exc.NMI, 28: exc.PENDSV, 26: exc.SYSTICK}
_ICSR_CLEAR = {27: exc.PENDSV, 25: exc.SYSTICK}
# SHCSR bits.
_ACTIVE = {
    0: exc.MEM_MANAGE,
    1: exc.BUS_FAULT,
    2: exc.HARD_FAULT,
    3: exc.USAGE_FAULT,
    5: exc.NMI,
    7: exc.SVCALL,
    10: exc.PENDSV,
    11: exc.SYSTICK,
}
_PENDED = {12: exc.USAGE_FAULT, 13: exc.MEM_MANAGE, 14: exc.BUS_FAULT, 15: exc.SVCALL}
_ENABLED = {16: exc.MEM_MANAGE, 17: exc.BUS_FAULT, 18: exc.USAGE_FAULT}
_CONFIGURABLE = range(exc.MEM_MANAGE, exc.IRQ0)
# What a Baseline has not: of SHCSR no more than SVCALLPENDED.
_MAINLINE = (0xD24, 0xD28, 0xD2C, 0xD34, 0xD38, 0xD88, 0xF00, 0xF34, 0xF38)


class SystemControlSpace:
    """The registers of the core on the bus.

    :param core: The core.
    :param systick: Its timer.
    """

    base = 0xE000E000
    size = 0x1000

    def __init__(self, core: CortexMCore, systick: SysTick) -> None:
        self._core = core
        self._fixed = core.model.scs
        self._systick = systick
        self._debug = DebugRegisters(core)
        self._prigroup = 0
        status = core.status
        self._readers: Dict[int, Callable[[], int]] = {
            0x008: lambda: core.write_buffer.actlr,
            0xD04: self._read_icsr,
            0xD08: lambda: status.vtor,
            0xD0C: lambda: 0xFA05 << 16 | self._prigroup << 8,
            0xD10: lambda: status.scr,
            0xD14: lambda: self._fixed[0xD14] | status.ccr,
            0xD24: self._read_shcsr,
            0xD28: lambda: status.cfsr,
            0xD2C: lambda: status.hfsr,
            0xD34: lambda: status.mmfar,
            0xD38: lambda: status.bfar,
            0xD88: lambda: status.cpacr,
            0xF34: lambda: status.fpccr,
            0xF38: lambda: status.fpcar,
        }
        self._writers: Dict[int, Callable[[int], None]] = {
            0x008: self._write_actlr,
            0xD04: self._write_icsr,
            0xD08: self._write_status("vtor", 0xFFFFFF80),
            0xD0C: self._write_aircr,
            0xD10: self._write_status("scr", 0x16),
            0xD14: self._write_ccr,
            0xD24: self._write_shcsr,
            0xD28: self._clear_status("cfsr"),
            0xD2C: self._clear_status("hfsr"),
            0xD34: self._write_status("mmfar", 0xFFFFFFFF),
            0xD38: self._write_status("bfar", 0xFFFFFFFF),
            0xD88: self._write_cpacr,
            0xF00: self._write_stir,
            0xF34: self._write_status("fpccr", 1 << 31),
            0xF38: self._write_status("fpcar", 0xFFFFFFF8),
        }

        if core.model.is_baseline:
            # Neither fault status nor what enables faults (Armv6-M ARM, B3.2.2; Armv8-M ARM, D1.1).
            for offset in _MAINLINE:
                self._readers.pop(offset, None)
                self._writers.pop(offset, None)
            self._readers[0xD24] = lambda: self._read_shcsr() & 1 << 15

    def reset(self) -> None:
        """Take the values after a reset of the core; debug registers stay."""
        self._prigroup = 0

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset in self._readers:
            return self._readers[offset]()
        if offset in self._fixed:
            return self._fixed[offset]
        if 0x010 <= offset < 0x020:
            return self._systick.read(offset - 0x010)
        if 0x100 <= offset < 0x3F0:
            return self._read_nvic(offset)
        if 0x400 <= offset < 0x400 + exc.IRQS:
            return self._read_priorities(exc.IRQ0 + offset - 0x400)
        if 0xD18 <= offset < 0xD24:
            return self._read_priorities(4 + offset - 0xD18)
        if offset in DebugRegisters.offsets:
            return self._debug.read(offset)
        return self._core.mpu.read(offset) if offset in mpu.OFFSETS else 0

    def write_part(self, offset: int, value: int, mask: int) -> None:
        """Write bytes of a register.

        Where a 0 has no effect, the other bytes are written as 0.
        """
        if offset in _ZERO_HAS_NO_EFFECT or 0x100 <= offset < 0x300:
            self.write32(offset, value)
        else:
            self.write32(offset, (self.read32(offset) & ~mask) | value)

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if 0x010 <= offset < 0x020:
            self._systick.write(offset - 0x010, value)
        elif 0x100 <= offset < 0x300:
            self._write_nvic(offset, value)
        elif 0x400 <= offset < 0x400 + exc.IRQS:
            self._write_priorities(exc.IRQ0 + offset - 0x400, value)
        elif 0xD18 <= offset < 0xD24:
            self._write_priorities(4 + offset - 0xD18, value)
        elif offset in DebugRegisters.offsets:
            self._debug.write(offset, value)
        elif offset in self._writers:
            self._writers[offset](value)
        elif offset in mpu.OFFSETS:
            self._core.mpu.write(offset, value)
            self._core.refresh_traps()

    def _write_ccr(self, value: int) -> None:
        self._core.status.ccr = value & (UNALIGN_TRP | DIV_0_TRP)
        self._core.refresh_traps()

    def _write_actlr(self, value: int) -> None:
        self._core.write_buffer.actlr = value

    def _write_status(self, field: str, mask: int) -> Callable[[int], None]:
        """Return what writes the bits in `mask` of a plain register."""
        return lambda value: setattr(self._core.status, field, value & mask)

    def _clear_status(self, field: str) -> Callable[[int], None]:
        """Return what writes a register whose bits are cleared by writing 1."""
        return lambda value: setattr(self._core.status, field, getattr(self._core.status, field) & ~value)

    def _write_cpacr(self, value: int) -> None:
        self._core.status.cpacr = value & 0x00F00000
        self._core.engine.floating_point = bool(self._core.status.cpacr)

    def _write_stir(self, value: int) -> None:
        self._pend(exc.IRQ0 + (value & 0x1FF))

    def _pend(self, number: int) -> None:
        if number < exc.COUNT:
            self._core.exceptions.pending[number] = True

    def _read_nvic(self, offset: int) -> int:
        """Read ISER, ICER, ISPR, ICPR or IABR."""
        if offset & 0x7F:
            return 0
        exceptions = self._core.exceptions
        bits = {0x100: exceptions.enabled, 0x180: exceptions.enabled, 0x300: exceptions.active}
        state = bits.get(offset, exceptions.pending)
        return sum(state[exc.IRQ0 + irq] << irq for irq in range(exc.IRQS))

    def _write_nvic(self, offset: int, value: int) -> None:
        """Write ISER, ICER, ISPR or ICPR."""
        if offset & 0x7F:
            return
        exceptions = self._core.exceptions
        state = exceptions.enabled if offset < 0x200 else exceptions.pending
        for irq in range(exc.IRQS):
            if value >> irq & 1:
                state[exc.IRQ0 + irq] = not offset & 0x80

    def _read_priorities(self, first: int) -> int:
        priorities = self._core.exceptions.priority
        return sum(priorities[first + index] << 8 * index for index in range(4))

    def _write_priorities(self, first: int, value: int) -> None:
        for index in range(4):
            number = first + index
            if number in _CONFIGURABLE or number >= exc.IRQ0:
                self._core.exceptions.priority[number] = value >> 8 * index & self._core.model.priority_mask

    def _read_icsr(self) -> int:
        exceptions = self._core.exceptions
        value = self._core.engine.xpsr & 0x1FF
        pending = exceptions.next()
        if pending is not None:
            value |= pending << 12
        if sum(exceptions.active) <= 1:
            value |= 1 << 11  # RETTOBASE
        if True in exceptions.pending[exc.IRQ0 :]:
            value |= 1 << 22  # ISRPENDING
        return value | sum(exceptions.pending[number] << bit for bit, number in _ICSR_SET.items())

    def _write_icsr(self, value: int) -> None:
        for bit, number in _ICSR_SET.items():
            if value >> bit & 1:
                self._pend(number)
        for bit, number in _ICSR_CLEAR.items():
            if value >> bit & 1:
                self._core.exceptions.pending[number] = False

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != _VECTKEY:
            return
        self._prigroup = value >> 8 & 7
        self._core.exceptions.set_grouping(self._prigroup)
        if value & _SYSRESETREQ:
            self._debug.request_reset()

    def _read_shcsr(self) -> int:
        exceptions = self._core.exceptions
        value = sum(exceptions.active[number] << bit for bit, number in _ACTIVE.items())
        value |= sum(exceptions.pending[number] << bit for bit, number in _PENDED.items())
        return value | sum(exceptions.enabled[number] << bit for bit, number in _ENABLED.items())

    def _write_shcsr(self, value: int) -> None:
        exceptions = self._core.exceptions
        for bits, state in ((_PENDED, exceptions.pending), (_ENABLED, exceptions.enabled)):
            for bit, number in bits.items():
                state[number] = bool(value >> bit & 1)
        for bit, number in _ACTIVE.items():
            if number not in (exc.NMI, exc.HARD_FAULT):
                exceptions.active[number] = bool(value >> bit & 1)
