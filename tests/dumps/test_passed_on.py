"""The board's truth: what is passed on decodes to the same.

It holds nothing else.  Besides, the files that are written out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Set

import pytest

from gdb_etm.__main__ import main
from gdb_etm.offline.symbols import load_symbols, load_variables
from gdb_etm.snapshot.reader import read_snapshot
from tests.dumps.crashed import RAM, crash
from tests.firmware.blackbox.build import BLACK_BOX
from tests.firmware.build import compiler

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")


def ran(where: str, program: str, capsys: pytest.CaptureFixture[str]) -> List[str]:
    """List the addresses of the instructions that ran."""
    assert main(["history", where, *(["--elf", program] if program else []), "--format", "jsonl"]) == 0
    return re.findall(r'"address": (\d+|"0x\w+")', capsys.readouterr().out)


@needs_compiler
@pytest.mark.parametrize("board, level", [("m33", "O2"), ("m7", "Os"), ("m4", "O0"), ("m0", "Os")])
def test_it_holds_the_history_and_nothing_else(
    board: str, level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = crash(level, board, "call")
    core, out = found.core(tmp_path), tmp_path / "out"
    assert main(["anonymise", core, "--elf", found.elf, "-o", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("written in") and "RAM        none" in lines
    expected = ran(core, found.elf, capsys)
    assert ran(str(out), "", capsys) == expected and len(expected) > 400
    assert main(["compare", core, str(out), "--elf", found.elf]) == 0
    assert "; no branch went another way" in capsys.readouterr().out
    content = b"".join(path.read_bytes() for path in out.iterdir())
    names: Set[str] = {one.name for one in load_symbols([found.elf]).functions} | {
        one.name for one in load_variables([found.elf]).functions
    }
    assert len(names) > 20
    # "device" is a word of the format, too.
    for name in [*names - {"device"}, "crash.c", str(tmp_path), found.elf]:
        assert len(name) < 4 or name.encode() not in content, name
    (capture,) = read_snapshot(str(out))
    core_of = capture.sources[0].core
    assert core_of is not None and not core_of.memory
    executed = {int(one.strip('"'), 0) for one in expected}
    assert all(image.address < RAM for image in capture.sources[0].images)
    # What ran, and up to the branch that was not reached; of an MTB also entries of the vector table.
    size = sum(len(image.data) for image in capture.sources[0].images)
    assert 2 * len(executed) <= size <= 4 * len(executed) + 64 + (board == "m0") * 4 * 48
    assert "r0" not in core_of.registers and "sp" not in core_of.registers


@needs_compiler
def test_ram_if_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = crash("Os", "m33", "call")
    core, out = found.core(tmp_path), tmp_path / "out"
    assert main(["anonymise", core, "--elf", found.elf, "-o", str(out), "--ram"]) == 0
    assert re.search(r"^RAM +[0-9,]+ bytes$", capsys.readouterr().out, re.MULTILINE)
    assert main(["fault", str(out)]) == 0
    assert "device" not in capsys.readouterr().out
    assert main(["anonymise", core, "--elf", found.elf, "-o", str(out)]) == 1
    assert "snapshot" in capsys.readouterr().err
    assert main(["anonymise", core, "--elf", found.elf, "-o", str(out), "-f"]) == 0


def test_the_c_files_are_written_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    for _ in range(2):
        assert main(["blackbox", "-o", str(out)]) == 0
    for name in ("etm_blackbox.c", "etm_blackbox.h"):
        assert (out / name).read_bytes() == (BLACK_BOX / name).read_bytes()
        assert "SPDX-License-Identifier: MIT" in (out / name).read_text("ascii")
    (out / "etm_blackbox.c").write_text("changed")
    capsys.readouterr()
    assert main(["blackbox", "-o", str(out)]) == 1
    assert "is there, and is another file; -f replaces it" in capsys.readouterr().err
    assert main(["blackbox", "-o", str(out), "-f"]) == 0
    assert main(["blackbox", "-o", str(out / "etm_blackbox.c")]) == 1
    assert "File exists" in capsys.readouterr().err
