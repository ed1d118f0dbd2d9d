"""Small programs in assembly language, put into a board's flash."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Dict

import pytest

from gdb_etm.board.machine import Machine
from tests.board.witness import Recorder, board

STACK = 0x20008000
# Handlers that a program does not have stop the board: BKPT, at an address of their own.
_HEAD = """
    .syntax unified
%s
    .thumb
    .text
    .global start
vectors:
    .word 0x%x, start + 1
    .word nmi + 1, hardfault + 1, memmanage + 1, busfault + 1, usagefault + 1, stop + 1, stop + 1, stop + 1, stop + 1
    .word svc + 1, stop + 1, stop + 1, pendsv + 1, systick + 1
    .word irq0 + 1, irq1 + 1, irq2 + 1, irq3 + 1
    .weak nmi, hardfault, memmanage, busfault, usagefault, svc, pendsv, systick, irq0, irq1, irq2, irq3
    .set nmi, stop
    .set hardfault, stop
    .set memmanage, stop
    .set busfault, stop
    .set usagefault, stop
    .set svc, stop
    .set pendsv, stop
    .set systick, stop
    .set irq0, stop
    .set irq1, stop
    .set irq2, stop
    .set irq3, stop
    .thumb_func
stop:
    bkpt 7
    .macro store address, value
    ldr r0, =\\address
    ldr r1, =\\value
    str r1, [r0]
    .endm
    .equ ICSR, 0xE000ED04
    .equ SHPR2, 0xE000ED1C
    .equ SHPR3, 0xE000ED20
    .equ SHCSR, 0xE000ED24
    .equ CPACR, 0xE000ED88
    .equ ISER, 0xE000E100
    .equ ISPR, 0xE000E200
    .equ IPR, 0xE000E400
    .equ SYST, 0xE000E010
"""
_CORES = {
    "m33": "    .arch armv8-m.main\n    .arch_extension dsp\n    .fpu fpv5-sp-d16",
    "m7": "    .cpu cortex-m7\n    .fpu fpv5-d16",
    "m4": "    .cpu cortex-m4\n    .fpu fpv4-sp-d16",
    "m23": "    .arch armv8-m.base",
    "m0": "    .cpu cortex-m0plus",
}


class Program:
    """A program on a board that has just been reset.

    :param machine: The board.
    :param recorder: What its core does.
    :param labels: Addresses by label.
    """

    def __init__(self, machine: Machine, recorder: Recorder, labels: Dict[str, int]) -> None:
        self.machine = machine
        self.recorder = recorder
        self.labels = labels

    def __getitem__(self, label: str) -> int:
        return self.labels[label]


def program(source: str, core: str = "m33") -> Program:
    """Assemble a program that begins at ``start`` and load it.

    Without the assembler the test is skipped.

    :param core: The board.
    """
    tools = [shutil.which("arm-none-eabi-" + name) for name in ("as", "ld", "nm")]
    if None in tools:
        pytest.skip("no arm-none-eabi-as (Debian: binutils-arm-none-eabi)")
    assembler, linker, lister = [tool or "" for tool in tools]
    with tempfile.TemporaryDirectory() as folder:
        text, made, elf = (str(Path(folder) / name) for name in ("p.s", "p.o", "p.elf"))
        # The weak names come last: a program's own handlers replace them.
        lines = (_HEAD % (_CORES[core], STACK)).splitlines()
        own = {line.rstrip(":") for line in source.split() if line.endswith(":")}
        head = [line for line in lines if not (".set " in line and line.split()[1].rstrip(",") in own)]
        Path(text).write_text("\n".join(head) + "\n" + source + "\n    .ltorg\n")
        subprocess.run([assembler, text, "-o", made], check=True)
        subprocess.run([linker, "-Ttext=0", "-e", "start", made, "-o", elf], check=True)
        listing = subprocess.run([lister, elf], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        labels = {line.split()[-1]: int(line.split()[0], 16) & ~1 for line in listing.splitlines()}
        recorder = Recorder()
        machine = board(elf, recorder, name=core)
    machine.write(0xE000EDF0, 4, 0xA05F0001)
    return Program(machine, recorder, labels)
