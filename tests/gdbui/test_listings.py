"""Real GDB session: modifiers of the history, packets of two IDs."""

from __future__ import annotations

import re
from typing import List

import pytest

from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
BEGIN = [
    "etm connect board:m7 --elf %s" % ELF,
    "set etm data both",
    "etm start --cycles 16",
    "continue",
]


@pytest.fixture(scope="module")
def answers() -> List[List[str]]:
    """Ask everything in one session; what GDB answered to each."""
    asked = [
        "etm history /t 200,+60",
        "etm history 200,+60",
        "etm history /d 200,+60",
        "etm history /dtfrs 200,+60",
        "etm packets 400,+400",
        "etm packets --id 0x11 400,+20",
        "etm packets --id 0x12",
        "etm history --id 0x11",
        "complete etm packets --",
    ]
    pytest.importorskip("unicorn")
    commands = BEGIN + [line for one in asked for line in ("echo ASKED\\n", one)]
    return [part.splitlines() for part in run_gdb(commands).split("ASKED\n")[1:]]


def numbers(lines: List[str]) -> List[int]:
    """Give the numbers of the instructions in a listing."""
    return [int(line.split()[0]) for line in lines if re.match(r"\d+ ", line)]


def test_times(answers: List[List[str]]) -> None:
    timed, plain = answers[0], answers[1]
    assert numbers(timed) == numbers(plain) == list(range(200, 260))
    assert not [line for line in plain if "cycle" in line or "time " in line]
    counted = [re.match(r"\d+ +cycle (\d+) \(\+(\d+)\)", line) for line in timed]
    totals = [(int(found.group(1)), int(found.group(2))) for found in counted if found]
    assert len(totals) > 1 and all(after - before == count for (before, _), (after, count) in zip(totals, totals[1:]))
    stamps = [int(value) for line in timed for value in re.findall(r" time (\d+) \(\+\d+ cycles\)", line)]
    assert stamps and stamps == sorted(stamps)
    # Beside the times a line is as it is without; they are in columns.
    columns = {line.index(" 0x") for line in timed if re.match(r"\d+ ", line)}
    assert len(columns) == 1
    assert [line[columns.copy().pop() :].split() for line in timed if re.match(r"\d+ ", line)] == [
        line.split()[1:] for line in plain if re.match(r"\d+ ", line)
    ]


def test_data(answers: List[List[str]]) -> None:
    lines = answers[2]
    assert numbers(lines) == list(range(200, 260))
    moved = [line for line in lines if re.match(r" +(load|store) ", line)]
    assert len(moved) > 10
    form = re.compile(r" {6,}(load|store) +[124] bytes? +at 0x[0-9a-f]{8}( <\S+>)?  = 0x[0-9a-f]+")
    assert all(form.match(line) for line in moved)
    assert len({line.index(" at 0x") for line in moved}) == 1
    assert any("<ring" in line or "<station" in line or "<sentence" in line for line in moved)
    for before, line in zip(lines, lines[1:]):
        if line in moved and before not in moved and re.match(r"\d+ ", before):
            assert re.search(r"   (ldr|pop|ldm)" if " load " in line else r"   (str|push|stm)", before)


def test_all_together(answers: List[List[str]]) -> None:
    lines = answers[3]
    assert numbers(lines) == list(range(200, 260))
    # The bytes follow the address, with no name between.
    assert all(re.match(r"\d+ .* 0x[0-9a-f]{8}( [0-9a-f]{2}){2}", line) for line in lines if re.match(r"\d+ ", line))
    assert [line for line in lines if re.match(r"\w+\.c:\d+", line)]
    assert [line for line in lines if re.match(r" +(load|store) ", line)]


def test_packets_tell_their_trace_id(answers: List[List[str]]) -> None:
    both, data, none, wrong, completed = answers[4:]
    rows = [line.split() for line in both]
    assert [int(row[0]) for row in rows] == list(range(400, 800))
    assert {row[2] for row in rows} == {"0x10", "0x11"}
    offsets = [int(row[1], 16) for row in rows]
    assert offsets == sorted(offsets)
    rows = [line.split() for line in data]
    assert [int(row[0]) for row in rows] == list(range(400, 420))
    assert not [row for row in rows if row[2].startswith("0x")] and [line for line in data if "  P1 format" in line]
    assert none == ["no trace ID 0x12 in capture 1; it has: 0x10, 0x11"]
    assert wrong == ['trace ID 0x11 is the data trace of 0x10; "history /d --id 0x10" shows its loads and stores']
    assert completed[0] == "etm packets --id"
