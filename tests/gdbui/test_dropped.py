"""Real GDB: functions that the linker dropped, at address 0.

Differential runs: against the same GDB and the same file with its section moved from 0, where GDB leaves them out; and
the simulated board's truth.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict

import pytest

from gdb_etm.program.dropped import without_dropped
from tests.firmware.build import elf, size, symbol
from tests.firmware.cortex_m4 import build as cortex_m4
from tests.gdb_session import run_gdb
from tests.gdb_texts import gdb_version

PROGRAMS = ("dropped", "dropped4")
FIRST, LAST = 4, 0x1F8

_OURS = """python
import json, gdb_etm.gdbui.start as start
debugger, places = start.session().debugger, start.session().places
def row(address):
    function, line, inlined = debugger.function_at(address), places.line_at(address), places.inlined_at(address)
    shown = debugger.line_at(address)
    assert (shown and shown.line) == (line and line.line)
    return [function and function[:3], line and line[1:5], [one.name for one in inlined], debugger.symbol_at(address)]
print("@" + json.dumps([row(address) for address in range(%d, %d, 2)]))
end
""" % (
    FIRST,
    LAST,
)
_ASKED = """python
import json, gdb_etm.gdbui.start as start
debugger, asked, looked = start.session().debugger, [], []
execute, block_for_pc = gdb.execute, gdb.block_for_pc
gdb.block_for_pc = lambda address: looked.append(address) or block_for_pc(address)
gdb.execute = lambda command, *more: asked.append(command) or execute(command, *more)
found = {debugger.function_at(address) for address in range(%d, %d, 2) for _ in range(3)}
print("@" + json.dumps([len(asked), len(looked), sorted(one.name for one in found if one is not None)]))
end
""" % (
    FIRST,
    LAST,
)


def asked(path: Path, script: str, file: str) -> Any:
    """Run a script in GDB with a file; return the output."""
    (path / "ask.gdb").write_text(script)
    output = run_gdb(["source ask.gdb"], cwd=path, arguments=[file])
    found = [line[1:] for line in output.splitlines() if line.startswith("@")]
    assert found, output
    return json.loads(found[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gdb_says_the_same_without_what_was_dropped(name: str, tmp_path: Path) -> None:
    path = elf(name)
    copy = without_dropped(path)
    assert copy is not None
    (tmp_path / "copy").write_bytes(copy)
    ours, theirs = asked(tmp_path, _OURS, path), asked(tmp_path, _OURS, str(tmp_path / "copy"))
    functions: Dict[str, int] = {}
    for address, mine, judge in zip(range(FIRST, LAST, 2), ours, theirs):
        if gdb_version() >= 16 and mine[1] and judge[1]:
            # GDB 16 and later may prolong a line by a part without code.
            assert 0 <= judge[1].pop(2) - mine[1].pop(2) <= 2, (hex(address), mine, judge)
        assert mine[:2] == judge[:2] and mine[3] == judge[3], (hex(address), mine, judge)
        # GDB does not tell what was inlined in a function over which it sees a dropped one.
        assert mine[2] in (judge[2], []), hex(address)
        functions[mine[0][0] if mine[0] else "none"] = address
    assert {"Reset_Handler", "Unexpected_Handler", "run", "PendSV_Handler", "pending_again", "sized"} <= set(functions)
    assert not [one for one in functions if one.startswith("never_called")]


def test_gdb_itself_is_wrong(tmp_path: Path) -> None:
    # What makes all this necessary.
    ask = "python import json; f = [gdb.block_for_pc(a) for a in range(%d, %d, 2)]; " % (FIRST, LAST)
    show = "print('@' + json.dumps([b.function.name if b and b.function else '' for b in f]))"
    names = asked(tmp_path, ask + show, elf("dropped"))
    start = (symbol(elf("dropped"), "Reset_Handler") - FIRST) // 2
    assert "never_called" in names[start : start + size(elf("dropped"), "Reset_Handler") // 2]


def test_an_assembler_function_with_a_size_begins_where_it_begins(tmp_path: Path) -> None:
    # Its debug information has the state in bit 0, and GDB's block with it.
    start = symbol(elf("dropped"), "sized")
    rows = asked(tmp_path, _OURS, elf("dropped"))
    around = [row[0] for row in rows[(start - FIRST) // 2 : (start - FIRST + size(elf("dropped"), "sized")) // 2]]
    assert len(around) > 3 and all(one == ["sized", start, start + size(elf("dropped"), "sized")] for one in around)


def test_gdb_is_asked_at_most_once_for_each_function(tmp_path: Path) -> None:
    # Where dropped functions lie over others it is not asked: that would have it read of more of them.
    assert asked(tmp_path, _ASKED, elf("dropped"))[:2] == [0, 0]
    count, looked, names = asked(tmp_path, _ASKED, elf("transfers"))
    assert 0 < count <= len(names) < looked


def test_locations_of_dropped_functions_have_no_code(tmp_path: Path) -> None:
    path = elf("dropped")
    source = (Path(path).parent / "dropped.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "value ^= sum >> i" in text)
    code = "python import gdb_etm.gdbui.start as s; p = s.session().places; "
    places = ["Reset_Handler", "thrice", "sized", "HardFault_Handler", "PendSV_Handler"]
    output = run_gdb(
        [
            "etm filter include never_called",
            "etm filter include dropped.c:%d" % line,
            code + "print('@', [[p.code(one), p.entries(one)] for one in %r])" % places,
        ],
        arguments=[path],
    )
    for refused in ("never_called", "dropped.c:%d" % line):
        assert "%s has no code: the linker dropped it" % refused in output
    found = eval(next(text[1:] for text in output.splitlines() if text.startswith("@")))  # what our own code printed
    for one, (pieces, entries) in zip(places, found):
        start = symbol(path, one)
        assert entries == [start] and pieces[0][0] == start, one
        assert pieces[-1][1] == start + size(path, one) - 1 and len(pieces) == 1, one


@pytest.mark.parametrize("board", ["m33", "m4"])
def test_a_session_names_what_ran(board: str) -> None:
    path = elf("dropped") if board == "m33" else cortex_m4.elf("dropped")
    output = run_gdb(
        [
            "etm connect board:%s --elf %s" % (board, path),
            "etm start",
            "hbreak *%#x" % symbol(path, "thrice"),
            "ignore 1 3",
            "continue",
            "continue 4",
            "etm captures 2",
            "python print('HERE')",
            "etm functions -99",
            "etm history /s -99",
            'output $_etm_calls("thrice")',
            "etm goto begin",
            "etm where",
            "etm last thrice",
            "etm backtrace",
        ]
    ).partition("HERE")[2]
    assert "never_called" not in output and "??" not in output, output
    for ran in ("PendSV_Handler", "pending_again", "pending_done", "switch_done", "untyped"):
        assert re.search(r"\d +(?:<\w+, .*> *)?%s$" % ran, output, re.MULTILINE), output
    assert re.search(r"bl +0x%x <thrice>$" % symbol(path, "thrice"), output, re.MULTILINE), output
    assert re.search(r"bhi.n +0x%x <sized\+8>$" % (symbol(path, "sized") + 8), output, re.MULTILINE), output
    # Three calls, each with a halt where it begins.
    assert "3#0  folded" in output, output
    assert "#0  folded (value=3) at dropped.c:" in output and "#1  thrice (value=3) at dropped.c:" in output, output


def test_a_source_file_whose_name_has_a_quote(tmp_path: Path) -> None:
    # GDB 13.1 crashes when it is asked for such a file.
    code = Path(elf("dropped")).read_bytes()
    assert code.count(b"dropped.c\0")
    (tmp_path / "program").write_bytes(code.replace(b"dropped.c\0", b"dropp'd.c\0"))
    found = asked(tmp_path, _OURS, "program")
    assert [row[1] for row in found] == [row[1] for row in asked(tmp_path, _OURS, elf("dropped"))]
