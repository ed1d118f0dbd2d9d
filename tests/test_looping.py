"""The board's truth: a capture of looping firmware can be decoded.

scripts/bench measures that capture.

Where the trace repeats itself is worked by hand.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

from gdb_etm.history.build import build
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.packets import ASYNC
from gdb_etm.snapshot.reader import read_snapshot
from tests.test_style import ROOT

SCRIPT = ROOT / "scripts" / "benchmark" / "looping.py"
FIRMWARE = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"


def test_the_capture_is_made_and_decoded(tmp_path: Path) -> None:
    folder = tmp_path / "looping"
    command = [sys.executable, str(SCRIPT), str(folder), str(FIRMWARE), str(16 << 20), "20000"]
    subprocess.run(command, check=True, timeout=120)
    assert "all of it run on the board" in (folder / "note.txt").read_text("utf-8")
    (history,) = build(*read_snapshot(str(folder))).values()
    assert len(history) > 50000
    # Tracing begins, and is never interrupted.
    assert [event.reason for event in history.events if isinstance(event, Gap)] == [GapReason.TRACE_ON]


def test_where_trace_repeats_itself() -> None:
    period = runpy.run_path(str(SCRIPT))["period"]
    # 70,000 bytes that end in a synchronisation packet, twice, behind others.
    once = bytes(range(1, 251)) * 280
    begun = b"\x01" * 1000 + ASYNC
    assert period(begun + (once + ASYNC) * 2) == (1000 + 12 + 70000, 1000 + 12 + 70000 * 2 + 12)
    assert period(begun + once + ASYNC) is None
    assert period(b"\x01" * 1000 + ASYNC) is None
