"""qemu-system-arm: the other core."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import List, Sequence

import pytest

_EXECUTED = re.compile(rb"Trace 0: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
_INTERRUPTED = re.compile(rb"Stopped execution of TB chain before")


# QEMU's Cortex-M33 boards have no memory at 0 for code, and most programs need nothing newer.
CORTEX_M7 = ("mps2-an500",)
# With memory at 0x10000000 and at 0x38000000.
CORTEX_M33 = ("mps2-an505",)
# With memory at 0 and at 0x20000000.
CORTEX_A9 = ("xilinx-zynq-a9", "-m", "1G")


def executed(elf: str, end: int, limit: int = 2_000_000, machine: Sequence[str] = CORTEX_M7) -> List[int]:
    """Run test firmware in QEMU; return the addresses of executed instructions.

    Instructions of an IT block whose condition fails are among them.

    :param elf: Path of the program; it must not need the board's UART.
    :param end: Address at which it ends, without the Thumb bit; the last in the list.
    :param limit: Number of instructions after which it is taken to be lost.
    :param machine: The machine, by its name and options.
    """
    program = shutil.which("qemu-system-arm")
    if program is None:
        pytest.skip("no qemu-system-arm")
    command = [program, "-M", *machine, "-kernel", elf, "-display", "none", "-serial", "none", "-monitor", "none"]
    command += ["-singlestep", "-d", "exec,nochain"]
    addresses: List[int] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        for line in run.stderr:
            match = _EXECUTED.match(line)
            if match:
                addresses.append(int(match.group(1), 16))
            elif _INTERRUPTED.match(line):
                # An interrupt came between the lookup of the instruction and its execution.
                addresses.pop()
            if addresses and (addresses[-1] == end or len(addresses) >= limit):
                break
        run.kill()
    return addresses
