"""Real GDB sessions' captures in the shell: values of the past."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from tests.gdb_session import ROOT, run_gdb

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"


@pytest.fixture(scope="module", name="snapshot")
def fixture_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the demo's capture."""
    pytest.importorskip("unicorn")
    folder = tmp_path_factory.mktemp("past") / "snapshot"
    run_gdb(["etm connect board:m33 --elf %s" % DEMO, "etm start", "continue", "etm save %s" % folder])
    return folder


def shell(command: str, snapshot: Path, *words: str) -> Tuple[int, List[str]]:
    """Run gdb-etm; return its status and its lines."""
    line = [sys.executable, "-m", "gdb_etm", command, str(snapshot), "--elf", str(DEMO), *words]
    done = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, cwd=str(ROOT), check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_registers_before_an_instruction(snapshot: Path) -> None:
    status, lines = shell("info", snapshot, "--at", "13594")
    assert status == 0 and lines[0] == "r0    0x00163333     1454899"
    assert lines[14:16] == ["lr    0x000001b3     <parse_values+26>", "pc    0x000001b2     <parse_values+26>"]
    assert shell("info", snapshot, "--at", "13594", "registers", "r4")[1] == [
        "r4  0x00000008  8  stored at #13,537, loaded at #13,592"
    ]


def test_why_and_writes(snapshot: Path) -> None:
    assert shell("why", snapshot, "13594", "r4") == (
        0,
        [
            "r4 = 0x00000008 before instruction 13,594, <parse_values+26>",
            "  #13,592  <parse_number+120>  pop {r4}  stored at #13,537, loaded",
        ],
    )
    written = [
        "4 bytes at 0x200000bc <station+32>:",
        "#13,594  <parse_values+26>  0x0000045b -> 0x00163333  rx.c:83",
        "[7 stores whose address is not known]",
        "[the buffer wrapped here: what ran before was overwritten]",
    ]
    assert shell("writes", snapshot, "0x200000bc,4") == (0, written)
    assert shell("writes", snapshot, "station")[1][0] == "56 bytes at 0x2000009c <station>:"


def test_the_bytes_of_a_sentence_are_one_line(snapshot: Path) -> None:
    lines = shell("writes", snapshot, "sentence.0")[1]
    assert lines[:3] == [
        "80 bytes at 0x20000000 <sentence.0>:",
        "#18,153  <rx_sentence+14>  0x00                          rx.c:48  main::sentence[11]",
        '#18,099  <rx_sentence+72>  "$PRS,1013.2"                 rx.c:55  11 bytes at 0x20000000, since #17,707',
    ]


def test_writes_by_a_function_and_loads(snapshot: Path) -> None:
    by = shell("writes", snapshot, "--by", "dispatch", "station")[1]
    assert by[1].endswith("0x00164ccc -> 0x00164ccd  rx.c:120  station.table[0].delivered")
    assert by[2].endswith("0x00000004 -> 0x00000005  rx.c:120  station.table[2].delivered")
    assert by[-1] == "[the buffer wrapped here: what ran before was overwritten]"
    assert all("<dispatch+" in line or line.startswith("[") for line in by[1:])
    nobody = shell("writes", snapshot, "--by", "main", "station")[1]
    assert nobody[1:] == ["no store to it by main is known in this history", *by[-2:]]
    loads = shell("writes", snapshot, "--reads", "station")[1]
    assert loads[1] == "#18,363  <dispatch+18>            0x00163333     rx.c:121  station.table[0].handler"
    assert loads[2].split() == ["#18,360", "<dispatch+12>", "0x00164ccc", "rx.c:120", "station.table[0].delivered"]
    assert shell("writes", snapshot, "--reads", "station.table")[0] == 1


def test_the_origin_of_the_bad_address(snapshot: Path) -> None:
    status, lines = shell("origin", snapshot, "r3")
    assert status == 0 and lines[:4] == [
        "r3 = 0x00163333 at the fault, after #18,364:",
        "#18,363  <dispatch+18>       rx.c:121  r3 = 0x00163333: loaded from station.table[0].handler",
        "#13,594  <parse_values+26>   rx.c:83   station.table[0].handler = 0x00163333: stored from r0",
        "#13,591  <parse_number+116>  rx.c:75   r0 = 0x00163333: computed from r0, r3",
    ]
    assert any(line.endswith("0x40004000: read from outside of the program's memory") for line in lines)
    assert lines[-1].endswith(": what a device, or another master, put there is in no trace of the core's]")
    assert not any("address: " in line for line in lines)
    more = shell("origin", snapshot, "--addresses", "18364", "r3")[1]
    assert more[0] == "r3 = 0x00163333 before instruction 18,364, <dispatch+20>:"
    assert more[2] == "#18,359  <dispatch+8>        rx.c:120     address: r3 = 0x20000070: computed from r2, r3"


