"""Real GDB, with a history of over 50,000 instructions.

What ran is held against the board's truth: no store is gone past without a word.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List, Tuple

import pytest

from tests.firmware.build import symbol
from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT, SCRIPT, run_gdb
from tests.gdb_texts import no_more
from tests.replay.boards import REPLAY
from tests.terminal import Terminal

PROGRAM = elf("algorithms-O0")
LIMIT = 60000
_WHERE = re.compile(r"instruction ([\d,]+) of ([\d,]+)")


def parts(commands: List[str]) -> List[str]:
    """Run commands; give what GDB printed at each."""
    output = run_gdb([line for command in commands for line in ("echo >>>\\n", command)])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.split(">>>\n")[1:]


@pytest.fixture(scope="module", name="session")
def fixture_session(tmp_path_factory: pytest.TempPathFactory) -> "Session":
    return Session(tmp_path_factory.mktemp("long"))


class Session:
    """One walk back through a long run.

    :param folder: Where the board's truth and a snapshot go.
    """

    def __init__(self, folder: Path) -> None:
        truth, self.snapshot = folder / "truth", folder / "snapshot"
        connect = "etm connect board:m33 --etb-size 64K --elf %s --truth %s --option board.truth_data=1"
        limit = "set etm recovery-limit %d" % LIMIT
        begin = [connect % (PROGRAM, truth), limit, "break finished", "etm start", "continue", "delete"]
        moves = ["reverse-continue", "monitor where"] * 2
        found = parts([*begin, "watch numbers[3]", *moves, "etm save %s" % self.snapshot])
        self.moves = found[len(begin) + 1 : len(begin) + 5]
        address = symbol(PROGRAM, "numbers") + 12
        self.length = numbers_of(self.moves[1])[1]
        written = stores(truth, address, self.length)
        self.stores = [number for number, _ in written]
        # Where GDB sees another value than before.
        self.changes = [later[0] for older, later in zip([(0, -1), *written], written) if older[1] != later[1]]


def numbers_of(where: str) -> Tuple[int, int]:
    """Read ``monitor where``: the instruction and the total."""
    found = _WHERE.search(where)
    assert found is not None, where
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def stores(truth: Path, address: int, length: int) -> List[Tuple[int, int]]:
    """List who stored a word, and the word, as the board tells.

    :param length: How many ran last: before them the program ran untraced.
    """
    lines = truth.read_text().splitlines()
    found: List[Tuple[int, int]] = []
    number = length - sum(line.startswith("0x") for line in lines)
    for line in lines:
        number += line.startswith("0x")
        words = line.split()
        if number > 0 and words[:3] == ["store", "0x%08x" % address, "4"]:
            found.append((number, int(words[3], 16)))
    return found


def test_a_watchpoint_goes_past_no_store_without_a_word(session: Session) -> None:
    assert session.length > 100_000
    number = session.length + 1
    for told, where in zip(session.moves[::2], session.moves[1::2]):
        stopped, _ = numbers_of(where)
        passed = [store for store in session.changes if stopped < store < number - 1]
        unknown = re.search(r"on the way: ([\d,]+) accesses to addresses that are not known; they may have been", told)
        assert len(passed) <= (int(unknown[1].replace(",", "")) if unknown else 0), (stopped, passed, told)
        number = stopped
        if no_more() in told:
            break
    assert "and those before it accessed is not worked out" in told and "the next command goes on beyond it" in told
    assert abs(session.length - LIMIT - number) < 100


def test_the_plug_in_says_how_far_back_it_looks(session: Session) -> None:
    commands = [
        "file %s" % PROGRAM,
        "etm load %s" % session.snapshot,
        "set etm recovery-limit 3000",
        "etm writes numbers[3]",
        "etm print --at 9 $r0",
        "etm goto run",
        # Where it ran once, and the cursor is there already.
        "etm goto run",
        "etm goto *0x%x" % (symbol(PROGRAM, "finished") + 4),
    ]
    *_, writes, value, run, again, absent = parts(commands)
    listed = [int(line[1:].split()[0].replace(",", "")) for line in writes.splitlines() if line.startswith("#")]
    assert set(listed) <= set(session.stores)
    assert 'more than 3,000 instructions before the end ("set etm recovery-limit")' in writes
    around = r'\[provisional: worked out from 1,0\d\d instructions around here; "set etm recovery-limit" leaves out'
    assert value.startswith("$r0 = ") and re.search(around, value), value
    assert "run () at" in run and again == run
    assert "finished is in this history, but not " in absent


def test_the_same_without_the_plug_in(session: Session) -> None:
    target = "%s %s --elf %s --recovery-limit %d" % (REPLAY, session.snapshot, PROGRAM, LIMIT)
    output = run_gdb(
        [
            "file %s" % PROGRAM,
            target,
            "watch numbers[3]",
            "reverse-continue",
            "monitor where",
            "monitor recovery-limit",
            "rwatch seed",
            "awatch used",
            "reverse-continue",
        ],
        source=False,
    )
    assert "may have requested too many hardware" not in output and "Traceback" not in output
    assert _WHERE.findall(output)[0] == _WHERE.findall(session.moves[1])[0]
    assert "recovery-limit is %d" % LIMIT in output.splitlines()


def test_ctrl_c_ends_the_work_on_older_pieces(session: Session) -> None:
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    line = ["gdb-multiarch", "-nx", "-q", "-ex", "set width 0", "-ex", "set pagination off"]
    for command in ("source %s" % SCRIPT, "file %s" % PROGRAM, "etm load %s" % session.snapshot, "echo ready\\n"):
        line += ["-ex", command]
    with Terminal(line, environment, ROOT) as terminal:
        at = terminal.wait("ready\n")
        terminal.type("set etm recovery-background off\nset etm recovery-limit unlimited\netm goto 2000\netm why r0\n")
        at = terminal.wait("Working out the values of ", at)
        terminal.type("\x03")
        quit_at = terminal.wait("Quit while working out the values of ", at)
        at = terminal.wait("(gdb) ", quit_at)
        assert re.fullmatch(r"[\d,]+ instructions, at \d+%\n\(gdb\) ", terminal.seen[quit_at:at])
        terminal.type("etm history -1\n")
        terminal.wait("<finished+", at)
        assert "Python Exception" not in terminal.seen and "Traceback" not in terminal.seen
