"""Real GDB session over the demo's ELF file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.firmware.test_firmware import DEMO
from tests.gdb_session import gdb_program


def gdb(folder: Path, *commands: str) -> str:
    """Run GDB commands in an unrelated folder; return the output."""
    program = shutil.which(gdb_program())
    if program is None:
        pytest.skip("no gdb-multiarch")
    arguments = [program, "-nx", "-batch", "-ex", "directory %s" % DEMO]
    for command in commands:
        arguments += ["-ex", command]
    run = subprocess.run(arguments + [str(DEMO / "demo.elf")], cwd=folder, stdout=subprocess.PIPE, check=True)
    return run.stdout.decode()


def test_source_is_found_from_anywhere(tmp_path: Path) -> None:
    assert "subscription->handler(message);" in gdb(tmp_path, "list dispatch")
    assert '__asm volatile("bkpt");' in gdb(tmp_path, "list HardFault_Handler")


def test_macros_are_known(tmp_path: Path) -> None:
    assert gdb(tmp_path, "list main", "print MAX_VALUES").endswith("= 8\n")


def test_the_ninth_value_is_a_callback(tmp_path: Path) -> None:
    output = gdb(tmp_path, "print (char *)&station.table[PRESSURE].handler - (char *)&station.values[8]")
    assert output.endswith("= 0\n")


def test_the_ninth_value_is_an_odd_address_outside_of_memory(tmp_path: Path) -> None:
    # 22.2 in Q16.16, as parse_number reckons.
    value = (22 << 16) + (2 << 16) // 10
    assert value & 1
    assert 0x100000 <= value < 0x20000000
