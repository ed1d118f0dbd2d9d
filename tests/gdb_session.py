"""A real GDB for each test, in batch mode.

It runs the checkout's own ``scripts/gdb_etm``.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import List, Optional, Sequence

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "gdb_etm"
SECONDS = 120
_CRASHED = -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS

# The test that runs; none where tests are only imported.
running: Optional[pytest.Item] = None


def gdb_program() -> str:
    """Name the GDB to start, the first one in PATH.

    Only tests marked ``gdb`` may start it.
    """
    assert running is None or running.get_closest_marker("gdb"), "%s starts GDB without the marker" % running.nodeid
    return "gdb-multiarch"


def demo_script() -> str:
    """Name the script that runs the demo, which starts GDB."""
    gdb_program()
    return str(ROOT / "scripts" / "demo")


def run_gdb(
    commands: Sequence[str],
    cwd: Optional[Path] = None,
    source: bool = True,
    arguments: Sequence[str] = (),
    may_crash: bool = False,
) -> str:
    """Run GDB commands; return GDB's output with its errors.

    The test is skipped where there is no environment.

    :param commands: GDB command lines.
    :param cwd: GDB's working directory; the checkout when None.
    :param source: Whether to source gdb_etm first.
    :param arguments: More arguments for GDB, such as a program.
    :param may_crash: Whether GDB may end by an error of its own.
    """
    if not list(ROOT.glob(".venv/lib/python3*/site-packages")):
        pytest.skip("no .venv in the checkout; run scripts/setup")
    line = [gdb_program(), "-nx", "-q", "-batch", "-ex", "set width 0", "-ex", "set height 0"]
    for command in (["source %s" % SCRIPT] if source else []) + list(commands):
        line += ["-ex", command]
    # GDB's Python finds gdb_etm by the script alone, as it does for a user.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        line + list(arguments),
        cwd=str(cwd or ROOT),
        env=dict(environment, LC_ALL="C.UTF-8", TERM="dumb", HOME="/nonexistent"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=SECONDS,
        check=False,
    )
    # Where no core may be dumped GDB ends by itself after an internal error.
    has_crashed = done.returncode in _CRASHED or "A problem internal to GDB" in done.stdout
    assert may_crash or not has_crashed, done.stdout
    return done.stdout


def run_each(commands: Sequence[str], before: Sequence[str] = (), cwd: Optional[Path] = None) -> List[str]:
    """Run GDB commands in one GDB; return what each wrote.

    :param before: Commands before them, whose output is left out.
    :param cwd: GDB's working directory; the checkout when None.
    """
    marked = [line for command in commands for line in ("echo >>>\\n", command)]
    output = run_gdb([*before, *marked, "echo >>>\\n"], cwd)
    assert "Traceback" not in output and "Python Exception" not in output, output
    written = output.split(">>>\n")[1:-1]
    assert len(written) == len(commands), output
    return written
