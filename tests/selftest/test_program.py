"""The self test's program: source, bytes, path.

Differential run: GNU as and nm; the board's truth: the core's single steps.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import List

import pytest

from gdb_etm.selftest import program
from gdb_etm.selftest.program import A_PROFILE, BASELINE, MAINLINE, KnownProgram, Layout
from tests.selftest.harness import board_at_hand

_M, _A = (str(Path(program.__file__).with_name(name)) for name in ("program.s", "program_a.s"))


def _tool(name: str) -> str:
    found = shutil.which("arm-none-eabi-" + name)
    if found is None:
        pytest.skip("no arm-none-eabi-%s (Debian: binutils-arm-none-eabi)" % name)
    return found


@pytest.mark.parametrize(
    "known, options", [(MAINLINE, [_M]), (BASELINE, ["--defsym", "BASELINE=1", _M]), (A_PROFILE, [_A])]
)
def test_source_and_bytes(tmp_path: Path, known: KnownProgram, options: List[str]) -> None:
    made, plain = tmp_path / "p.o", tmp_path / "p.bin"
    subprocess.run([_tool("as"), *options, "-o", str(made)], check=True)
    subprocess.run([_tool("objcopy"), "-O", "binary", "-j", ".text", str(made), str(plain)], check=True)
    assert plain.read_bytes() == known.code
    listing = subprocess.run([_tool("nm"), str(made)], check=True, stdout=subprocess.PIPE, universal_newlines=True)
    labels = {words[2]: int(words[0], 16) for words in map(str.split, listing.stdout.splitlines())}
    assert len(known.labels) > 25 and known.labels == {name: labels[name] for name in known.labels}
    sizes = subprocess.run([_tool("objdump"), "-d", str(made)], check=True, stdout=subprocess.PIPE)
    wide = re.findall(r"^ +([0-9a-f]+):\t(?:[0-9a-f]{4} ?){2} \t(?!\.word)", sizes.stdout.decode(), re.M)
    assert known.wide == {int(offset, 16) for offset in wide}


@pytest.mark.parametrize("board, known", [("m33", MAINLINE), ("m0", BASELINE), ("m23", BASELINE), ("a9", A_PROFILE)])
def test_whole_path_by_single_steps(board: str, known: KnownProgram) -> None:
    """Three passes, an instruction at a time."""
    with board_at_hand(board) as hand:
        core, layout = hand.core(), Layout(0x20001000, known)
        assert core.program == known
        core.halt()
        core.save()
        core.prepare()
        for n, word in enumerate(memoryview(layout.image()).cast("I")):
            core.port.write32(layout.base + 4 * n, word)
        core.enter(layout.at("start"), layout.stack, r0=3)
        wanted = layout.path(3)
        found = [core.pc]
        while len(found) <= len(wanted):
            found.append(core.step())
        assert found == wanted + [layout.at("done")]
        assert tuple(core.port.read_block(layout.data, 2)) == layout.log(3) == (3 * 1072, 0)
        assert core.restore() == []


def test_names() -> None:
    layout = Layout(0x20000000)
    assert layout.name(layout.at("again")) == "0x20000074 <sum+2>"
    assert layout.name(0x20000000) == "0x20000000"
