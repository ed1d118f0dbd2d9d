"""Single instructions on Unicorn, from any state."""

from __future__ import annotations

import ctypes
import random
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest

from gdb_etm.recovery.lift.operations import (
    BASEPRI,
    CONTROL,
    FAULTMASK,
    FP_DEFAULT,
    FP_MODE,
    FPCA,
    FPSCR,
    GE,
    HANDLER,
    LR,
    MASK,
    MSP,
    PRIMASK,
    PSP,
    S0,
    SP,
    C,
    N,
    Slot,
    V,
    Z,
)

unicorn = pytest.importorskip("unicorn")
arm_const = pytest.importorskip("unicorn.arm_const")
const = pytest.importorskip("unicorn.unicorn_const")
uclib = pytest.importorskip("unicorn.unicorn_py3.unicorn").uclib

CODE = 0x07000000
CODE_SIZE = 0x00100000
DATA = 0x20000000
_TOP = 0xE0000000
_FLAGS = ((N, 31), (Z, 30), (C, 29), (V, 28))
_CORE = [(place, getattr(arm_const, "UC_ARM_REG_R%d" % place)) for place in range(13)]
_CORE += [(SP, arm_const.UC_ARM_REG_SP), (LR, arm_const.UC_ARM_REG_LR)]
_FLOATS = [(S0 + number, getattr(arm_const, "UC_ARM_REG_S%d" % number)) for number in range(32)]
_MASKS = [
    (PRIMASK, arm_const.UC_ARM_REG_PRIMASK),
    (BASEPRI, arm_const.UC_ARM_REG_BASEPRI),
    (FAULTMASK, arm_const.UC_ARM_REG_FAULTMASK),
    (CONTROL, arm_const.UC_ARM_REG_CONTROL),
]
State = Dict[Slot, int]


def memory(address: int, size: int) -> int:
    """Give what is in memory before each instruction."""
    value = 0
    for index in range(size):
        value |= ((address + index) * 0x9E3779B1 >> 13 & 0xFF) << 8 * index
    return value


class Step(NamedTuple):
    """What one instruction did."""

    state: State
    pc: int
    # Bytes by address.
    written: Dict[int, int]


