"""Real GDB, pyOCD, the boards' truth: all halts are one history."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

import pytest

from tests.gdb_session import run_gdb
from tests.replay.boards import DEMO, ELF

_LINE = re.compile(r"^(\d+) +0x([0-9a-f]{8}) ", re.MULTILINE)
_BACK = r"""python
import re
def position():
    return int(re.search(r"instruction ([\d,]+)", gdb.execute("monitor where", False, True))[1].replace(",", ""))
seen = []
while not seen or seen[-1] > 1782:
    gdb.execute("reverse-next", False, True)
    seen.append(position())
print("BACK", seen[0], seen[-1], len(seen), seen == sorted(seen, reverse=True))
end
"""
# Breakpoints, steps over lines and calls, a loop, and a watchpoint; then the fault.
_HALTS = ["break dispatch", *["continue"] * 7, "finish", "next", "next", "delete", "tbreak crc16", "continue", "next"]
_HALTS += ["until", "until", "watch ring_tail", "continue", "continue", "delete", "continue"]


def _ran(folder: Path) -> List[int]:
    # From the first resume to the last halt.
    lines = (folder / "truth").read_text("ascii").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    end = max(at for at, line in enumerate(lines) if line.startswith("halt"))
    return [int(line.split()[0], 16) for line in lines[begin:end] if line.startswith("0x")]


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_what_the_board_ran_from_the_first_halt_to_the_fault(board: str, tmp_path: Path) -> None:
    connect = "etm connect board:%s --elf %s --etb-size 64K --truth %s" % (board, ELF, tmp_path / "truth")
    (tmp_path / "back.gdb").write_text(_BACK)
    looks = ["echo >>>\\n", "etm history 1,1000000", "echo >>>\\n", "source %s" % (tmp_path / "back.gdb")]
    begin = ["set remotetimeout 100", connect, "etm start"]
    output = run_gdb([*begin, *_HALTS, *looks, "etm where", "etm live", "etm where"], cwd=DEMO)
    assert "Traceback" not in output and "Python Exception" not in output, output
    _, listed, walked = output.split(">>>\n")
    found = [(int(number), int(address, 16)) for number, address in _LINE.findall(listed)]
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    assert [address for _, address in found] == _ran(tmp_path)
    halts = re.findall(r"^\[halt in (\w+)(?: \((.*)\))?\]$", listed, re.MULTILINE)
    assert halts[:8] == [("dispatch", "breakpoint 1")] * 7 + [("main", "")]
    # pyOCD does not tell GDB of a watchpoint.
    assert ("crc16", "breakpoint 2") in halts and halts.count(("ring_get", "")) == 2
    assert "[stepped by the debugger]" in listed
    assert len(re.findall(r"^\[gap", listed, re.MULTILINE)) < 6
    back = re.search(r"^BACK (\d+) (\d+) \d+ True$", walked, re.MULTILINE)
    assert back is not None and int(back[1]) > len(found) - 9 and int(back[2]) <= 1782, walked
    assert "instruction {:,} of {:,}\n".format(int(back[2]), len(found)) in walked
    assert walked.count("after instruction {:,}, the last".format(len(found))) == 2


def test_one_capture_alone_and_all_again() -> None:
    begin = ["set remotetimeout 100", "etm connect board:m33 --elf %s" % ELF, "etm start", "tbreak crc16", "continue"]
    looks = ["next", "echo >>>\\n", "etm history -1", "etm captures 1", "etm history -1", "etm captures all"]
    limited = ["echo >>>\\n", "etm history -1", "set etm history-limit 2", "next", "etm history 1"]
    _, listed, left = run_gdb([*begin, *looks, *limited], cwd=DEMO).split(">>>\n")
    assert re.findall(r"^(\d+) ", listed, re.MULTILINE) == ["6090", "6088"]
    assert "capture 1: 6,088 instructions from Reset_Handler to report, 227 calls" in listed
    assert listed.endswith("the captures of the connection are one history\n")
    assert "\n6090 " in left
    assert re.search(r"^\[older captures were left out: .*\n1 +0x", left, re.MULTILINE), left
