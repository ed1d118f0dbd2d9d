"""The self test's program: source, bytes, path.

Differential run: GNU as and nm; the board's truth: the core's single steps.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gdb_etm.selftest import program
from gdb_etm.selftest.core import HaltedCore
from gdb_etm.selftest.program import CODE, Layout
from tests.selftest.harness import board_at_hand

_SOURCE = Path(program.__file__).with_name("program.s")


def _tool(name: str) -> str:
    found = shutil.which("arm-none-eabi-" + name)
    if found is None:
        pytest.skip("no arm-none-eabi-%s (Debian: binutils-arm-none-eabi)" % name)
    return found


def test_source_and_bytes(tmp_path: Path) -> None:
    made, plain = tmp_path / "p.o", tmp_path / "p.bin"
    subprocess.run([_tool("as"), str(_SOURCE), "-o", str(made)], check=True)
    subprocess.run([_tool("objcopy"), "-O", "binary", "-j", ".text", str(made), str(plain)], check=True)
    assert plain.read_bytes() == CODE
    listing = subprocess.run([_tool("nm"), str(made)], check=True, stdout=subprocess.PIPE, universal_newlines=True)
    labels = {words[2].upper(): int(words[0], 16) for words in map(str.split, listing.stdout.splitlines())}
    known = {name: value for name, value in vars(program).items() if name in labels}
    assert len(known) > 15 and known == {name: labels[name] for name in known}
    assert {name: labels[name.upper()] for name in program.FUNCTIONS} == {
        name: first for name, (first, _) in program.FUNCTIONS.items()
    }


def test_whole_path_by_single_steps() -> None:
    """Three passes, an instruction at a time."""
    with board_at_hand("m33") as hand:
        core, layout = HaltedCore(hand.port), Layout(0x20001000)
        state = core.save()
        core.prepare(state)
        for n, word in enumerate(memoryview(layout.image()).cast("I")):
            hand.port.write32(layout.base + 4 * n, word)
        core.enter(layout.at(program.START), layout.stack, r0=3)
        wanted = layout.path(3)
        found = [core.pc]
        while len(found) <= len(wanted):
            found.append(core.step())
        assert found == wanted + [layout.at(program.DONE)]
        assert tuple(hand.port.read_block(layout.data, 2)) == layout.log(3) == (3 * 1072, 0)
        assert core.restore(state) == []


def test_names() -> None:
    layout = Layout(0x20000000)
    assert layout.name(layout.at(program.AGAIN)) == "0x20000074 <sum+2>"
    assert layout.name(0x20000000) == "0x20000000"
