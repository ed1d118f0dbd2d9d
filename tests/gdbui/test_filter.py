"""Real GDB sessions: ``etm filter``, its words and refusals."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import List

from gdb_etm.session.filters import Filter, commas, wanted_of
from tests.access.processes import FOREVER_TICK, write_forever
from tests.firmware.build import elf
from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.terminal import Terminal

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_PAIRS = "--option board.comparators=%d"


def run(commands: List[str], pairs: int = 2) -> List[str]:
    """Run commands; ``CONNECT`` is to m33 with pairs of comparators."""
    connect = "etm connect board:m33 --elf %s %s" % (DEMO, _PAIRS % pairs)
    output = run_gdb(["file %s" % DEMO, *(connect if each == "CONNECT" else each for each in commands)])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.splitlines()


def test_filters_are_numbered_and_listed() -> None:
    lines = run(
        [
            "etm filter",
            "etm filter include parse,dispatch",
            "etm filter start rx.c:96",
            "etm filter exceptions off",
            "etm filter exceptions only",
            "etm filter delete 2",
            "etm filter stop report",
            "etm filter list",
            "etm filter delete 2",
            "etm filter delete all",
            "etm filter list",
        ]
    )
    assert lines[0] == lines[-1] == 'no filters; "etm filter include FUNCTION" makes one'
    assert re.match(
        r"Filter 1: include parse,dispatch \(0x[0-9a-f]{8}-0x[0-9a-f]{8}, 0x[0-9a-f]{8}-0x[0-9a-f]{8}\);"
        r' from the next "etm start" on$',
        lines[1],
    )
    assert lines[4] == 'Filter 4: exceptions only (only what runs in Handler mode); from the next "etm start" on'
    rows = [line.split() for line in lines[lines.index(next(each for each in lines if each.startswith("Num"))) :]]
    assert rows[0] == ["Num", "What", "Where"]
    assert [row[:3] for row in rows[1:4]] == [
        ["1", "include", "parse,dispatch"],
        ["4", "exceptions", "only"],
        ["5", "stop", "report"],
    ]
    assert 'no filter 2; "etm filter list" shows them' in lines


def test_what_is_not_understood_is_a_line() -> None:
    lines = run(
        [
            "etm filter include",
            "etm filter exceptions maybe",
            "etm filter context xyz",
            "etm filter delete",
            "etm filter frob",
            "etm filter secure on",
        ]
    )
    assert lines == [
        "etm filter include needs a location: a function, FILE:LINE, *ADDRESS or FIRST-LAST",
        'etm filter exceptions takes on or off or only, not "maybe"',
        '"xyz" is not a number',
        "etm filter delete needs a number or all",
        'WHAT: "frob" is none of: include, exclude, start, stop, exceptions, secure, nonsecure, level,'
        " context, data-include, data-exclude, list, delete",
        'Secure code is traced; from the next "etm start" on',
    ]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    lines = run(
        [
            "CONNECT",
            "etm filter include parse,dispatch",
            "etm filter include report",
            "etm filter context 1",
            "etm filter secure off",
            "etm filter list",
            "etm start",
            "etm filter start main",
            "etm status",
            "etm filter delete all",
            "etm filter include *0x100-0x1ff",
        ]
    )
    message = "this unit has 2 address comparator pairs (TRCIDR4.NUMACPAIRS); the filters need 3"
    assert lines.count(message) == 2
    assert any(line.startswith("Filter 2: include *0x100-0x1ff (0x00000100-0x000001ff); ") for line in lines), lines
    assert "Context ID: not in this trace unit (TRCIDR2.CIDSIZE is 0)" in lines
    assert "Secure and Non-secure code: this unit does not distinguish them (TRCIDR3.EXLEVEL_NS is 0)" in lines
    assert [line.split()[-4:] for line in lines if line.startswith("1 ")] == [["pair", "1,", "pair", "0"]]
    assert "filters: include parse,dispatch" in lines


def test_neighbours_take_one_pair() -> None:
    """Functions that lie side by side, and what aligns a function."""
    lines = run(
        [
            "CONNECT",
            "etm filter include parse_values,starts_with",
            "etm filter include parse_number",
            "etm filter list",
        ],
        pairs=1,
    )
    assert [line.rpartition("  ")[2] for line in lines if line[:2] in ("1 ", "2 ")] == ["pair 0", "pair 0"]
    both = [Filter(1, "include", "a,b", ((0x100, 0x10D), (0x110, 0x11F)))]
    assert wanted_of(both, lambda first, end: True).include == [(0x100, 0x11F)]
    assert wanted_of(both, lambda first, end: False).include == [(0x100, 0x10D), (0x110, 0x11F)]


def test_a_change_while_tracing_holds_from_the_next_continue_on(tmp_path: Path) -> None:
    lines = run(
        [
            "CONNECT",
            "etm filter include parse",
            "etm start --cycles 16",
            "break dispatch",
            "continue",
            "echo one\\n",
            "etm functions",
            "etm filter delete 1",
            "etm filter include dispatch",
            "continue",
            "etm captures 2",
            "echo two\\n",
            "etm functions",
            "etm status",
            "set etm drain lazy",
            "continue",
            "etm filter exceptions off",
            "etm captures 3",
            "echo three\\n",
            "etm functions",
            "etm info",
        ]
    )
    assert sum(line.endswith('; from the next "continue" on') for line in lines) == 3
    marks = [lines.index(word) for word in ("one", "two", "three")]

    def names(at: int) -> List[str]:
        rows = [re.match(r"\d+ +(\w+)$", line) for line in lines[marks[at] :]]
        return [row[1] for row in rows[: next((n for n, row in enumerate(rows) if n > 6 and row is None), None)] if row]

    assert set(names(0)) == {"parse"}
    assert set(names(1)[:1]) == {"dispatch"}
    # What ran before the change is kept, though the buffer had not been read.
    assert set(names(2)[:1]) == {"dispatch"}
    assert "filters: include dispatch; exceptions off" in lines


def test_filters_outlive_the_connection_and_new_symbols() -> None:
    lines = run(
        [
            "CONNECT",
            "etm filter include parse",
            "etm filter exceptions off",
            "etm disconnect",
            "CONNECT",
            "etm start",
            "file %s" % elf("steps"),
            "etm filter list",
            "file %s" % DEMO,
            "etm filter list",
        ]
    )
    assert any(re.match(r"Tracing only 0x[0-9a-f]{8}-0x[0-9a-f]{8} outside handlers: ", line) for line in lines)
    assert 'note: filter 1 (include parse): Function "parse" not defined' in lines
    assert [line.split()[-2:] for line in lines if line.startswith("1 ")][-1] == ["pair", "1"]


def test_a_unit_without_comparators_says_so() -> None:
    lines = run(["etm filter include parse", "CONNECT", "etm filter list", "etm start"], pairs=0)
    message = (
        "this unit has no address comparators (TRCIDR4.NUMACPAIRS), and of the DWT's, which match single"
        " addresses, 4 are free: in 0x00000284-0x000002df alone would need 46"
    )
    assert "note: " + message in lines and message in lines


def test_commas_in_brackets_belong_to_the_function() -> None:
    assert commas("f(int, char), a.c:12 ,std::map<int, g>::at") == ["f(int, char)", "a.c:12", "std::map<int, g>::at"]


def test_a_change_while_the_program_runs_holds_from_the_next_halt_on(tmp_path: Path) -> None:
    forever = write_forever(tmp_path / "forever.elf")
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    command = [gdb_program(), "-nx", "-q", "-ex", "set pagination off", "-ex", "source %s" % SCRIPT]
    with Terminal(command, environment, ROOT) as gdb:
        at = gdb.wait("(gdb) ")

        def type_and_wait(line: str, text: str) -> int:
            gdb.type(line + "\n")
            return gdb.wait(text, at)

        at = type_and_wait("etm connect board:m33 --elf %s %s" % (forever, _PAIRS % 2), "4 KiB")
        at = type_and_wait("etm start", "circular.")
        at = type_and_wait("continue &", "Continuing.")
        at = type_and_wait("etm filter include 0x%x-0x%x" % (FOREVER_TICK, FOREVER_TICK + 3), "; from the next halt on")
        at = type_and_wait("interrupt", " bytes")
        at = type_and_wait("continue &", "Continuing.")
        time.sleep(0.5)  # until the handler has run
        at = type_and_wait("interrupt", " bytes")
        gdb.type("etm captures 2\netm history 1,100000\n")
        end = type_and_wait("print 12345678", "= 12345678")
        ran = {int(address, 16) for address in re.findall(r"^\d+ +0x([0-9a-f]{8}) ", gdb.seen[at:end], re.M)}
        assert ran == {FOREVER_TICK, FOREVER_TICK + 2}
        gdb.type("etm disconnect\nquit\n")
        assert gdb.end() == 0
