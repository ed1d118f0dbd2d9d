"""Real GDB sessions: ``etm on``, ``counter``, ``sequencer``, ``trigger``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

from tests.firmware.build import elf
from tests.gdb_session import run_gdb

PATH = elf("interrupts")
_CONNECT = "etm connect board:m33 --elf %s --option board.resources=full" % PATH


def run(commands: List[str]) -> List[str]:
    """Run commands; ``CONNECT`` is to m33 with all resources."""
    output = run_gdb(["file %s" % PATH, *(_CONNECT if each == "CONNECT" else each for each in commands)])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.splitlines()


def test_events_are_numbered_and_listed() -> None:
    lines = run(
        [
            "etm on",
            "etm on exec note do mark",
            "etm counter 0 5 --reload 3 --periodic",
            "etm on exec jump do mark",
            "etm on exec pend or in happened do count 0",
            "etm on counter 0 do next-state",
            "etm on list",
            "etm counter",
            "etm sequencer",
            "etm on delete 1 3",
            "etm on delete 3",
            "etm on delete all",
            "etm counter delete all",
            "etm counter",
            "etm sequencer",
        ]
    )
    assert lines[0] == 'no events; "etm on exec FUNCTION do mark" makes one'
    assert lines[1] == 'Event 1: on exec note do mark (0x000000d0); from the next "etm start" on'
    assert lines[2] == 'Counter 0 from 5 reload 3 periodic; from the next "etm start" on'
    assert lines[3] == 'Function "jump" not defined'
    table = lines[next(n for n, line in enumerate(lines) if line.split() == ["Num", "Event", "Action", "Where"]) + 1 :]
    assert [re.split(r"  +", line) for line in table[:3]] == [
        ["1", "exec note", "mark", "0x000000d0"],
        ["2", "exec pend or in happened", "count 0", "0x000000e4, 0x000000fa-0x00000137"],
        ["3", "counter 0", "next-state"],
    ]
    assert [re.split(r"  +", line) for line in table[3:5]] == [
        ["Counter", "From", "Reload", "At zero", "Counts", "Reloads at"],
        ["0", "5", "3", "reloads at the next count", "exec pend or in happened", "-"],
    ]
    assert table[5:8] == ["begins in state 0", "Step    Event", "0 to 1  counter 0"]
    assert table[8].startswith("deleted event 1 (on exec note do mark), event 3 (on counter 0 do next-state); ")
    assert table[9] == 'no event 3; "etm on list" shows them'
    assert table[12:] == [
        'no counters; "etm counter 0 100" sets one',
        'no event moves the sequencer; "etm on EVENT do next-state 0-1" does',
    ]


def test_what_is_not_understood_or_not_there_is_a_line_and_takes_no_number() -> None:
    table = (
        ("etm on exec note", '"do ACTION" is missing; the actions are: trigger, '),
        ("etm on do mark", "an event (exec, in, "),
        ("etm on exec note do", '"" is no action; '),
        ("etm on exec note do jump", '"jump" is no action; they are: '),
        ("etm on counter 0 do mark", 'counter 0 is used but not set; "etm counter 0 VALUE" sets it'),
        ("etm on state 1 do mark", "state 1: nothing takes the sequencer there; "),
        ("etm on exec note do next-state 0-2", "from state 0 to 2: this unit's sequencer goes to the next state"),
        ("etm on exec note do next-state 3", "state 4: a sequencer has states 0 to 3"),
        ("etm on exec note do mark 4", "this unit has 4 events (TRCIDR0.NUMEVENT); marks, outputs and triggers need 5"),
        ("etm on dwt 4 do mark", "dwt 4: this unit has 4 inputs from the processor's comparators (TRCIDR4.NUMPC)"),
        ("etm on input 9 do mark", "input 9: this unit has 8 external inputs (TRCIDR5.NUMEXTIN)"),
        ("etm on load length do mark", "events of loads and stores: not in this trace unit (TRCIDR4.SUPPDAC is 0)"),
        ("etm on context 1 do mark", "Context ID: not in this trace unit (TRCIDR2.CIDSIZE is 0)"),
        ("etm on exec note and input 0 and dwt 1 do mark", '"exec note and input 0 and dwt 1" joins more than an'),
        ("etm on once input 0 do mark", '"once input 0": a single-shot control waits for instructions, loads and'),
        ("etm counter 0", "etm counter 0 needs a value: how many counts until it is at zero"),
        ("etm counter x 5", '"x" is not a number'),
        ("etm counter 0 65536", "counter 0: 65536 does not fit; it counts 0 to 65535"),
        ("etm counter 4 1", "this unit has 4 counters (TRCIDR5.NUMCNTR); the events need 5"),
        ("etm counter 0 1 --chained", "counter 0: only counters 1 and 3 go on from the one before"),
        ("etm counter delete 1", 'no counter 1 is set; "etm counter list" shows them'),
        ("etm sequencer begin 4", "state 4: a sequencer has states 0 to 3"),
        ("etm sequencer 1", 'WHAT: "1" is none of: begin'),
        ("etm trigger position 101", "etm trigger position needs a percentage, 0 to 100"),
        ("etm trigger position", "etm trigger position needs a percentage, 0 to 100"),
        ("etm on delete", 'etm on delete needs a number or "all"'),
    )
    lines = run(["CONNECT", "echo begin\\n", *(command for command, _ in table), "etm on exec note do mark"])
    lines = lines[lines.index("begin") + 1 :]
    assert len([line for line in lines if not line.startswith("[")]) == len(table) + 1
    for line, (command, wanted) in zip(lines, table):
        assert line.startswith(wanted), command
    assert lines[len(table)].startswith("Event 1: on exec note do mark ")


def test_a_change_while_tracing_holds_from_the_next_continue_on() -> None:
    lines = run(
        [
            "CONNECT",
            "etm start",
            "hbreak IRQ1_Handler",
            "continue",
            "etm on exec note do mark",
            "etm status",
            "continue",
            "etm captures 2",
            "echo one\\n",
            "etm history 1,100",
            "etm on delete 1",
            "continue",
            "etm captures 3",
            "echo two\\n",
            "etm history 1,100000",
        ]
    )
    assert 'Event 1: on exec note do mark (0x000000d0); from the next "continue" on' in lines
    assert "events: on exec note do mark" in lines
    marks = [lines.index(word) for word in ("one", "two")]
    assert "<event 0: exec note>" in lines[marks[0] : marks[1]]
    assert not any(line.startswith("<event") for line in lines[marks[1] :])


def test_a_snapshot_keeps_what_events_mean(tmp_path: Path) -> None:
    lines = run(
        [
            "CONNECT",
            "etm on exec note do mark",
            "etm start",
            "continue",
            "etm save %s" % (tmp_path / "saved"),
            "etm disconnect",
            "etm on delete all",
            "etm load %s" % (tmp_path / "saved"),
            "etm history 1,100000",
        ]
    )
    history = lines[next(n for n, line in enumerate(lines) if line.startswith("capture 2: ")) + 1 :]
    assert not any(line.startswith("another program") for line in history), "it is that one, though RAM is saved too"
    assert "<event 0: exec note>" in history


def test_events_outlive_the_connection_and_new_symbols() -> None:
    lines = run(
        [
            "CONNECT",
            "etm on exec note do mark",
            "etm disconnect",
            "file %s" % elf("steps"),
            "etm on list",
            "file %s" % PATH,
            "CONNECT",
            "etm on list",
        ]
    )
    assert 'note: event 1 (on exec note do mark): Function "note" not defined' in lines
    row = next(line for line in reversed(lines) if line.startswith("1 "))
    assert row.split() == ["1", "exec", "note", "mark", "0x000000d0", "comparator", "0,", "event", "0"]


def test_completion_and_help() -> None:
    lines = run(
        [
            "complete etm on ex",
            "complete etm on exec not",
            "complete etm on exec note ",
            "complete etm on exec note do tr",
            "complete etm on exec note and inp",
            "complete etm on del",
            "etm counter 2 5",
            "complete etm counter delete ",
            "complete etm trigger ",
            "help etm on",
        ]
    )
    assert lines[0] == "etm on exec"
    assert {"etm on exec note", "etm on exec note_from_asm"} <= set(lines)
    assert {"etm on exec note and", "etm on exec note do", "etm on exec note or"} <= set(lines)
    assert {
        "etm on exec note do trace",
        "etm on exec note do trigger",
        "etm on exec note and input",
        "etm on delete",
        "etm counter delete 2",
        "etm trigger position",
    } <= set(lines)
    assert "Choose what the trace unit does when something happens." in lines
