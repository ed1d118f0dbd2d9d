"""Base of the engines: Unicorn 2.1.4 with a board's memory and devices.

Only blocks are hooked, devices are MMIO regions, faults have their own hooks.  A failing store does not always end the
block that it is in, so after one registers and RAM are put back.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import Any, Iterator, List, Mapping, Optional, Protocol, Tuple

from unicorn import Uc, UcError, arm_const
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from gdb_etm.board.bus import FLASH_BASE, FLASH_SIZE, PAGE, RAM_BASE, RAM_SIZE, Bus, BusFault
from gdb_etm.board.path import WrongPath
from gdb_etm.board.registers import RegisterSet, RegisterWatch
from gdb_etm.board.stops import BY_INTERRUPT, RunEnd, RunResult

# PyDLL holds the interpreter lock for the whole run: otherwise each hook would wait for every other thread.
emu_start = ctypes.PyDLL(uclib._name).uc_emu_start
emu_start.restype = ctypes.c_int
emu_start.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t]

# A page of the engine's own, for instructions that do what Unicorn has no function for.  Programs that go there fault,
# as they do around it.
STUBS = 0x1F000000
STUBS_SIZE = 0x1000
# More instructions than a run has.
FOREVER = 1 << 30

_WRITES = (const.UC_MEM_WRITE_UNMAPPED, const.UC_MEM_WRITE_PROT)
_FETCHES = (const.UC_MEM_FETCH_UNMAPPED, const.UC_MEM_FETCH_PROT)


class Code(Protocol):
    """The code that has been looked at."""

    def forget(self) -> None:
        """Forget all of it, because some has been written."""


class Emulator(ABC):
    """A core's registers and instructions, and how a run begins and ends.

    :param bus: What the core reaches.
    :param mode: Unicorn's mode.
    :param model: The end of Unicorn's name for the core.
    :param registers: The registers in the truth file.
    :param stubs: The engine's own instructions, by their offsets in their page.
    """

    _path: Code

    def __init__(self, bus: Bus, mode: int, model: str, registers: RegisterSet, stubs: Mapping[int, bytes]) -> None:
        self._bus = bus
        self._uc: Any = Uc(const.UC_ARCH_ARM, mode)
        self._uc.ctl_set_cpu_model(getattr(arm_const, "UC_CPU_ARM_" + model))
        self._stale = False
        self._in_stub = False
        self._left = 0
        self._stopping = False
        self._held = False
        self._interrupt = -1
        self._fault: Optional[Tuple[RunEnd, int]] = None
        self._undo: Optional[Tuple[Any, bytes]] = None
        self.registers = RegisterWatch(self._uc, registers)
        self._map(stubs)
        self._uc.hook_add(const.UC_HOOK_BLOCK, self._on_block)
        self._uc.hook_add(const.UC_HOOK_INTR, self._on_interrupt)
        self._uc.hook_add(const.UC_HOOK_MEM_UNMAPPED | const.UC_HOOK_MEM_PROT, self._on_fault)

    def _map(self, stubs: Mapping[int, bytes]) -> None:
        """Give Unicorn flash, RAM and the page of the engine's own."""
        uc = self._uc
        self._memory = [(ctypes.c_char * len(part)).from_buffer(part) for part in (self._bus.flash, self._bus.ram)]
        flash, ram = (ctypes.addressof(part) for part in self._memory)
        uc.mem_map_ptr(FLASH_BASE, FLASH_SIZE, const.UC_PROT_READ | const.UC_PROT_EXEC, flash)
        uc.mem_map_ptr(RAM_BASE, RAM_SIZE, const.UC_PROT_ALL, ram)
        uc.mem_map(STUBS, STUBS_SIZE, const.UC_PROT_EXEC)
        for offset, code in stubs.items():
            uc.mem_write(STUBS + offset, code)

    def map_device(self, base: int, size: int) -> None:
        """Lead the core's accesses to a range of addresses to the bus."""

        def read(_uc: Any, offset: int, size: int, _data: Any) -> int:
            try:
                value = self._bus.read(base + offset, size)
            except BusFault:
                return 0
            self._on_device_read(value)
            return value

        def write(_uc: Any, offset: int, size: int, value: int, _data: Any) -> None:
            if self._may_write():
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

    def code_changed(self) -> None:
        """Forget translated code before the next run: the debugger has written memory."""
        self._stale = True

    @contextmanager
    def lost_writes(self, address: int) -> Iterator[None]:
        """Let a store complete that reaches nothing."""
        flash = bytes(self._bus.flash)
        self._uc.mem_protect(FLASH_BASE, FLASH_SIZE, const.UC_PROT_ALL)
        there = [(first, last) for first, last, _ in self._uc.mem_regions()]
        first = address & -PAGE
        pages = [page for page in (first, first + PAGE) if page < 1 << 32]
        pages = [page for page in pages if not any(low <= page <= high for low, high in there)]
        for page in pages:
            self._uc.mem_map(page, PAGE)
        yield
        for page in pages:
            self._uc.mem_unmap(page, PAGE)
        self._uc.mem_protect(FLASH_BASE, FLASH_SIZE, const.UC_PROT_READ | const.UC_PROT_EXEC)
        self._bus.flash[:] = flash

    @abstractmethod
    def _where(self) -> int:
        """Return the next instruction's address, for messages."""

    @abstractmethod
    def _on_block(self, uc: Any, address: int, size: int, data: Any) -> None:
        """Take a block that is about to run."""

    @abstractmethod
    def _may_write(self) -> bool:
        """Tell whether a device write is done now.

        After it the run ends, so that its effects are seen.
        """

    def _on_device_read(self, value: int) -> None:
        """Take what a device gave."""

    def _clear(self) -> None:
        """Forget what happened in the last run."""
        self.registers.clear()
        self._held = False
        self._stopping = False
        self._interrupt = -1
        self._fault = None
        self._undo = None

    def _forget(self) -> None:
        self._stale = False
        self._uc.ctl_flush_tb()
        self._path.forget()

    def _start(self, begin: int, until: int, count: int) -> int:
        """Let Unicorn run, and undo what a failing store left.

        :returns: Unicorn's error.
        """
        error = int(emu_start(self._uc._uch, begin, until, 0, count))
        if self._uc._hook_exception is not None:
            raise self._uc._hook_exception
        if self._undo is not None:
            context, ram = self._undo
            self._uc.context_restore(context)
            self._bus.ram[:] = ram
        return error

    def _stopped(self, executed: List[int]) -> Optional[RunResult]:
        """Name the fault or exception that ended the run; None without one.

        :raises WrongPath: Unicorn raised an unknown exception.
        """
        if self._fault is not None:
            return RunResult(executed, *self._fault)
        if self._interrupt < 0:
            return None
        if self._interrupt not in BY_INTERRUPT:
            raise WrongPath("Unicorn raised exception %d at 0x%08x" % (self._interrupt, self._where()))
        return RunResult(executed, BY_INTERRUPT[self._interrupt])

    def _failure(self, error: int) -> WrongPath:
        return WrongPath("Unicorn ended with '%s' at 0x%08x" % (UcError(error), self._where()))

    def _on_interrupt(self, uc: Any, number: int, _data: Any) -> None:
        self._interrupt = number
        uc.emu_stop()

    def _on_fault(self, uc: Any, kind: int, address: int, _size: int, _value: int, _data: Any) -> bool:
        if self._fault is None:
            if kind in _WRITES:
                self._refuse(RunEnd.WRITE, address)
            else:
                self._fault = (RunEnd.FETCH if kind in _FETCHES else RunEnd.READ), address
        return False

    def _refuse(self, why: RunEnd, address: int) -> None:
        """Let the current instruction fault.

        All that it does, and what comes after it, will be undone.
        """
        if self._fault is None:
            self._fault = why, address
            self._undo = self._uc.context_save(), bytes(self._bus.ram)
            self._uc.emu_stop()
