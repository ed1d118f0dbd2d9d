"""The source, read, and real pip: tests on every GDB.

Which tests run on every GDB, and how GDBs are fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, List

import pytest

from tests.access import test_lost_probe, test_process
from tests.api import test_inside
from tests.gdb_marker import starts_gdb
from tests.gdb_session import ROOT
from tests.gdbui import attacks, test_attacks, test_demo_session
from tests.replay import boards


@pytest.mark.parametrize(
    "begin",
    [
        boards.run,
        attacks.session,
        test_attacks.test_a_signal,
        test_inside.run,
        test_demo_session.test_the_transcript_explains_the_fault,
    ],
)
def test_what_leads_to_gdb_is_known(begin: Any) -> None:
    assert starts_gdb(begin)


@pytest.mark.parametrize("begin", [test_process.start_board, test_lost_probe.fail_after, boards.pyocd_server])
def test_what_only_leads_to_pyocd_is_not(begin: Any) -> None:
    assert not starts_gdb(begin)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the script needs, and no package index."""
    (tmp_path / "scripts").mkdir()
    for name in ("fetch-gdb", "gdb-wheels.sha256"):
        shutil.copy(str(ROOT / "scripts" / name), str(tmp_path / "scripts"))
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


def fetch(checkout: Path, *words: str) -> List[str]:
    """Fail to fetch a GDB from the checkout's wheels; return the message."""
    environment = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(checkout)}
    done = subprocess.run(
        [str(checkout / "scripts" / "fetch-gdb"), *words],
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **environment),
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and not list(checkout.glob("build/gdb/*"))
    assert [path for path in checkout.glob("build/gdb/.*") if path.name.startswith(".1")] == []
    return done.stderr.splitlines()


def test_a_version_or_python_that_there_is_none_for_is_told_in_a_line(checkout: Path) -> None:
    assert fetch(checkout) == ['fetch-gdb: "" is no GDB that can be fetched; these are: 16.3 17.2 18.1']
    assert fetch(checkout, "15.1") == ['fetch-gdb: "15.1" is no GDB that can be fetched; these are: 16.3 17.2 18.1']
    (told,) = fetch(checkout, "16.3", "no-such-python")
    assert told.endswith("with its shared library (Debian: libpython3.11) among: no-such-python")


def test_no_network_is_told_in_a_line(checkout: Path) -> None:
    (told,) = fetch(checkout, "17.2")
    assert told.startswith("fetch-gdb: pip could not fetch GDB 17.2 (is there a network?): ")


def test_a_wheel_of_other_content_is_refused(checkout: Path) -> None:
    for line in (checkout / "scripts" / "gdb-wheels.sha256").read_text().splitlines():
        with zipfile.ZipFile(str(checkout / line.split()[1]), "w") as wheel:
            wheel.writestr("gdb_for_pwndbg/gdb.py", "")
    (told,) = fetch(checkout, "18.1")
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in told
