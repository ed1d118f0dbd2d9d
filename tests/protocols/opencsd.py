"""OpenCSD's list of the packets of a stream."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import List, NamedTuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, RawCapture, TraceSource
from gdb_etm.snapshot.writer import write_snapshot

_LINE = re.compile(r"Idx:(\d+); ID:[0-9a-f]+;\t(.*)")


class Listed(NamedTuple):
    """A packet as OpenCSD lists it."""

    offset: int
    name: str
    text: str


def opencsd_packets(folder: Path, source: TraceSource, data: bytes) -> List[Listed]:
    """List the packets of a stream; ``folder`` must be new."""
    program = shutil.which("trc_pkt_lister")
    if program is None:
        pytest.skip("no trc_pkt_lister (Debian: libopencsd-bin)")
    capture = RawCapture(data, BufferFormat.RAW, (source,), BufferEnd.STARTED)
    write_snapshot(capture, str(folder / "snapshot"))
    log = folder / "log.ppl"
    command = [program, "-ss_dir", str(folder / "snapshot"), "-logfilename", str(log)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=120)
    matches = [_LINE.match(line) for line in log.read_text("utf-8", "replace").splitlines()]
    return [Listed(int(one[1]), one[2].split(" :")[0].strip(), one[2]) for one in matches if one is not None]
