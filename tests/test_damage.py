"""Property test: damaged snapshots, ELF files and profiles.

Each kind is tried in a process with bounds on memory and time.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.damage import CHECKS, SECONDS
from tests.gdb_session import ROOT


@pytest.mark.parametrize("kind", CHECKS)
def test_damaged_files_are_read_or_refused(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.damage", kind, "40", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=str(ROOT),
        timeout=2 * SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "%s: 40 tried\n" % kind), done.stderr[-2000:]
