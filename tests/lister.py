"""OpenCSD's ``trc_pkt_lister``: the other decoder."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Union

import pytest

from tests.execution import EXCEPTION_RETURN, Event

_RANGE = re.compile(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\).*?\(ISA=\w+\) ([EN]) ")
_EXCEPTION = re.compile(r"(?:pref ret addr:0x([0-9a-f]+).*)?excep num \(0x([0-9a-f]+)\)")


class ListedRange(NamedTuple):
    """A range of executed instructions as OpenCSD tells it."""

    start: int
    # Address just past the last instruction.
    end: int
    instructions: int
    # Whether the last one passed its condition; of a branch, whether it was taken.
    passed: bool


def list_packets(folder: str, *options: str) -> List[str]:
    """Return OpenCSD's lines (``Idx:...``) of packets and elements of a snapshot.

    :param options: More options, such as ``"-src_name", "ETB_1"``.
    """
    program = shutil.which("trc_pkt_lister")
    if program is None:
        pytest.skip("no trc_pkt_lister (Debian: libopencsd-bin)")
    with tempfile.TemporaryDirectory() as scratch:
        # The log file must not exist: the lister appends.
        log = Path(scratch) / "log.ppl"
        command = [program, "-ss_dir", folder, "-decode", "-logfilename", str(log), *options]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=300)
        lines = log.read_text("utf-8", "replace").splitlines()
    return [line for line in lines if line.startswith("Idx:")]


def list_execution(folder: str) -> List[Union[ListedRange, Event]]:
    """Return the execution that OpenCSD decodes.

    What it could not decode stands there as its line.
    """
    found: List[Union[ListedRange, Event]] = []
    for line in list_packets(folder):
        if "ELEM_INSTR_RANGE" in line:
            match = _RANGE.search(line)
            assert match is not None
            found.append(ListedRange(int(match[1], 16), int(match[2], 16), int(match[3]), match[4] == "E"))
        elif "ELEM_EXCEPTION(" in line:
            match = _EXCEPTION.search(line)
            assert match is not None
            # Trace of ETMv3 does not tell where an exception returns to.
            found.append(("exception", int(match[2], 16), int(match[1], 16) if match[1] else None))
        elif "ELEM_EXCEPTION_RET" in line:
            found.append(EXCEPTION_RETURN)
        elif "ADDR_NACC" in line or "BAD" in line or "RESERVED" in line:
            found.append(line)
    return found
