"""Real GDB sessions: unwinding past a handler, and the board's truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from tests.firmware.build import elf
from tests.gdb_session import run_gdb

_PLACES = 6
_CHAINED = 0xFFFFFFFE

LOOK = (
    """python
import gdb, re
for _ in range(%d):
    gdb.execute("reverse-continue", False, True)
    where = re.search(r"instruction ([0-9,]+) of", gdb.execute("monitor where", False, True))
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        names.append((frame.type(), frame.name(), frame.pc(), int(frame.read_register("sp"))))
        frame = frame.older()
    signals = [index for index, each in enumerate(names) if each[0] == gdb.SIGTRAMP_FRAME]
    if where is None:
        break
    print("TOLD", where.group(1).replace(",", ""), [names[index + 1][2:] for index in signals], len(names))
end
"""
    % _PLACES
)


def truth(path: Path) -> Tuple[List[int], Dict[int, Tuple[int, int]]]:
    """Read the executed addresses, and the exceptions' return addresses.

    The latter by the index of a handler's first instruction.
    """
    ran: List[int] = []
    before: Dict[int, Tuple[int, int]] = {}
    stack = 0
    open_: List[Tuple[int, int]] = []
    # Of a handler that has returned: the next one may begin on its frame.
    left = (0, 0)
    for line in path.read_text("ascii").splitlines():
        if line.startswith("0x"):
            ran.append(int(line[:10], 16))
        elif line.startswith("registers"):
            found = re.search(r"\bsp=(\w+)", line)
            stack = int(found.group(1), 16) if found is not None else stack
        elif line.startswith("exception "):
            address = int(line.split()[3], 16)
            before[len(ran)] = (address, stack) if address != _CHAINED else left
            open_.append(before[len(ran)])
        elif line.startswith("exception-return") and open_:
            left = open_.pop()
    return ran, before


@pytest.mark.parametrize(
    "board, program, places",
    [
        ("m33", "interrupts", ("SysTick_Handler", "PendSV_Handler", "SVC_Handler")),
        ("m4", "interrupts", ("PendSV_Handler", "SVC_Handler")),
        ("m33", "tasks", ("PendSV_Handler", "SVC_Handler")),
    ],
)
def test_the_frame_behind_a_handler_is_the_interrupted_one(
    board: str, program: str, places: Tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "look.gdb").write_text(LOOK)
    where = "board:%s --elf %s --truth %s --registers --etb-size 16K" % (board, elf(program), tmp_path / "truth")
    breaks = ["break %s" % place for place in places]
    text = run_gdb(["etm connect %s" % where, "etm start", "continue", *breaks, "source %s" % (tmp_path / "look.gdb")])
    found = [line.split(None, 2)[1:] for line in text.splitlines() if line.startswith("TOLD")]
    assert len(found) == _PLACES, text
    assert "Further unwinding is impossible" not in text and "Python Exception" not in text
    (count,) = re.findall(r"etm: ([\d,]+) instructions", text)
    ran, before = truth(tmp_path / "truth")
    first = len(ran) - int(count.replace(",", "")) - 1
    for number, rest in found:
        # A breakpoint is behind the handler's prologue or at its first instruction.
        at = max(index for index in before if index <= first + int(number))
        assert first + int(number) - at < 6, number
        frames = re.findall(r"\((\d+), (\d+)\)", rest)
        assert frames, "GDB did not come past the handler at %s" % number
        pc, stack = (int(word) for word in frames[0])
        assert (pc, stack) == before[at], number
