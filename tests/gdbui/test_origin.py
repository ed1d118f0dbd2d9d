"""Real GDB, real pyOCD: where values came from, and went to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.firmware.build import symbol
from tests.firmware.faulty.build import elf, missing
from tests.gdb_session import run_gdb
from tests.gdbui.test_values import DEMO, firmware, session
from tests.program.declared import compiled


def test_at_the_fault_and_at_a_position() -> None:
    commands = [
        "continue",
        "etm origin station.table[0].handler",
        "etm origin $r3",
        "etm goto 13594",
        "etm origin count",
        "etm origin text",
        "etm uses $r0",
        "etm origin 1 + 1",
        "etm race station.table[0].delivered",
        "etm writes --by dispatch station",
        "complete etm origin station.val",
        "help etm uses",
        "etm goto dispatch",
        "etm origin message->count",
    ]
    found = dict(zip(commands, session(commands)))
    whole = found["etm origin station.table[0].handler"]
    assert whole[:3] == [
        "station.table[0].handler = 0x00163333 at the fault, after #18,364:",
        "#13,594  <parse_values+26>   rx.c:83  station.table[0].handler = 0x00163333: stored from r0",
        "#13,591  <parse_number+116>  rx.c:75  r0 = 0x00163333: computed from r0, r3",
    ]
    assert '"set etm history-size" sets how many are listed]' in whole[-2]
    assert len([line for line in whole if line.startswith("#")]) == 10
    assert found["etm origin $r3"][0] == "r3 = 0x00163333 at the fault, after #18,364:"
    assert found["etm origin count"][0] == "count in r5 = 0x00000009 before instruction 13,594, <parse_values+26>:"
    assert found["etm origin text"][0].endswith("12,737, <parse_values+12>, where it had a place for the last time:")
    assert found["etm uses $r0"][1].endswith("station.table[0].handler = 0x00163333: stored from r0")
    assert found["etm origin 1 + 1"][0].endswith("(or ask about a register, or ADDRESS,SIZE)")
    assert found["etm race station.table[0].delivered"][1].startswith("no update of it was interrupted by another")
    assert all("<dispatch+" in line for line in found["etm writes --by dispatch station"][1:-2])
    assert "etm origin station.values" in found["complete etm origin station.val"]
    assert 'The guide: "gdb-etm guide fault" in a shell.' in found["help etm uses"]
    # A caller's variable has the name by which GDB prints it.
    assert "  main::message.count = 0x00000001: stored from r0" in found["etm origin message->count"][1]


def test_of_threads_and_handlers() -> None:
    commands = ["continue", "etm writes current", "etm writes order", "etm origin current", "etm origin r4"]
    commands += ["etm goto 1000", "etm origin sp", "etm uses r4"]
    found = dict(zip(commands, session(commands, program=firmware("tasks"))))
    stores = [line for line in found["etm writes current"] if line.startswith("#")]
    assert len(stores) == 10 and all(line.endswith("tasks.c:35  in PendSV") for line in stores)
    assert stores[0].split()[2:5] == ["0x00000000", "->", "0x00000001"]
    threads = {line.rpartition(", ")[2] for line in found["etm writes order"] if line.startswith("#")}
    assert threads and threads <= {"in thread task (thread 2)", "in thread task (thread 3)"}
    # A loop of two threads and a handler, and the store before it.
    assert found["etm origin current"][1].endswith("current = 0x00000001: stored from r2")
    assert found["etm origin current"][2].split("[")[1].startswith("10 more like it, to #")
    assert found["etm origin current"][-1].endswith(": a constant of the program]")
    # What it was when tracing started is known.
    assert found["etm origin r4"][-1].endswith("r4 = 0x00000000: there before what is known begins")
    assert "not followed" in found["etm origin sp"][-1]
    kept = [line.partition("tasks.c:41  ")[2] for line in found["etm uses r4"][1:3]]
    assert kept == ["stacks[0][45] = 0x20000000: stored from r4", "r4 = 0x20000000: loaded from stacks[0][45]"]


def test_a_name_of_c_is_none_of_adas() -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    path = str(elf("parking", "Os", "m33"))
    ask = "python from gdb_etm.gdbui.there import minimal_symbol; print(minimal_symbol(%d))"
    said = run_gdb(["file " + path, ask % (symbol(path, "lot__count_all") + 2)])
    assert "('lot__count_all', 2)" in said


def test_a_name_of_zig_is_none_of_adas(tmp_path: Path) -> None:
    source = """
    int stop(int why) __asm__("prog.onPanic");
    int stop(int why) { return why; }
    int main(void) { return stop(1); }
    """
    path = compiled(source, tmp_path, "-O0")
    ask = "python from gdb_etm.gdbui.there import minimal_symbol; print(minimal_symbol(%d))"
    said = run_gdb(["file " + path, ask % (symbol(path, "prog.onPanic") + 2)])
    assert "('prog.onPanic', 2)" in said


def test_a_file_that_was_built_again_names_nothing(tmp_path: Path) -> None:
    path = shutil.copy(DEMO, tmp_path / "program.elf")
    again = "shell cp %s %s" % (firmware("tasks"), path)
    commands = ["etm connect board:m33 --elf %s" % path, "etm start", "continue", again, "etm fault"]
    told = run_gdb([*commands, "etm origin 0x200000bc,4"])
    assert "r3 = 0x00163333: loaded from 0x200000bc\n" in told, told
    assert "0x200000bc = 0x00163333: stored from r0" in told
