"""Real GDB sessions: recovered registers against the board's truth."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from tests.firmware.build import elf as firmware
from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT, run_gdb

PROGRAM = elf("algorithms-Os")
DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
NAMES = ["r%d" % number for number in range(13)] + ["sp", "lr"]

TELL = """python
import json
from gdb_etm.api.inside import commands_session
from gdb_etm.session.recovery_inputs import recovery_of
session = commands_session()
record = session.current
decoded = session.decode(record)
recovery = recovery_of(decoded, session.debugger.program_files())
rows = []
outside = 0
for number in range(1, len(decoded.history) + 2, 11):
    values = [recovery.register(number, name) for name in %r]
    outside += sum(value.value is None and value.reason.startswith("input/output") for value in values)
    rows.append([None if value.value is None else [value.value, int(value.tier)] for value in values])
addresses = [decoded.history.instruction(number + 1).address for number in range(len(decoded.history))]
findings = [finding.text for finding in recovery.findings]
print("TOLD " + json.dumps(dict(addresses=addresses, rows=rows, findings=findings, outside=outside)))
end
""" % (
    NAMES,
)


def told(folder: Path, board: str, *commands: str, program: str = PROGRAM, size: str = "64K") -> Dict[str, Any]:
    """Run a session; return what is recovered of its last capture."""
    (folder / "tell.gdb").write_text(TELL)
    where = "board:%s --elf %s --truth %s --registers --etb-size %s" % (board, program, folder / "truth", size)
    return read(run_gdb(["etm connect %s" % where, *commands, "source %s" % (folder / "tell.gdb")]))


def read(text: str) -> Dict[str, Any]:
    """Return what a session told."""
    (line,) = [line for line in text.splitlines() if line.startswith("TOLD ")] or [text]
    found = json.loads(line[5:])
    assert isinstance(found, dict)
    return found


def truth(folder: Path, halts: int = 1) -> List[Tuple[int, Dict[str, int]]]:
    """Return the truth's addresses, each with its registers, and the last.

    :param halts: Which halt; 1 is the next.
    """
    found: List[Tuple[int, Dict[str, int]]] = []
    now: Dict[str, int] = {}
    runs = False
    for line in (folder / "truth").read_text("ascii").splitlines():
        if line.startswith("registers"):
            now = {**now, **{name: int(value, 16) for name, value in re.findall(r"(\w+)=0x(\w+)", line)}}
        elif line.startswith("0x") and runs:
            found.append((int(line[:10], 16), now))
        elif line.startswith("resume"):
            runs = True
        elif line.startswith("halt") and runs:
            halts -= 1
            if not halts:
                break
    return found + [(0, now)]


def compare(found: Dict[str, Any], real: List[Tuple[int, Dict[str, int]]]) -> float:
    """Compare with the truth's last instructions; return the known share."""
    count = len(found["addresses"])
    assert found["addresses"] == [address for address, _ in real[-count - 1 : -1]]
    known = 0
    for at, (row, (_, registers)) in enumerate(zip(found["rows"], real[-count - 1 :: 11])):
        for name, told_of in zip(NAMES, row):
            if told_of is not None:
                assert told_of[0] == registers[name], (11 * at + 1, name, told_of)
                known += name in NAMES[:13]
    assert found["findings"] == []
    return known / (13 * len(found["rows"]))


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m4"])
def test_what_is_told_is_true(board: str, tmp_path: Path) -> None:
    found = told(tmp_path, board, "etm start", "set etm anchor-memory on", "break find", "continue")
    assert len(found["addresses"]) > 3000
    # From the resume on everything follows, since nothing comes from outside.
    assert compare(found, truth(tmp_path)) > 0.9


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m7"])
def test_a_whole_run_with_interrupts(board: str, tmp_path: Path) -> None:
    commands = ["set etm anchor-memory on", "etm start", "continue"]
    found = told(tmp_path, board, *commands, program=firmware("interrupts"))
    real = truth(tmp_path)
    assert len(found["addresses"]) == len(real) - 1 > 1000
    # A handler finds anything in r0 to r3 and r12.
    assert compare(found, real) > 0.9


