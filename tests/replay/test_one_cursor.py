"""Real GDB session: its commands and the plug-in's have one position.

Over MI as well, as an IDE drives GDB; the debug adapter's test has its part.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import List

import pytest

from tests.firmware.build import elf
from tests.gdb_texts import gdb_version
from tests.gdbui.test_board import CONNECT
from tests.replay.boards import ELF, run
from tests.replay.test_mi import SCRIPT, Mi

pytestmark = pytest.mark.every_gdb

_MOVES = ["step", "next", "finish", "stepi 7", "continue", "until"]
_MOVES += ["reverse-step", "reverse-next", "reverse-finish", "reverse-stepi", "reverse-continue", "reverse-next 3"]
_JUMPS = ["goto 1", "goto -1", "goto 50%%", "goto 777", "goto -300", "goto here", "undo", "live"]
_JUMPS += ["last %s", "next-hit %s"]
# Plays a script; after each line it prints what GDB and the plug-in take for the position.
_PLAY = r"""
python
import gdb, re
def told(command):
    try:
        text = gdb.execute(command, False, True)
    except gdb.error:
        return "end"
    found = re.search(r"instruction (\d[\d,]*)\b(, the last)?", text)
    return "end" if found is None or found.group(2) else found.group(1).replace(",", "")
gdb.execute("etm goto 400", False, True)
gdb.execute("etm mark here", False, True)
for line in open(%(script)r):
    line = line.strip()
    if told("monitor where") == "end" and not line.startswith(("reverse", "etm")):
        continue  # the target would run
    try:
        gdb.execute(line, False, True)
    except gdb.error as error:
        print("\nREFUSED", line, error)
    pc = [int(gdb.parse_and_eval(name)) & 0xFFFFFFFE for name in ("$pc", "$etm_pc")]
    print("\n@", line.replace(" ", "_"), told("monitor where"), told("etm where"), *pc)
print("\nHITS", *[one.hit_count for one in gdb.breakpoints() or ()])
end
"""


def _script(seed: int, function: str, count: int) -> List[str]:
    choose = random.Random(seed)
    lines = []
    for _ in range(count):
        move = choose.choice(_MOVES + _JUMPS)
        jumps = move in _JUMPS
        own = jumps or choose.random() < 0.5
        lines.append(("etm " if own else "") + (move % function if "%s" in move else move.replace("%%", "%")))
    return lines


def _play(path: str, until: List[str], script: List[str], folder: Path) -> List[List[str]]:
    (folder / "script").write_text("".join(line + "\n" for line in script))
    (folder / "play").write_text(_PLAY % {"script": str(folder / "script")})
    # Such a GDB crashes when it goes back over two calls of longjmp (tests.replay.test_longjmp).
    system = ["set osabi none"] if gdb_version() > 15 else []
    connect = [*system, "etm connect board:m33 --elf %s" % path, "etm start", *until, "etm where"]
    output = run([*connect, "source %s" % (folder / "play")])
    found = [line.split()[1:] for line in output.splitlines() if line.startswith("@ ")]
    assert len(found) > len(script) // 2, output[-3000:]
    return found


@pytest.mark.parametrize(
    "name, until, function",
    [
        ("steps", ["break sink", "continue", "next", "finish", "delete", "tbreak finished", "continue"], "sink"),
        ("interrupts", ["tbreak run", "continue", "next", "next", "tbreak finished", "continue"], "run"),
        ("demo", ["break dispatch", "continue", "continue", "next", "continue", "delete", "continue"], "crc16"),
    ],
)
def test_both_are_at_the_same_instruction_after_each_line(
    name: str, until: List[str], function: str, tmp_path: Path
) -> None:
    path = str(ELF) if name == "demo" else elf(name)
    places = set()
    for line, gdbs, ours, pc, etm_pc in _play(path, until, _script(len(name), function, 60), tmp_path):
        assert gdbs == ours and pc == etm_pc, "after %s GDB is at %s, the plug-in at %s" % (line, gdbs, ours)
        places.add(gdbs)
    assert len(places) > 12


def test_a_place_that_is_gone_to_is_no_hit_of_a_breakpoint_there(tmp_path: Path) -> None:
    (tmp_path / "logging.gdb").write_text("break crc16\ncommands\ncontinue\nend\n")
    commands = [CONNECT, "etm start", "continue", "source %s" % (tmp_path / "logging.gdb"), "etm last crc16"]
    output = run([*commands, "etm where", "info breakpoints"])
    assert re.search(r"^instruction [\d,]+ of ", output, re.MULTILINE) and "already hit" not in output


def test_the_live_end_is_where_forward_commands_stop() -> None:
    forward = ["etm step", "etm next", "etm stepi", "etm finish", "etm continue 3", "etm until", "etm advance main"]
    output = run([CONNECT, "etm start", "continue", *forward, "etm live", "etm goto end", "etm captures"])
    assert output.count("No more reverse-execution history.") == len(forward)
    assert output.count("after instruction ") == 2 and "\n* 1 " in output and "\n  1 " not in output


def test_a_move_selects_the_newest_frame() -> None:
    output = run(
        [CONNECT, "etm start", "continue", "frame 1", "etm live", "frame 1", "etm goto -1", "up", "etm goto -1"]
    )
    moved = [line for line in output.splitlines() if line.startswith(("#", "0x"))]
    assert [line.split(" (")[0] for line in moved] == [
        "#1  <signal handler called>",
        "#0  HardFault_Handler",
        "#1  <signal handler called>",
        "0x00000304 in dispatch",
        "#1  0x000000da in main",
        "0x00000304 in dispatch",
    ]


def test_an_ide_hears_of_each_move() -> None:
    with Mi() as mi:
        mi.type("source %s" % SCRIPT)
        mi.type(CONNECT)
        mi.type("etm start")
        assert mi.go("-exec-continue")[2] == "HardFault_Handler"
        for words, function in (("last crc16", "crc16"), ("reverse-finish", "report"), ("goto -1", "dispatch")):
            address = mi.go('-interpreter-exec console "etm %s"' % words)[1:]
            assert address[1] == function
            assert 'addr="%s"' % address[0] in mi.ask("-stack-info-frame")
        stepped = mi.go("-exec-step-instruction --reverse")
        shown = mi.ask('-data-evaluate-expression "$etm_pc"')
        assert stepped[2] == "dispatch" and str(int(stepped[1], 16)) in shown
        assert mi.go('-interpreter-exec console "etm live"')[2] == "HardFault_Handler"
