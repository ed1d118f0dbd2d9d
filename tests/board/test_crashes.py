"""Differential runs against QEMU: crashes; lockup worked by hand.

Compared are the fault status, EXC_RETURN and the frame.

Its Cortex-M33 boards have no memory where the program is, so those of Armv7-M stand for all.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from typing import Dict, List, Tuple

import pytest

from gdb_etm.board import exceptions as exc
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import symbol
from tests.firmware.crashes.build import elf, ways
from tests.gdb_session import gdb_program

MACHINES = {"m4": "mps2-an386", "m7": "mps2-an500"}
ALL, PROCESS, UNPRIVILEGED = 0x70000, 2, 3
CFSR = 0xE000ED28
WORDS = ("cfsr", "hfsr", "mmfar", "bfar", "exc_return", "r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr")
_LIMIT = 60_000
# QEMU ends at a stacking fault of HardFault and at lockup, and lets programs write where their code is.
_NOT_THERE = ("overflow", "stacking", "frame_lost", "limit", "lockup", "vector", "write", "guarded_read")
# It pushes what an illegal return has popped on the other stack, against PushStack at the end of ExceptionReturn.
_NOT_ON_THE_PROCESS_STACK = ("frame_mode",)
ASKED = [(way, 0, 0) for way in ways() if way not in (*_NOT_THERE, "guarded_stack")]
ASKED += [(way, ALL, PROCESS) for way in ways() if way not in (*_NOT_THERE, *_NOT_ON_THE_PROCESS_STACK)]
ASKED += [(way, 0, UNPRIVILEGED) for way in ("call_null", "return_even", "guarded_read", "guarded_call", "divide")]


def seen(machine: Machine) -> Dict[str, int]:
    """Return what the handler of a crash has kept."""
    offset = symbol(elf("integers"), "crash") - 0x20000000
    return dict(zip(WORDS, struct.unpack_from("<%dI" % len(WORDS), machine.bus.ram, offset)))


def crash(board: str, way: str, enabled: int = 0, control: int = 0) -> Machine:
    """Let a board crash."""
    path = elf("integers")
    machine = Machine(BoardOptions(board, path))
    machine.core.reset()
    order = symbol(path, "order") - 0x20000000
    struct.pack_into("<3I", machine.bus.ram, order, ways()[way], enabled, control)
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.is_idle() and machine.clock.now() < _LIMIT:
        machine.run(5000)
    return machine


def in_qemu(machine: str, asked: List[Tuple[str, int, int]]) -> List[Dict[str, int]]:
    """Crash QEMU's core in some ways; return its handler's view."""
    qemu, gdb = shutil.which("qemu-system-arm"), shutil.which(gdb_program())
    if qemu is None or gdb is None:
        pytest.skip("no qemu-system-arm, or no gdb-multiarch")
    path = elf("integers")
    run = "%s -M %s -kernel %s -display none -serial none -monitor none -S -gdb stdio" % (qemu, machine, path)
    commands = ["set confirm off", "target remote | " + run, "break finished"]
    for way, enabled, control in asked:
        commands += ["monitor system_reset", "maint flush register-cache"]
        commands += ["set $sp = {int}0", "set $pc = Reset_Handler"]
        commands += ["set var order.way = %d" % ways()[way], "set var order.enabled = %d" % enabled]
        commands += ["set var order.control = %d" % control, "continue"]
        commands += ["echo >>>\\n", "x/%dwx &crash" % len(WORDS), "echo <<<\\n"]
    command = [gdb, "-nx", "-batch", path] + [word for each in [*commands, "kill"] for word in ("-ex", each)]
    output = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        universal_newlines=True,
        timeout=120,
        check=False,
    ).stdout
    found = re.findall(r">>>\n(.*?)<<<", output, re.DOTALL)
    assert len(found) == len(asked), output[-2000:]
    dumps = [re.findall(r"\t(0x[0-9a-f]{8})", text) for text in found]
    return [dict(zip(WORDS, (int(word, 16) for word in dump))) for dump in dumps]


@pytest.mark.parametrize("board", MACHINES)
def test_the_handler_finds_what_it_finds_in_qemu(board: str) -> None:
    expected = in_qemu(MACHINES[board], ASKED)
    assert len(ASKED) > 40
    for asked, words in zip(ASKED, expected):
        assert (asked, seen(crash(board, *asked))) == (asked, words)


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_hard_fault_begins_though_its_frame_is_lost(board: str) -> None:
    """DDI 0337E, 5.12.1: the handler begins though the pushes failed."""
    machine = crash(board, "overflow")
    core = machine.core
    assert core.locked_up and core.exceptions.active[exc.HARD_FAULT]
    # PRECISERR of the recursion and of the handler, STKERR of the entry.
    assert machine.read(CFSR, 4) & 0xFF00 == 0x9200
    machine.write(witness.DHCSR, 4, witness.HALT)
    assert witness.register(machine, 13) < 0x20000000


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_of_an_entry_and_its_stacking_fault_the_more_urgent_is_taken_first(board: str) -> None:
    """DerivedLateArrival: SVC to a stack below RAM.

    HardFault comes first, and SVC stays pending.
    """
    core = crash(board, "stacking").core
    assert core.exceptions.active[exc.HARD_FAULT] and not core.exceptions.active[exc.SVCALL]
    assert core.exceptions.pending[exc.SVCALL]


def test_a_stack_limit() -> None:
    """DDI 0553, PushStack: SP is the limit after STKOF."""
    machine = crash("m33", "limit")
    assert machine.core.locked_up and machine.read(CFSR, 4) == 0x100000
    machine.write(witness.DHCSR, 4, witness.HALT)
    assert witness.register(machine, 13) == 0x20000040


@pytest.mark.parametrize("way, mmfar", [("guarded_write", True), ("guarded_read", True), ("guarded_call", False)])
def test_protected_memory_of_armv8m(way: str, mmfar: bool) -> None:
    """DACCVIOL with MMARVALID, or IACCVIOL (DDI 0553, CFSR)."""
    words = seen(crash("m33", way, ALL, UNPRIVILEGED))
    guard = symbol(elf("integers"), "stack")
    assert (words["cfsr"], words["hfsr"]) == (0x82 if mmfar else 0x1, 0)
    assert words["mmfar"] == (guard + 56 if mmfar else 0)
