"""Real GDB sessions: reverse execution with an unknown stack pointer.

Code without call frame information is what GDB's own unwinders need the stack pointers for.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List

import pytest

from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT, run_gdb

DEMO = str(ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf")
MOVES = ["reverse-stepi", "backtrace", "reverse-step", "reverse-next", "reverse-finish", "reverse-stepi"]
MOVES += ["reverse-continue", "stepi", "backtrace", "next", "finish", "reverse-next"]
TRY = """python
for line in %r:
    try:
        gdb.execute(line)
    except gdb.error as error:
        print("error:", error)
    gdb.execute("monitor where")
end"""


def without_frames(program: str, folder: Path) -> str:
    """Strip a program of what tells where its frames are."""
    path = folder / "stripped.elf"
    subprocess.run(["arm-none-eabi-objcopy", "--strip-debug", program, str(path)], check=True)
    return str(path)


@pytest.mark.parametrize("program", [DEMO, elf("kernel-O2")], ids=["demo", "kernel"])
def test_every_command_answers(program: str, tmp_path: Path) -> None:
    path = without_frames(program, tmp_path)
    script = tmp_path / "script"
    script.write_text(TRY % MOVES)
    connect = ["set etm recovery off", "etm connect board:m33 --elf %s" % path, "etm start", "continue"]
    output = run_gdb([*connect, "source %s" % script])
    errors: List[str] = [line for line in output.splitlines() if line.startswith("error:")]
    assert set(errors) <= {'error: "finish" not meaningful in the outermost frame.'}, output
    assert "is not available" not in output and "PC not saved" not in output
    assert "Python Exception" not in output and "Traceback" not in output
    assert "etm: the stack pointer is not known here: GDB cannot find the caller" in output
