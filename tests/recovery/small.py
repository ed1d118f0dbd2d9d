"""Small assembly programs, run on Unicorn and recovered."""

from __future__ import annotations

import random
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import pytest

from gdb_etm.capture import Core
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import is_wide
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState
from tests.history.executed import history_of

unicorn = pytest.importorskip("unicorn")
arm_const = pytest.importorskip("unicorn.arm_const")
const = pytest.importorskip("unicorn.unicorn_const")

CODE, RAM, STACK, DEVICE = 0x100, 0x20000000, 0x20001000, 0x40000000
NAMES = tuple("r%d" % number for number in range(13)) + ("sp", "lr")
FLAGS = (("n", 31), ("z", 30), ("c", 29), ("v", 28))
_NUMBERS = [getattr(arm_const, "UC_ARM_REG_" + name.upper()) for name in NAMES]
_HEAD = ".syntax unified\n.thumb\n.text\n.global start\nstart:\n"
_LONG = 20000
# What was built; it goes when this process ends.
_BUILT = tempfile.TemporaryDirectory(prefix="recovery")


@lru_cache(maxsize=None)
def built(source: str, cpu: str = "cortex-m33") -> str:
    """Assemble and link a program at :data:`CODE`; give the ELF file's path."""
    folder = Path(tempfile.mkdtemp(dir=_BUILT.name))
    text, unit, elf = folder / "small.s", folder / "small.o", folder / "small.elf"
    text.write_text(_HEAD + source + "\nend:\n    bkpt 0\n")
    subprocess.run(["arm-none-eabi-as", "--no-warn", "-mcpu=" + cpu, "-mthumb", "-o", unit, text], check=True)
    link = ["arm-none-eabi-ld", "-Ttext=0x%x" % CODE, "-e", "start", "-o", elf, unit]
    subprocess.run(link, check=True, stderr=subprocess.DEVNULL)
    return str(elf)


class Ran(NamedTuple):
    """What a program did."""

    history: ExecutionHistory
    end: CoreState
    begin: CoreState
    # Registers before each instruction, and at the end.
    before: List[Dict[str, int]]
    # RAM before each instruction, and at the end.
    memory: List[bytes]

    def recovery(self, rules: Rules = Rules(), begin: bool = False, end: bool = True) -> Recovery:
        """Recover it from its end, or from its beginning, or from both."""
        return Recovery(self.history, self.end if end else None, self.begin if begin else None, rules)

    def number(self, address: int, time: int = 1) -> int:
        """Find the number of the first or later instruction at an address."""
        found = [number for number, one in enumerate(self.before, 1) if one["pc"] == address]
        return found[time - 1]


def _state(registers: Mapping[str, int], ram: bytes) -> CoreState:
    def read(address: int, size: int) -> Optional[bytes]:
        found = ram[address - RAM : address - RAM + size] if address >= RAM else b""
        return found if len(found) == size else None

    return CoreState(dict(registers), read)


def run(source: str, registers: Mapping[str, int] = {}, ram: Mapping[int, int] = {}, seed: int = 1) -> Ran:
    """Run a program to its end.

    :param registers: By name; the others are random.
    :param ram: Words by address; the rest is random.
    """
    path = built(source)
    uc = unicorn.Uc(const.UC_ARCH_ARM, const.UC_MODE_THUMB | const.UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M33)
    program = history_of(path, [CODE]).program
    chance = random.Random(seed)
    uc.mem_map(0, 0x10000)
    uc.mem_write(program.pieces[0][0], program.pieces[0][1])
    for base in (RAM, DEVICE):
        uc.mem_map(base, 0x2000)
        uc.mem_write(base, bytes(chance.randrange(256) for _ in range(0x2000)))
    for address, value in ram.items():
        uc.mem_write(address, value.to_bytes(4, "little"))
    for name, number in zip(NAMES, _NUMBERS):
        known = registers.get(name, STACK if name == "sp" else chance.getrandbits(32))
        uc.reg_write(number, known)
    uc.reg_write(arm_const.UC_ARM_REG_XPSR_NZCVQG, chance.getrandbits(4) << 28)
    return _followed(uc, path, program.pieces[0])


def _followed(uc: Any, path: str, code: Tuple[int, bytes]) -> Ran:
    before: List[Dict[str, int]] = []
    memory: List[bytes] = []

    def told(engine: Any, address: int, size: int, data: object) -> None:
        fill = before[-1]["pc"] + _size(code, before[-1]["pc"]) if before else address
        while before and fill < address and address - fill < 16 and not _branches(code, before[-1]["pc"]):
            before.append({**_registers(uc), "pc": fill})  # the condition of an instruction in an IT block failed
            memory.append(memory[-1])
            fill += _size(code, fill)
        before.append({**_registers(uc), "pc": address})
        memory.append(bytes(uc.mem_read(RAM, 0x2000)))
        if _half(code, address) == 0xBE00:
            uc.emu_stop()

    uc.hook_add(const.UC_HOOK_CODE, told)
    uc.emu_start(CODE | 1, 0xFFFFFFFF, count=_LONG)
    assert _half(code, before[-1]["pc"]) == 0xBE00, "the program does not end"
    history = history_of(path, [one["pc"] for one in before[:-1]], before[-1]["pc"])
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M33", {}))
    return Ran(history, _state(before[-1], memory[-1]), _state(before[0], memory[0]), before, memory)


def _half(code: Tuple[int, bytes], address: int) -> int:
    return int.from_bytes(code[1][address - code[0] : address - code[0] + 2], "little")


def _size(code: Tuple[int, bytes], address: int) -> int:
    return 4 if is_wide(_half(code, address)) else 2


def _branches(code: Tuple[int, bytes], address: int) -> bool:
    half = _half(code, address)
    wide = half >> 11 == 0x1E and _half(code, address + 2) & 0x8000
    return bool(half >> 12 in (0xD, 0xE) and half < 0xE800 or wide or half & 0xF500 == 0xB100 or half >> 8 == 0x47)


def _registers(uc: Any) -> Dict[str, int]:
    found = {name: uc.reg_read(number) for name, number in zip(NAMES, _NUMBERS)}
    found["xpsr"] = uc.reg_read(arm_const.UC_ARM_REG_XPSR) & 0xF80F0000
    return {**found, "control": 0, "msp": found["sp"], "psp": 0}


def wrong(ran: Ran, recovery: Recovery) -> List[str]:
    """List what a recovery tells that is not true."""
    found = []
    for number in range(1, len(ran.history) + 2):
        for name in NAMES:
            value = recovery.register(number, name)
            true = ran.before[number - 1][name]
            fits = (true ^ value.bits) & value.known == 0 and value.low <= true <= value.high
            if not fits or value.value is not None and value.value != true:
                found.append("%s before #%d: %s, in truth 0x%x" % (name, number, value, true))
        for name, bit in FLAGS:
            value = recovery.register(number, name)
            if value.value is not None and value.value != ran.before[number - 1]["xpsr"] >> bit & 1:
                found.append("%s before #%d: %s" % (name, number, value))
    return found + _wrong_memory(ran, recovery)


def _wrong_memory(ran: Ran, recovery: Recovery) -> List[str]:
    found = []
    for number in range(1, len(ran.history) + 2, 7):
        for address in (RAM, STACK - 16):
            values = recovery.memory(number, address, 16)
            true = ran.memory[number - 1][address - RAM :]
            for index, value in enumerate(values):
                if value.value is not None and value.value != true[index]:
                    found.append("0x%x before #%d: %s, in truth 0x%x" % (address + index, number, value, true[index]))
    return found
