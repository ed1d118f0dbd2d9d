"""OpenCSD's ``trc_pkt_lister``: the other decoder."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List

import pytest


def list_packets(folder: str, *options: str) -> List[str]:
    """Return the packet and element lines (``Idx:...``) that OpenCSD makes of a snapshot folder.

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
