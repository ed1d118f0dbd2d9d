"""Differential runs against QEMU: what a crash leaves in the fault status, EXC_RETURN and the frame; and by hand, what
QEMU has no answer to (it ends where a core locks up).

Its Cortex-M33 boards have no memory where the program is, so those of Armv7-M stand for all.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from typing import Dict, List, Tuple

import pytest

from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import symbol
from tests.firmware.crashes.build import elf, ways

MACHINES = {"m4": "mps2-an386", "m7": "mps2-an500"}
ALL, PROCESS, UNPRIVILEGED = 0x70000, 2, 3
WORDS = ("cfsr", "hfsr", "mmfar", "bfar", "exc_return", "r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr")
UNKNOWN = {
    # A return that fails has no frame of its own; MMFAR and BFAR are told valid by CFSR alone.
    "exc_return": ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr"),
    "frame_mode": ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr"),
}
_LIMIT = 60_000
_NO_FRAME = ("overflow", "stacking", "frame_lost", "limit", "lockup", "vector", "guarded_read")
COMPARED = [way for way in ways() if way not in _NO_FRAME]


def words_of(ram: bytes, offset: int) -> Dict[str, int]:
    return dict(zip(WORDS, struct.unpack_from("<%dI" % len(WORDS), ram, offset)))


def crash(board: str, way: str, enabled: int, control: int) -> Tuple[Machine, Dict[str, int]]:
    """Let a board crash; return it and what its handler saw."""
    path = elf("integers")
    machine = Machine(BoardOptions(board, path))
    machine.core.reset()
    order = symbol(path, "order") - 0x20000000
    struct.pack_into("<3I", machine.bus.ram, order, ways()[way], enabled, control)
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.is_idle() and machine.clock.now() < _LIMIT:
        machine.run(5000)
    return machine, words_of(machine.bus.ram, symbol(path, "crash") - 0x20000000)


def in_qemu(machine: str, asked: List[Tuple[str, int, int]]) -> List[Dict[str, int]]:
    """Let QEMU's core crash in some ways; return what its handler saw."""
    qemu, gdb = shutil.which("qemu-system-arm"), shutil.which("gdb-multiarch")
    if qemu is None or gdb is None:
        pytest.skip("no qemu-system-arm, or no gdb-multiarch")
    path = elf("integers")
    command = [gdb, "-nx", "-batch", path]
    run = "%s -M %s -kernel %s -display none -serial none -monitor none -S -gdb stdio" % (qemu, machine, path)
    commands = ["set confirm off", "target remote | " + run, "break finished"]
    for way, enabled, control in asked:
        commands += ["monitor system_reset", "flushregs", "set $sp = {int}0", "set $pc = Reset_Handler"]
        commands += ["set var order.way = %d" % ways()[way], "set var order.enabled = %d" % enabled]
        commands += ["set var order.control = %d" % control, "continue", "echo >>>\\n", "x/%dwx &crash" % len(WORDS)]
        commands += ["echo <<<\\n"]
    for each in [*commands, "kill"]:
        command += ["-ex", each]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                            universal_newlines=True, timeout=120, check=False).stdout
    found = re.findall(r">>>\n(.*?)<<<", output, re.DOTALL)
    assert len(found) == len(asked), output[-2000:]
    dumps = [re.findall(r"\t(0x[0-9a-f]{8})", text) for text in found]
    return [dict(zip(WORDS, (int(word, 16) for word in dump))) for dump in dumps]
