"""The self test in real GDB, real pyOCD, and from the shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Tuple

from tests.firmware.cortex_a.build import elf as elf_a9
from tests.gdb_session import ROOT, run_gdb

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"


def shell(*words: str) -> Tuple[int, str, str]:
    """Run ``gdb-etm selftest``; give its status, standard output and standard error."""
    command = [sys.executable, "-m", "gdb_etm", "selftest", *words]
    pipe = subprocess.PIPE
    done = subprocess.run(command, stdout=pipe, stderr=pipe, cwd=str(ROOT), timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_in_the_middle_of_a_program() -> None:
    """Registers and what comes next are the program's."""
    out = run_gdb(
        [
            "etm connect board:m33 --elf %s" % DEMO,
            "etm start",
            "tbreak dispatch",
            "continue",
            "info registers",
            "etm selftest",
            "info registers",
            "etm captures",
            "etm history -1",
            "continue",
            "etm fault",
        ]
    )
    before, after = [part.partition("faultmask")[0] for part in out.split("r0             ")[1:3]]
    assert before == after and "pc  " in before
    assert "Trace works: " in out and "failed " not in out
    assert "HardFault_Handler () at faults.c:4" in out.partition("Trace works")[2]
    # The captures of the program alone: before the self test, and after it.
    assert "dispatch" in out.partition("Trace works")[2].partition("HardFault")[0]


def test_its_bundle_repeats_without_the_board(tmp_path: Path) -> None:
    file = tmp_path / "board.etmb"
    out = run_gdb(["etm connect board:m33", "monitor halt", "etm selftest --bundle %s" % file])
    assert "Trace works: " in out and ", selftest " in out.partition("register accesses: ")[2].splitlines()[0]
    status, out, err = shell("board:m4", "--bundle", str(file))
    assert status == 1 and "-f" in err and file.name in err
    command = [sys.executable, "-m", "gdb_etm", "replay-bundle", str(file)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=str(ROOT), timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.decode().splitlines()[-1] == "The same as recorded."


def test_wrong_moments() -> None:
    out = run_gdb(["etm selftest", "etm connect board:m33 --dap-only", "etm selftest"])
    assert 'not connected to a trace unit. Try "etm connect"' in out
    assert "this connection does not reach the core (--dap-only)" in out


def test_cortex_a() -> None:
    """By the access ports alone, with the stack of the program."""
    program = elf_a9("sort-a32")
    out = run_gdb(["etm connect board:a9 --dap-only --elf %s" % program, "etm selftest", "etm doctor"])
    assert "Trace works: 31 steps ok, 8 skipped." in out and " failed " not in out
    assert "74 instructions, step by step" in out and "SVC after instruction 2, its handler, and the return" in out
    out = run_gdb(["etm connect board:a9 --dap-only", "etm selftest"])
    assert "no RAM is known" in out and 'type "etm selftest --ram ADDRESS"' in out


def test_shell() -> None:
    status, out, err = shell("board:m4", "--data-trace")
    assert (status, err) == (0, "") and out.splitlines()[-1].startswith("Trace works: 3")
    status, out, err = shell("board:m33", "--option", "board.faults=no-authentication")
    assert (status, err) == (1, "")
    assert " 1 failed   trace hardware " in out and "bad  unit authentication" in out
    assert out.splitlines()[-1] == "Trace does not work as it should: begin with line 1, trace hardware."
    status, out, err = shell("board:m33", "--ram", "here")
    assert (status, out, err) == (1, "", 'gdb-etm: --ram: "here" is not a number\n')