class Processor:
    """A core that runs single instructions.

    :param model: The end of Unicorn's name for it.
    :param thumb: Whether it runs T32.
    :param floating_point: Whether it has single- and double-precision registers.
    """

    def __init__(self, model: str, thumb: bool = True, floating_point: bool = True) -> None:
        self.m_profile = model.startswith("CORTEX_M")
        mode = const.UC_MODE_THUMB if thumb else const.UC_MODE_ARM
        self._uc: Any = unicorn.Uc(const.UC_ARCH_ARM, mode | (const.UC_MODE_MCLASS if self.m_profile else 0))
        self._uc.ctl_set_cpu_model(getattr(arm_const, "UC_CPU_ARM_" + model))
        self._thumb = thumb
        self._written: Dict[int, int] = {}
        status = arm_const.UC_ARM_REG_XPSR if self.m_profile else arm_const.UC_ARM_REG_CPSR
        set_status = arm_const.UC_ARM_REG_XPSR_NZCVQG if self.m_profile else arm_const.UC_ARM_REG_CPSR
        self._uc.mem_map(0, CODE)
        self._uc.mem_map(CODE, CODE_SIZE, const.UC_PROT_READ | const.UC_PROT_EXEC)
        self._uc.mem_map(CODE + CODE_SIZE, _TOP - CODE - CODE_SIZE)
        self._uc.hook_add(const.UC_HOOK_MEM_WRITE, self._on_write)
        self._uc.hook_add(const.UC_HOOK_MEM_READ, self._on_read)
        if floating_point:
            self._enable_floating_point()
        places: List[Tuple[Slot, int]] = list(_CORE)
        if floating_point:
            places += _FLOATS + [(FPSCR, arm_const.UC_ARM_REG_FPSCR)]
        if self.m_profile:
            places += _MASKS
        self._places = [place for place, _number in places]
        numbers = [number for _place, number in places]
        self._set = _Registers(self._uc, [set_status] + numbers)
        self._got = _Registers(self._uc, [status, arm_const.UC_ARM_REG_PC] + numbers)
        self._image = b""
        self._fresh = self._uc.context_save()

    def _enable_floating_point(self) -> None:
        uc = self._uc
        if self.m_profile:
            uc.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)
        else:
            uc.reg_write(arm_const.UC_ARM_REG_C1_C0_2, 0xF << 20)
            uc.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)

    def _on_write(self, _uc: Any, _access: int, address: int, size: int, value: int, _data: Any) -> None:
        for index in range(size):
            self._written[address + index & MASK] = value >> 8 * index & 0xFF

    def _on_read(self, uc: Any, _access: int, address: int, size: int, _value: int, _data: Any) -> None:
        if CODE <= address < CODE + CODE_SIZE:
            return
        fresh = bytearray(memory(address, size).to_bytes(size, "little"))
        uc.mem_write(address, bytes(fresh))

    def place(self, codes: List[bytes]) -> List[int]:
        """Write instructions to unwritable code memory; return their addresses."""
        image = bytearray()
        addresses = []
        nop = b"\x00\xbf" if self._thumb else b"\x00\xf0\x20\xe3"
        for code in codes:
            addresses.append(CODE + len(image))
            image += code + nop * (8 // len(nop))
            image += bytes(-len(image) % 4)
        self._image = bytes(image).ljust(len(self._image), b"\0")
        self._uc.mem_write(CODE, self._image)
        self._uc.ctl_flush_tb()
        return addresses

    def memory(self, address: int, size: int) -> int:
        """Give what is in memory before an instruction."""
        inside = address - CODE
        if 0 <= inside and inside + size <= len(self._image):
            return int.from_bytes(self._image[inside : inside + size], "little")
        return 0 if CODE <= address < CODE + CODE_SIZE else memory(address, size)

    def step(self, address: int, state: State, it_state: int = 0) -> Optional[Step]:
        """Run one instruction.

        :returns: None if it is undefined, or faults, or calls the system.
        """
        uc = self._uc
        uc.context_restore(self._fresh)
        self._write(state, it_state)
        self._written.clear()
        try:
            uc.emu_start(address | self._thumb, 0, count=1)
        except unicorn.UcError:
            return None
        state, pc = self._read()
        return Step(state, pc, dict(self._written))

    def _write(self, state: State, it_state: int) -> None:
        status = sum(state[place] << bit for place, bit in _FLAGS) | state[GE] << 16
        status |= (it_state & 3) << 25 | (it_state & 0xFC) << 8
        if self.m_profile:
            status |= 1 << 24
        else:
            status |= 0x1DF | (0x20 if self._thumb else 0)
        values = {**state, FPSCR: state[FPSCR] | state[FP_MODE] << 22}
        self._set.write([status] + [values[place] for place in self._places])

    def _read(self) -> Tuple[State, int]:
        status, pc, *values = self._got.read()
        state = dict(zip(self._places, values))
        state.update({place: status >> bit & 1 for place, bit in _FLAGS})
        state[GE] = status >> 16 & 0xF
        if FPSCR in state:
            state[FP_MODE] = state[FPSCR] >> 22 & 0x1F
        if CONTROL in state:
            state[FPCA] = state[CONTROL] >> 2 & 1
        return state, pc & ~1


class _Registers:
    # Some of Unicorn's registers, read or written in one call.

    def __init__(self, core: Any, numbers: List[int]) -> None:
        count = len(numbers)
        self._values = (ctypes.c_uint64 * count)()
        start = ctypes.addressof(self._values)
        places = (ctypes.c_void_p * count)(*[start + 8 * index for index in range(count)])
        self._arguments = (core._uch, (ctypes.c_int * count)(*numbers), places, count)

    def write(self, values: List[int]) -> None:
        self._values[:] = values
        uclib.uc_reg_write_batch(*self._arguments)

    def read(self) -> List[int]:
        for index in range(len(self._values)):
            self._values[index] = 0
        uclib.uc_reg_read_batch(*self._arguments)
        return list(self._values)


_SPECIAL = (MSP, PSP, CONTROL, PRIMASK, BASEPRI, FAULTMASK, FPSCR, HANDLER, FPCA, FP_DEFAULT)
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


_FLOAT_EDGES = (0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x4F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00001)


def _float(chance: random.Random) -> int:
    # Any bits, numbers near to each other, and edges of either sign.
    kind = chance.randrange(4)
    if kind == 0:
        return chance.getrandbits(32)
    if kind == 1:
        return chance.choice(_FLOAT_EDGES) | chance.randrange(2) << 31
    return chance.randrange(2) << 31 | chance.randrange(120, 160) << 23 | chance.getrandbits(23)


def random_state(chance: random.Random) -> State:
    """Return random values, small ones, edges, and data addresses."""

    def value() -> int:
        kind = chance.randrange(4)
        if kind == 0:
            return chance.getrandbits(32)
        if kind == 1:
            return chance.choice(_EDGES)
        if kind == 2:
            return chance.randrange(64)
        return DATA + chance.randrange(0x1000) * 4

    state = {place: value() for place, _number in _CORE}
    state.update({place: _float(chance) for place, _number in _FLOATS})
    state[SP] = DATA + chance.randrange(0x1000) * 4
    state.update({place: chance.randrange(2) for place in (N, Z, C, V)})
    state[GE] = chance.randrange(16)
    state.update(dict.fromkeys(_SPECIAL, 0))
    state[PSP] = DATA + 0x8000
    state[PRIMASK] = chance.randrange(2)
    state[FP_MODE] = chance.choice((0, 0, 0, chance.randrange(16)))
    return state
