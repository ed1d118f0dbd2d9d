"""Real GDB sessions: the trace unit loses its power."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Sequence, Tuple

import pytest

from tests.firmware.cortex_a.build import elf
from tests.gdb_session import ROOT, run_gdb

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
LOST = (
    "note: the trace unit lost its power while it traced (%s), and what it was programmed with: what ran after that is"
    " not in the trace; before it traces again it is programmed anew"
)
# Bytes of what ran: 30,000 instructions.
_RAN = 330000
_BREAKPOINT = re.compile(r"Temporary breakpoint \d+ at (0x[0-9a-f]+)")
_LINE = re.compile(r"(\d+) [ !]? *0x([0-9a-f]{8}) ")


def addresses(output: str) -> List[int]:
    return [int(match[2], 16) for match in map(_LINE.match, output.splitlines()) if match]


def executed(path: Path) -> List[int]:
    return [int(line.split()[0], 16) for line in path.read_text("ascii").splitlines() if line.startswith("0x")]


def session(board: str, faults: str, folder: Path, start: str = "") -> Tuple[List[str], List[int]]:
    """Run the demo to two breakpoints; return output and truth."""
    commands = [
        "etm connect board:%s --elf demo.elf --etb-size 64K --truth %s --option board.faults=%s"
        % (board, folder / "truth", faults),
        "tbreak main",
        "continue",
        "etm start " + start,
        "tbreak on_temperature",
        "continue",
        "etm history 1,1000000",
        "echo >>>\\n",
        "tbreak crc16",
        "continue",
        "etm captures 2",
        "etm history 1,1000000",
        "echo >>>\\n",
        "etm disconnect",
    ]
    output = run_gdb(commands, cwd=DEMO)
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.split(">>>\n"), executed(folder / "truth")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "board, field, faults",
    [
        ("m33", "TRCPDSR.STICKYPD", "power-loss:100"),
        ("m33", "TRCPDSR.STICKYPD", "power-loss:100,os-lock,power-domain"),
        ("m7", "TRCPDSR.STICKYPD", "power-loss:100"),
        ("m4", "ETMPDSR.Sticky", "power-loss:100"),
        ("m4", "ETMPDSR.Sticky", "power-loss:100,os-lock,power-domain"),
    ],
)
def test_it_is_noticed_and_the_unit_is_programmed_anew(board: str, field: str, faults: str, tmp_path: Path) -> None:
    parts, truth = session(board, faults, tmp_path, "--timestamps")
    lost, whole = parts[:2]
    assert LOST % field in lost.splitlines()
    found = addresses(lost)
    start = truth.index(found[0])
    assert len(found) > 100 and found == truth[start : start + len(found)]
    assert "lost its power" not in whole
    later = addresses(whole)
    # From one breakpoint to the next; what ran before it, after the loss, is in no capture.
    again = truth.index(later[0])
    assert again > start + len(found)
    assert later == truth[again : truth.index(int(_BREAKPOINT.findall(whole)[-1], 16), again)]
    assert "Error" not in parts[2] and "disconnected from" in parts[2]


def without_core(loss: int, folder: Path, commands: Sequence[str]) -> List[str]:
    place = "--elf %s --truth %s --option board.hold=1" % (elf("sort-t32"), folder / "truth")
    connect = "etm connect board:a9 --dap-only --etb-size 64K --option board.faults=power-loss:%d " % loss
    start = "etm start --branch-broadcast"
    # The core has run on for long after the loss.
    wait = "python import os, time; [time.sleep(0.1) for _ in range(200) if os.path.getsize(%r) < %d]"
    ran = wait % (str(folder / "truth"), _RAN)
    return run_gdb([connect + place, start, ran, "etm stop", *commands]).splitlines()


def test_of_a_core_that_gdb_does_not_control(tmp_path: Path) -> None:
    """The trace of a PTM, looked at when tracing is stopped."""
    output = without_core(8000, tmp_path, ["etm history 1,1000000", "etm disconnect"])
    assert LOST % "ETMPDSR.Sticky" in output
    found, real = addresses("\n".join(output)), executed(tmp_path / "truth")
    assert 1000 < len(found) < len(real) and found == real[: len(found)]


def test_as_soon_as_it_is_started(tmp_path: Path) -> None:
    output = without_core(1, tmp_path, ["etm start", "etm status", "etm disconnect"])
    words = "the trace unit at 0x8009c000 lost power while it was programmed (ETMPDSR.Sticky)"
    # A core that is slow runs its first instruction when the unit is programmed already.
    assert words + ": keep the core awake and start again" in output or LOST % "ETMPDSR.Sticky" in output
    assert "trace unit: on, busy, powered, no OS Lock, claimed by us" in output
