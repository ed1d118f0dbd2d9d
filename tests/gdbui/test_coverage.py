"""Real GDB: coverage and profile of a live history, and their files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import List

import pytest

from tests.firmware.build import elf
from tests.gdb_session import run_each, run_gdb
from tests.pages import ROOT

pytest.importorskip("unicorn")
pytest.importorskip("google.protobuf")

_FOLDER = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
_CAPTURE = ["file demo.elf", "etm connect board:m33 --elf demo.elf", "etm start", "continue"]


def _typed(*commands: str) -> List[str]:
    lines = run_gdb([*_CAPTURE, "echo --\\n", *commands], cwd=_FOLDER).splitlines()
    return lines[lines.index("--") + 1 :]


def test_coverage_and_profile_are_written_for_other_tools(tmp_path: Path) -> None:
    names = ("run.info", "run.json"), ("run.pb.gz", "run.folded", "run.speedscope.json", "callgrind.out.1")
    commands = [
        "etm %s --export %s" % (command, tmp_path / name)
        for command, files in zip(("coverage", "profile"), names)
        for name in files
    ]
    lines = _typed(*commands)
    formats = ("lcov", "gcovr", "pprof", "collapsed stacks", "speedscope", "Callgrind")
    files = [tmp_path / name for group in names for name in group]
    assert lines[: len(files)] == ["written to %s (%s)" % each for each in zip(files, formats)]
    assert "FN:77,parse_values" in files[0].read_text() or "FN:78,parse_values" in files[0].read_text()
    assert json.loads(files[1].read_text())["files"]
    assert b"parse_values" in gzip.decompress(files[2].read_bytes())
    cost = sum(int(line.rsplit(" ", 1)[1]) for line in files[3].read_text().splitlines())
    assert "summary: %d" % cost in files[5].read_text()


def test_a_timeline_has_tracks_marks_and_values(tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    file = tmp_path / "run.pftrace"
    mark = "etm mark here"
    said = _typed(mark, "etm timeline --export %s --variable station.table[0].handler" % file)[1]
    assert said.startswith("written to %s (Perfetto): " % file) and said.endswith(" on 3 tracks, in instructions")
    trace = messages.Trace()
    trace.ParseFromString(file.read_bytes())
    names = {one.name for packet in trace.packet for one in packet.interned_data.event_names}
    assert {"parse_values", "UART_Handler", "here"} <= names
    kind = messages.TrackEvent.TYPE_COUNTER
    counted = [one.track_event.counter_value for one in trace.packet if one.track_event.type == kind]
    assert counted == [0x163333]


def test_the_condition_that_never_failed_shows(tmp_path: Path) -> None:
    lines = _typed("etm coverage parse_values")
    at = next(number for number, line in enumerate(lines) if "count < limit" in line)
    assert lines[at + 2].strip() == "branch: taken 18, not taken never seen"


WRONG = [
    ("coverage nosuch", '"nosuch" is no source file and no function with code; files: app.c, faults.c, main.c,'),
    ("coverage --export /tmp", "/tmp: the end of the name says the format: .info (lcov), .json (gcovr)"),
    ("profile nosuch", '"nosuch" was not seen to run'),
    ("profile --cycles", 'no cycle counts in this trace: "etm start --cycles 4" traces them'),
    ("profile --export /nowhere/x.pb.gz", "cannot write /nowhere/x.pb.gz: No such file or directory"),
]


def test_what_cannot_be_is_one_line() -> None:
    for said, (command, words) in zip(run_each(["etm " + command for command, _ in WRONG], _CAPTURE, _FOLDER), WRONG):
        lines = [line for line in said.splitlines() if line]
        assert lines[0].startswith(words) and len(lines) <= 2, (command, said)


def test_cycles_are_counted_where_they_were_traced() -> None:
    commands = ["etm start --cycles 4", "continue", "etm profile --cycles", "etm profile --cycles timer_due"]
    script = [*_CAPTURE[:2], commands[0], commands[1], "echo --\\n", *commands[2:]]
    lines = run_gdb(script, cwd=_FOLDER).splitlines()
    lines = lines[lines.index("--") + 1 :]
    assert lines[0].startswith("cycles, seen in ")
    own = {line.split()[0]: int(line.split()[2].replace(",", "")) for line in lines[2:8]}
    assert min(own.values()) > 0


def test_what_has_not_changed_is_not_measured_again() -> None:
    counted = """from gdb_etm.analysis.activity import ActivityReader as A
from gdb_etm.offline.program_sources import ProgramSources as P
def count(kind, made=[]):
    plain = kind.__init__
    kind.__init__ = lambda self, *rest: (made.append(kind), plain(self, *rest))[1]
    return made
count(A); made = count(P)
told = lambda: print('made', made.count(A), made.count(P))
"""
    program, asks = elf("rounds"), ["etm profile", "etm coverage"]
    output = run_gdb(
        [
            "file " + program,
            "etm connect board:m33 --elf " + program,
            "etm start",
            *["tbreak one_round", "continue"] * 2,
            "python exec(%r)" % counted,
            *[*asks, *asks, "python told()"],
            *["tbreak one_round", "continue", *asks, "python told()"],
            "etm disconnect",
        ]
    )
    assert re.findall(r"^made (\d+) (\d+)$", output, re.MULTILINE) == [("1", "1"), ("2", "1")], output
    first, second, third = re.findall(r"^instructions, (seen in .*):$", output, re.MULTILINE)
    assert first == second != third
