"""Real GDB sessions: a capture's anchors and the board's truth."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

from gdb_etm.session.halt_states import anchored_of
from gdb_etm.snapshot.reader import read_snapshot
from tests.firmware.build import symbol
from tests.firmware.recovery.build import elf
from tests.gdb_session import run_gdb
from tests.lister import list_packets

PROGRAM = elf("algorithms-Os")
NUMBERS, SEED = symbol(PROGRAM, "numbers"), symbol(PROGRAM, "seed")
# RAM that the program does not use.
UNUSED = 0x20040000
CORE = ["r%d" % number for number in range(13)] + ["sp", "lr"]

# For each capture: what Anchored says of the first and the last instruction's neighbourhood.
TELL = (
    """python
import json
from gdb_etm.api.inside import commands_session
session = commands_session()
def told(state):
    if state is None:
        return None
    word = state.read(%#x, 4)
    return dict(registers=dict(state.registers), word=None if word is None else word.hex())
for record in session.captures:
    history = session.decode(record).history
    begin, end = record.anchored.before(history), record.anchored.after(history)
    print("TOLD " + json.dumps(dict(count=len(history), begin=told(begin), end=told(end))))
end
"""
    % NUMBERS
)


def session(folder: Path, *commands: str, board: str = "m33", options: str = "") -> str:
    """Run a session with a breakpoint in crc32(); return what GDB wrote."""
    script = folder / "tell.gdb"
    script.write_text(TELL)
    connect = "etm connect board:%s --elf %s --truth %s --registers %s" % (board, PROGRAM, folder / "truth", options)
    lines = [line if line != "tell" else "source %s" % script for line in commands]
    return run_gdb([connect, "break quick_sort", "etm start", *lines])


def told(text: str) -> List[Dict[str, Any]]:
    """Return the value given for each capture."""
    assert "Traceback" not in text and "Error" not in text, text
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("TOLD ")]


class Rest(NamedTuple):
    """A time at which the core did not run."""

    # Registers at its beginning.
    halt: Dict[str, int]
    # Registers at its end.
    resume: Dict[str, int]


def truth(folder: Path) -> List[Rest]:
    """Return the times at which the core was halted.

    Before the first continue it had run, and was reset.
    """
    found: List[Rest] = []
    now: Dict[str, int] = {}
    resumed = False
    end = symbol(PROGRAM, "finished")
    for line in (folder / "truth").read_text("ascii").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "registers":
            now = {**now, **{name: int(value, 16) for name, value in re.findall(r"(\w+)=0x(\w+)", rest)}}
            if resumed:
                found[-1] = found[-1]._replace(resume=dict(now, pc=found[-1].resume["pc"]))
        resumed = kind == "resume"
        if kind == "halt" and int(rest, 16) == end:
            # GDB had gone before.
            break
        if kind == "halt":
            found.append(Rest(dict(now, pc=int(rest, 16)), {}))
        elif kind == "resume":
            found[-1] = found[-1]._replace(resume=dict(now, pc=int(rest, 16)))
    return found


def same(told_of: Optional[Dict[str, Any]], real: Dict[str, int]) -> bool:
    """Tell whether an anchor has the registers of a halt."""
    assert told_of is not None
    names = CORE + ["pc", "msp", "psp", "control"]
    return all(told_of["registers"][name] == real[name] for name in names)


def test_both_ends_are_the_truths(tmp_path: Path) -> None:
    found = told(session(tmp_path, "continue", "continue", "tell"))
    rests = truth(tmp_path)
    first, second = found
    # The step over the breakpoint is one between them.
    assert len(rests) == 4
    assert same(first["begin"], rests[0].resume) and same(first["end"], rests[1].halt)
    assert same(second["begin"], rests[1].resume) and same(second["end"], rests[3].halt)
    assert second["end"]["word"] is not None
    # The first halt is over, and nobody asked for its memory.
    assert first["end"]["word"] is None and second["begin"]["word"] is None
    assert first["end"]["registers"]["xpsr"] & 1 << 24


def test_stack_limits_are_read_where_the_server_does_not_give_them(tmp_path: Path) -> None:
    (found,) = told(session(tmp_path, "continue", "info registers msplim", "tell"))
    top = symbol(PROGRAM, "_stack_top")
    assert found["begin"]["registers"]["msplim"] == 0
    assert (found["end"]["registers"]["msplim"], found["end"]["registers"]["psplim"]) == (top - 4096, 0)
    assert not set(found["end"]["registers"]) & {"msplim_s", "msplim_ns"}


def test_memory_is_saved_when_it_is_asked_for(tmp_path: Path) -> None:
    found = told(session(tmp_path, "set etm anchor-memory on", "continue", "continue", "tell"))
    first, second = found
    assert first["begin"]["word"] is not None  # RAM outlives a reset
    assert first["end"]["word"] == second["begin"]["word"] != "00000000"
    assert second["end"]["word"] is not None


def test_what_the_user_changes_is_not_what_the_program_left(tmp_path: Path) -> None:
    commands = ["continue", "set var numbers[0] = 99", "set var $r4 = 0x1234", "set etm anchor-memory on", "continue"]
    first, second = told(session(tmp_path, *commands, "tell"))
    assert first["end"]["word"] is None
    assert first["end"]["registers"]["r4"] == truth(tmp_path)[1].halt["r4"] != 0x1234
    assert second["begin"]["registers"]["r4"] == 0x1234
    assert second["begin"]["word"] == "63000000"


def test_behind_a_filter_the_ends_say_nothing(tmp_path: Path) -> None:
    commands = ["etm filter include crc32", "delete", "break base64", "continue", "tell"]
    (found,) = told(session(tmp_path, *commands, options="--option board.comparators=4"))
    assert found["count"] > 100
    assert found["begin"] is None and found["end"] is None


def test_a_cortex_m4_halted_where_its_last_instruction_leads(tmp_path: Path) -> None:
    first, second = told(session(tmp_path, "continue", "continue", "tell", board="m4", options="--etb-size 64K"))
    assert same(second["end"], truth(tmp_path)[-1].halt)


def test_a_lazy_drain_has_the_state_before_the_first_of_its_runs(tmp_path: Path) -> None:
    commands = ["set etm drain lazy", "continue", "continue", "continue", "etm history", "tell"]
    (found,) = told(session(tmp_path, *commands, options="--etb-size 64K"))
    rests = truth(tmp_path)
    assert same(found["begin"], rests[0].resume) and same(found["end"], rests[-1].halt)


def test_a_saved_capture_holds_the_state_at_the_halt(tmp_path: Path) -> None:
    save = ["etm save %s" % (tmp_path / "saved"), "dump binary value %s numbers" % (tmp_path / "numbers")]
    text = session(tmp_path, "continue", "tell", *save)
    (found,) = told(text)
    (capture,) = read_snapshot(str(tmp_path / "saved"))
    anchor = anchored_of(capture).end
    assert anchor is not None
    assert {name: anchor.registers[name] for name in CORE} == {name: truth(tmp_path)[1].halt[name] for name in CORE}
    held = (tmp_path / "numbers").read_bytes()
    assert anchor.read(NUMBERS, len(held)) == held
    stack = anchor.registers["sp"]
    assert anchor.read(stack, 16) is not None
    load = ["etm load %s" % (tmp_path / "saved"), "source %s" % (tmp_path / "tell.gdb")]
    again = told(run_gdb(load, arguments=[PROGRAM]))
    assert [one["end"] for one in again] == [dict(found["end"], registers=dict(anchor.registers))]
    assert [one["begin"] for one in again] == [found["begin"]]


def test_a_saved_capture_holds_the_state_when_the_run_began(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    commands = ["set etm anchor-memory on", "continue", "etm stop", "etm save %s" % saved, "tell"]
    found = told(session(tmp_path, *commands, options="--etb-size 64K"))[-1]
    assert found["count"] > 1000 and found["begin"]["word"] is not None
    again = told(run_gdb(["etm load %s" % saved, "source %s" % (tmp_path / "tell.gdb")], arguments=[PROGRAM]))[-1]
    assert again["begin"] == found["begin"] and same(again["begin"], truth(tmp_path)[0].resume)
    # Another tool passes over it.
    assert list_packets(saved) and not [line for line in list_packets(saved) if "BAD" in line]


def test_memory_is_that_of_the_target_that_was_halted(tmp_path: Path) -> None:
    begin, look = ["continue", "print /x seed"], "etm x /1xw --at 2320 0x%x" % SEED
    # GDB would read another program's file, or another run.
    other = ["add-inferior -exec %s" % elf("algorithms-O0"), "inferior 2", look, "inferior 1"]
    again = ["etm disconnect", "etm connect board:m33 --elf %s" % PROGRAM, look]
    found = session(tmp_path, *begin, *other, *again)
    was = re.search(r"\$1 = 0x([0-9a-f]+)", found)
    words = re.findall(r"^0x%x.*:\s+(\S+)$" % SEED, found, re.MULTILINE)
    assert was is not None and words == ["0x%08x" % int(was[1], 16)] * 2, found
    # What was not read before the disconnection is lost, where the program has neither set nor stored it.
    look = look.replace("0x%x" % SEED, "0x%x" % UNUSED)
    found = session(tmp_path, *begin, *again[:2], look)
    assert re.search(r"^0x%x.*:\s+<unavailable>$" % UNUSED, found, re.MULTILINE), found