@pytest.mark.parametrize("name, place", [("algorithms-Os", "find"), ("corrupt-O0", "walk")])
def test_a_snapshot_knows_what_was_known_live(name: str, place: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    commands = ["etm start", "break %s" % place, "continue", "etm save %s" % saved]
    live = told(tmp_path, "m33", *commands, program=elf(name))
    # Another GDB, after the target is gone.
    text = run_gdb(["etm load %s" % saved, "source %s" % (tmp_path / "tell.gdb")], arguments=[elf(name)])
    assert read(text) == live
    assert compare(live, truth(tmp_path)) > 0.9
    # As older ones were: from the halt alone it is less.
    core, trace, whole = saved / "cpu_0.ini", saved / "trace.ini", saved / "snapshot.ini"
    core.write_text(core.read_text().partition("[begin]")[0])
    whole.write_text(re.sub(r"\[sizes\]\n(.+\n)+", "", whole.read_text()))
    trace.write_text(trace.read_text().replace("omitted=nothing\n", ""))
    text = run_gdb(["etm load %s" % saved, "source %s" % (tmp_path / "tell.gdb")], arguments=[elf(name)])
    assert 0.3 < compare(read(text), truth(tmp_path)) < 1


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m4"])
def test_over_halts_at_which_nothing_was_changed(board: str, tmp_path: Path) -> None:
    # At each of the breakpoints that are ignored, and behind the step over it.
    commands = ["break swap", "ignore 1 9", "etm start", "continue"]
    found = told(tmp_path, board, *commands, program=elf("algorithms-O0"))
    assert compare(found, truth(tmp_path, 19)) > 0.95
    saved = tmp_path / "saved"
    (tmp_path / "again").mkdir()
    again = told(tmp_path / "again", board, *commands, "etm save %s" % saved, program=elf("algorithms-O0"))
    text = run_gdb(["etm load %s" % saved, "source %s" % (tmp_path / "tell.gdb")], arguments=[elf("algorithms-O0")])
    assert again["rows"] == read(text)["rows"] == found["rows"]


@pytest.mark.parametrize("change", ["set var $r11 = 5", "set var numbers[0] = 7"])
def test_over_halts_at_which_something_was_changed(change: str, tmp_path: Path) -> None:
    commands = ["set etm drain lazy", "break swap", "etm start", "continue", change, "continue", "etm history"]
    found = told(tmp_path, "m33", *commands, program=elf("algorithms-O0"))
    # Of what it was before not all is known any more.
    assert compare(found, truth(tmp_path, 3)) < 1


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m4 --data-trace", "m7"])
def test_what_data_trace_says_is_known_and_true(board: str, tmp_path: Path) -> None:
    found = {}
    for data in ("off", "values", "both"):
        commands = ["set etm data %s" % data, "etm start", "continue"]
        found[data] = told(tmp_path, board, *commands, program=str(DEMO), size="4K")
        assert len(found[data]["addresses"]) > 600
        assert compare(found[data], truth(tmp_path)) > 0.85, data
    # What a device said nothing else tells.
    assert found["off"]["outside"] > 0
    assert found["values"]["outside"] == found["both"]["outside"] == 0


CORRUPTED = """python
import json
from gdb_etm.api.inside import commands_session
from gdb_etm.session.recovery_inputs import recovery_of
session = commands_session()
decoded = session.decode(session.current)
recovery = recovery_of(decoded, session.debugger.program_files())
address = int(gdb.parse_and_eval("&station.table[PRESSURE].handler").cast(gdb.lookup_type("long")))
newest = recovery.writes(address, 4).writes[0]
place = decoded.history.instruction(newest.number).address
told = dict(
    function=session.debugger.function_at(place).name,
    line=session.debugger.line_at(place).line,
    value=newest.value.value,
    tier=newest.value.tier.name,
    unknown=newest.unknown_after,
    count=recovery.register(newest.number, "r4").value,
)
print("TOLD " + json.dumps(told))
end
"""


def test_the_demo_ends_at_the_store_that_corrupted_the_callback(tmp_path: Path) -> None:
    (tmp_path / "corrupted.gdb").write_text(CORRUPTED)
    connect = "etm connect board:m33 --elf %s" % DEMO
    text = run_gdb([connect, "etm start", "continue", "source %s" % (tmp_path / "corrupted.gdb")])
    (line,) = [line for line in text.splitlines() if line.startswith("TOLD ")] or [text]
    source = (DEMO.parent / "rx.c").read_text().splitlines()
    found = json.loads(line[5:])
    assert source[found.pop("line") - 1].strip() == "values[count++] = parse_number(&text);"
    # The ninth value of eight, 22.2 in 16.16.
    assert found == dict(function="parse_values", value=0x163333, tier="EXACT", unknown=0, count=8)
