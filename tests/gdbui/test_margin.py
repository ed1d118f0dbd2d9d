"""Real GDB, real pyOCD: counts in GDB's own listings, against truth."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Counter as CounterOf
from typing import List

import pytest

from tests.firmware.build import elf, symbol
from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.terminal import Terminal

pytestmark = pytest.mark.gdb
_PROMPT = "(gdb) "
_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\(B")
_ROW = re.compile(r"^(?:=> | {3})0x([0-9a-f]{8}) <\+\d+>:\t *([0-9,-]+) \S", re.MULTILINE)
_CONNECT = "etm connect board:m33 --elf %s --truth %s"


def ran(truth: Path) -> CounterOf[int]:
    """Count what ran from the first resume to the next halt."""
    lines = truth.read_text("ascii").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    end = next(at for at in range(begin, len(lines)) if lines[at].startswith("halt"))
    return Counter(int(line.split()[0], 16) for line in lines[begin:end] if line.startswith("0x"))


def number(text: str) -> int:
    return 0 if text == "-" else int(text.replace(",", ""))


def test_disassemble_has_counts(tmp_path: Path) -> None:
    show = ["disassemble one_round", "disassemble choose", "etm history -1"]
    commands: List[str] = ["file " + elf("rounds"), _CONNECT % (elf("rounds"), tmp_path / "truth"), "etm start"]
    commands += ["set etm counts on", *show[:1], "continue", "echo begin\\n", *show, "echo off\\n"]
    output = run_gdb([*commands, "set etm counts off", *show, "etm disconnect"])
    assert 'note: list shows them where GDB styles sources ("set style enabled on");' in output
    # Before there is a history, and when it is off, all is as ever.
    before, _, rest = output.partition("begin\n")
    on, _, off = rest.partition("off\n")
    assert not _ROW.search(before) and not _ROW.search(off)
    found = {int(match[1], 16): number(match[2]) for match in _ROW.finditer(on)}
    executed = ran(tmp_path / "truth")
    assert len(found) > 50 and found == {address: executed[address] for address in found}
    # Our own listings are without.
    assert re.findall(r"^\d+ +0x.*$", on, re.MULTILINE) == re.findall(r"^\d+ +0x.*$", off, re.MULTILINE) != []


def test_list_has_counts_on_a_terminal(tmp_path: Path) -> None:
    keys = tmp_path / "inputrc"
    keys.write_text("set enable-bracketed-paste off\n")
    environment = dict(os.environ, TERM="xterm", HOME=str(tmp_path), LC_ALL="C.UTF-8", INPUTRC=str(keys))
    environment.pop("NO_COLOR", None)
    arguments = [gdb_program(), "-nx", "-q", "-ex", "set width 0", "-ex", "set height 0", "-ex", "source %s" % SCRIPT]
    with Terminal(arguments, environment, ROOT / "tests" / "firmware") as terminal:
        at = terminal.wait(_PROMPT)

        def run(line: str) -> str:
            nonlocal at
            before = at
            terminal.type(line + "\n")
            at = terminal.wait(_PROMPT, at)
            return _STYLE.sub("", terminal.seen[before:at].replace("\r", ""))

        run("file rounds.elf")
        run(_CONNECT % (elf("rounds"), tmp_path / "truth"))
        run("etm start")
        plain = run("list rounds.c:15,45")
        run("set listsize 1")
        assert "note:" not in run("set etm counts on")
        run("continue")
        on = run("list rounds.c:15,45")
        assert on != plain
        lines = [line.split("\t", 1) for line in on.splitlines() if "\t" in line]
        shown = {int(label): text[:7].strip() for label, text in lines}
        assert re.sub(r"\t.{8}", "\t", on) == plain
        # The counts of lines, as the table has them.
        table = run("etm coverage rounds.c")
        wanted = re.findall(r"^(?: {10}| {0,9}([\d,]+|-)) +(\d+)(?:  |$)", table, re.MULTILINE)
        assert {int(label): count for count, label in wanted if 15 <= int(label) <= 45} == shown
        assert shown[21] == str(ran(tmp_path / "truth")[symbol(elf("rounds"), "next_random")])
        run("set etm counts off")
        assert run("list rounds.c:15,45") == plain
        run("etm disconnect")
