"""What a process imports before it does anything.

Evidence: the source.  Modules are counted, not seconds: each costs a process a millisecond or less, and libraries cost
it fifty.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Set

import pytest

from tests.shared import capture_folder

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("capstone", "construct", "dataclasses", "elftools", "importlib.metadata", "inspect", "pathlib", "subprocess")
# Rooms that add to what the capture says by itself.
ROOMS = (
    "access",
    "board",
    "bundle",
    "commands",
    "coresight",
    "diagnosis",
    "offline",
    "recovery",
    "registers",
    "replay",
)
PROGRAM = """
import sys
from gdb_etm.__main__ import main
main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""


FROZEN = """
import atexit, gc, sys
from gdb_etm.__main__ import process
atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))
sys.exit(process())
"""


def imported(*words: str) -> Set[str]:
    """Name the modules that a command imports."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True, cwd=str(ROOT))
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("capture, protocols", [("juno_r1_1", "etmv4"), ("lpc1769-m3", "etmv3"), ("Snowball", "ptm")])
def test_elements_imports_what_decoding_needs_and_no_more(capture: str, protocols: str) -> None:
    found = imported("elements", capture_folder(capture))
    own = {one for one in found if one.startswith("gdb_etm.")}
    assert not found.intersection(HEAVY)
    assert not {one.split(".")[1] for one in own}.intersection(ROOMS)
    assert {one.split(".")[2] for one in own if one.startswith("gdb_etm.protocols.") and one.count(".") > 2} <= {
        protocols,
        "armv7",
    }
    assert len(own) < 75, sorted(own)
    assert not found.intersection(("shutil", "json", "urllib.parse"))


def test_a_process_ends_without_a_search_for_garbage() -> None:
    command = [sys.executable, "-c", FROZEN, "elements", capture_folder("lpc1769-m3")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True, cwd=str(ROOT))
    assert done.stdout
    assert int(done.stderr) > 10_000
