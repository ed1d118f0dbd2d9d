"""The source of scripts/fuzz, run: failures are found, reported and kept.

Each case has its bounds.

A property test of the runner with checks that are wrong on purpose, and a short run of the real ones.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_style import ROOT

BAD = {
    "raises": ("raise ValueError(number)", "ValueError"),
    "takes all memory": ("bytearray(64 << 30)", "MemoryError"),
    "computes for ever": ("\nwhile True: pass", "SIGXCPU"),
    "waits for ever": ("import time; time.sleep(1000)", "SIGALRM"),
    "ends the process": ("import os; os._exit(3)", "FAILED"),
    "fails once": ("import sys\nif not hasattr(sys, 'once'): sys.once = 1; raise ValueError('why')", "ValueError: why"),
}

# Fails from 7 on, so 7 is the simplest case that fails.
SCRIPT = """
import sys
sys.path[:0] = [%r, %r]
from hypothesis import strategies as st
from fuzzing.check import Check
from fuzzing.runner import hunt

def run(number):
    if number >= 7:
        exec(%r)

check = Check("robust", {"number": st.integers(0, 1000)}, run, processor=1, seconds=%d)
print(tuple(hunt("bad", check, 50, 1, %r)))
"""


@pytest.mark.parametrize("body, told", BAD.values(), ids=BAD)
def test_what_goes_wrong_is_told_and_kept(body: str, told: str, tmp_path: Path) -> None:
    # A machine that is busy makes all else wait, too.
    seconds = 4 if told == "SIGALRM" else 100
    script = SCRIPT % (str(ROOT), str(ROOT / "scripts"), body, seconds, str(tmp_path))
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120).stdout
    assert told in output
    assert ", 1)" in output.splitlines()[-1]
    (path,) = tmp_path.iterdir()
    saved = json.loads(path.read_text())
    assert saved["check"] == "bad" and saved["arguments"]["number"] >= 7
    # What raises is made as small as can be; a process that was ended tells only its last case.
    assert saved["arguments"]["number"] == 7 or told not in ("ValueError", "MemoryError")


# Three cases of each; whole sessions of GDB are long, and tests/gdbui/test_attacks.py has more of them.
MODULES = [path.stem for path in sorted((ROOT / "scripts" / "fuzzing").glob("checks_*.py"))]
CASES = {"checks_sessions": 1, "checks_commands": 1}


@pytest.mark.sweep
@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=pytest.mark.gdb) if name in CASES else name for name in MODULES]
)
def test_every_check_runs(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    names = importlib.import_module("fuzzing." + module).checks()
    cases = CASES.get(module, 3)
    command = [sys.executable, str(ROOT / "scripts" / "fuzz"), "--cases", str(cases), "--seed", "1", "--markdown"]
    command += ["--folder", str(tmp_path), *(word for name in names for word in ("--only", name))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    rows = [line.split("|") for line in run.stdout.splitlines() if line.startswith("|")][2:]
    assert [name.strip() for _, name, _, _, _ in rows] == list(names)
    assert all((int(done), int(failures)) == (cases, 0) for _, _, done, failures, _ in rows)
    assert not list(tmp_path.iterdir())