def test_the_origin_of_variables(snapshot: Path) -> None:
    # In a register by debug information, a loop's counter; then what the loop began with.
    assert shell("origin", snapshot, "13594", "count")[1] == [
        "count in r5 = 0x00000009 before instruction 13,594, <parse_values+26>:",
        "#13,500  <parse_values+18>  rx.c:83  r5 = 0x00000009: computed from r4",
        "                                     [8 more like it, to #12,746]",
        "#13,491  <parse_values+30>  rx.c:83    r4 = 0x00000008: copied from r5",
        "                                       [7 more like it, to #12,841]",
        "#12,736  <parse_values+10>  rx.c:81    r4 = 0x00000000: a constant of the program",
        "[ends at #12,736: a constant of the program]",
    ]
    # Debug information gives it no place any more.
    before = "text in r0 = 0x20000004 before instruction 17,470, <parse_values+12>"
    assert shell("origin", snapshot, "17573", "text")[1][0] == before + ", where it had a place for the last time:"
    assert shell("origin", snapshot, "message")[1] == [
        "message in r0 = 0x2007ffe4 at the fault, after #18,364:",
        "#18,353  <main+76>  main.c:22  r0 = 0x2007ffe4: computed from sp",
        "[ends at #18,353: what the stack pointer was]",
    ]
    assert shell("origin", snapshot, "0x200000bc")[1][0].startswith(
        "0x200000bc <station.table[0].handler> = 0x00163333 at the fault"
    )


def test_the_uses_of_a_value(snapshot: Path) -> None:
    lines = shell("uses", snapshot, "13594", "r0")[1]
    assert lines[:4] == [
        "r0 = 0x00163333 before instruction 13,594, <parse_values+26>:",
        "#13,594  <parse_values+26>        rx.c:83    station.table[0].handler = 0x00163333: stored from r0",
        "#13,958  <statistics_add_all+12>  app.c:40   r1 = 0x00163333: loaded from station.table[0].handler",
        "#13,964  <statistics_add+6>       app.c:18     compares it: cmp r2, r1",
    ]
    assert lines[-1].startswith("[2,000 instructions from here on were looked at; loads and stores of unknown")
    gone = shell("uses", snapshot, "13594", "0x200000bc")[1]
    assert gone[1:] == ["[nothing holds it after #13,594; loads and stores of unknown address are not followed]"]


def test_no_race(snapshot: Path) -> None:
    said = "no update of it was interrupted by another context's store, in 18,364 instructions"
    assert shell("race", snapshot, "ring_head")[1][1] == said + "; 7 stores have unknown addresses"


def test_objects_for_scripts(snapshot: Path) -> None:
    def found(command: str, *words: str) -> Dict[str, Any]:
        status, lines = shell(command, snapshot, "--format", "json", *words)
        assert status == 0 and len(lines) == 1
        read: Dict[str, Any] = json.loads(lines[0])
        assert (read["schema"], read["kind"]) == (2, command)
        return read

    stored = found("origin", "r3")["rows"][1]
    assert (stored["number"], stored["value"], stored["parent"]) == (13594, 0x163333, 0)
    assert (stored["what"], stored["tier"], stored["line"]) == ("station.table[0].handler", "exact", "rx.c:83")
    assert found("uses", "13594", "r0")["rows"][0]["made"] == "stored"
    (store,) = found("writes", "0x200000bc")["rows"]
    assert (store["before"], store["bytes"]) == ([0x5B, 4, 0, 0], [0x33, 0x33, 0x16, 0])
    assert [one["number"] for one in found("writes", "--reads", "0x200000bc")["rows"]] == [18363, 13958, 5105]
    assert found("race", "ring_head")["rows"] == []
    assert shell("why", snapshot)[1][0] == "what   HardFault (exception 3)"
    assert found("fault")["verdict"]["number"] == 13594


@pytest.mark.parametrize(
    "words, said",
    [
        (("info", "--at", "13594", "locals"), "this needs GDB: its types and its symbols"),
        (("info", "--at", "99999"), "--at 99999: the instructions are numbered 1 to 18364"),
        (("why", "r4"), "without GDB there is no position: say before which instruction"),
        (("writes", "station.table[0]"), 'no variable "station.table[0]"; did you mean station?'),
        (("origin", "pc"), 'the trace itself says where PC was: "etm history" lists it'),
        (("origin", "nothing"), 'no variable "nothing" (or ask about a register, or ADDRESS,SIZE)'),
        (("uses", "r3"), "nothing ran after this position; say from where on: --at N"),
        (("writes",), "EXPR is missing. Usage: etm writes [--at N] [--id ID] [--by FUNCTION] [--reads] EXPR"),
    ],
)
def test_what_it_refuses(snapshot: Path, words: Tuple[str, ...], said: str) -> None:
    assert shell(words[0], snapshot, *words[1:]) == (1, ["gdb-etm: " + said])
