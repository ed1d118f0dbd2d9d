"""Real GDB sessions: the README shows what they really print.

After a change to either, ``python -m tests.test_readme`` puts the transcripts into the README.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import List, Optional

import pytest

from tests.gdb_session import demo_script, run_gdb

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"(?<=^```\n)\(gdb\) source gdb_etm\n.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_LISTINGS = re.compile(r"(?<=^```\n)\(gdb\) etm history /t.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_VERDICT = re.compile(r"(?<=^```\n)\(gdb\) etm doctor\n.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_BUDGET = re.compile(r"(?<=^```\n)\(gdb\) etm budget\n.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_REGISTERS = re.compile(r"(?<=^```\n)\(gdb\) etm diff.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_FILTERS = re.compile(r"(?<=^```\n)\(gdb\) etm filter.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_EVENTS = re.compile(r"(?<=^```\n)\(gdb\) etm on.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_REVERSE = re.compile(r"(?<=^```\n)\(gdb\) reverse-stepi\n.*?(?=^```$)", re.DOTALL | re.MULTILINE)
_PAST = re.compile(r"(?<=^```\n)\(gdb\) etm last crc16.*?(?=^```$)", re.DOTALL | re.MULTILINE)
# What differs from one run or machine to the next.
_VARYING = ((re.compile(r"server on /\S+"), "server on SOCKET"), (re.compile(r"pyOCD [\d.]+"), "pyOCD VERSION"))
_SECONDS = 240


def demo() -> str:
    """Run the demo and give its transcript without blanks at line ends."""
    done = subprocess.run(
        [demo_script()],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=True,
        text=True,
        timeout=_SECONDS,
        cwd=str(ROOT),
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def listings(shown: str) -> str:
    """Give the README's listings as GDB prints them on the board m7.

    :param shown: The listings with their command lines.
    """
    return _session(shown, "m7", ["set etm data both", "etm start --cycles 16", "continue"])


def registers(shown: str) -> str:
    """Give the README's registers as GDB prints them on the board m33.

    :param shown: The text with its command lines.
    """
    return _session(shown, "m33", ["etm start"])


def filters(shown: str) -> str:
    """Give the README's filters as GDB prints them on the board m33 with two pairs of comparators.

    :param shown: The text with its command lines.
    """
    return _session(shown, "m33 --option board.comparators=2", [])


def events(shown: str) -> str:
    """Give the README's events as GDB prints them on the board m33 with all resources.

    :param shown: The text with its command lines.
    """
    return _session(shown, "m33 --option board.resources=full", [])


def reverse(shown: str) -> str:
    """Give the README's reverse execution as GDB prints it on the board m33 at the demo's fault.

    :param shown: The text with its command lines.
    """
    return _session(shown, "m33", ["etm start", "set print frame-arguments none", "continue"], _ELF.parent)


def past(shown: str) -> str:
    """Give the README's values of the past as GDB prints them on the board m33 after the demo's fault.

    :param shown: The text with its command lines.
    """
    return _session(shown, "m33", ["directory %s" % _ELF.parent, "etm start", "continue"])


def _session(shown: str, board: str, begin: List[str], cwd: Optional[Path] = None) -> str:
    commands = [line[len("(gdb) ") :] for line in shown.splitlines() if line.startswith("(gdb) ")]
    connect = "etm connect board:%s --elf %s" % (board, _ELF)
    asked = [line for command in commands for line in ("echo (gdb) %s\\n" % command, command)]
    output = run_gdb([connect, *begin, *asked, "echo (gdb) end\\n"], cwd=cwd)
    return output[output.index("(gdb) ") : output.index("(gdb) end")]


def verdict() -> str:
    """Give the README's verdict: on the board m33 somebody else has closed the funnel."""
    output = run_gdb(
        ["etm connect board:m33 --elf %s" % _ELF, "etm start", "monitor write32 0xe0042000 0x300"]
        + ["echo (gdb) etm doctor\\n", "etm doctor", "echo (gdb) end\\n"]
    )
    return output[output.index("(gdb) ") : output.index("(gdb) end")]


def budget() -> str:
    """Give the README's account of a buffer, of the board m33 before the demo's fault."""
    output = run_gdb(
        ["etm connect board:m33 --elf %s" % _ELF, "etm start --timestamps --cycles 16", "continue"]
        + ["echo (gdb) etm budget\\n", "etm budget", "echo (gdb) end\\n"]
    )
    return output[output.index("(gdb) ") : output.index("(gdb) end")]


def _normal(transcript: str) -> str:
    for pattern, word in _VARYING:
        transcript = pattern.sub(word, transcript)
    return transcript


def test_transcript_is_the_demo() -> None:
    """The README's transcript is the demo's output, but for the port and pyOCD's version."""
    shown = _BLOCK.search(README.read_text())
    assert shown is not None, "README.md has no transcript"
    assert _normal(shown.group()) == _normal(demo())


def test_listings_are_what_gdb_prints() -> None:
    """The README's listings are GDB's output."""
    pytest.importorskip("unicorn")
    shown = _LISTINGS.search(README.read_text())
    assert shown is not None, "README.md has no listings"
    assert shown.group() == listings(shown.group())


def test_verdict_and_budget_are_what_gdb_prints() -> None:
    """The README's verdict of the doctor and its account of a buffer are GDB's output."""
    pytest.importorskip("unicorn")
    for pattern, printed in ((_VERDICT, verdict()), (_BUDGET, budget())):
        shown = pattern.search(README.read_text())
        assert shown is not None and shown.group() == printed


def test_registers_are_what_gdb_prints() -> None:
    """The README's registers are GDB's output."""
    pytest.importorskip("unicorn")
    shown = _REGISTERS.search(README.read_text())
    assert shown is not None, "README.md has no registers"
    assert shown.group() == registers(shown.group())


def test_filters_are_what_gdb_prints() -> None:
    """The README's filters are GDB's output."""
    pytest.importorskip("unicorn")
    shown = _FILTERS.search(README.read_text())
    assert shown is not None, "README.md has no filters"
    assert shown.group() == filters(shown.group())


def test_events_are_what_gdb_prints() -> None:
    """The README's events are GDB's output."""
    pytest.importorskip("unicorn")
    shown = _EVENTS.search(README.read_text())
    assert shown is not None, "README.md has no events"
    assert shown.group() == events(shown.group())


def test_reverse_execution_is_what_gdb_prints() -> None:
    """The README's reverse execution is GDB's output."""
    pytest.importorskip("unicorn")
    shown = _REVERSE.search(README.read_text())
    assert shown is not None, "README.md has no reverse execution"
    assert shown.group() == reverse(shown.group())


def test_the_past_is_what_gdb_prints() -> None:
    """The README's values of the past are GDB's output."""
    pytest.importorskip("unicorn")
    shown = _PAST.search(README.read_text())
    assert shown is not None, "README.md has no values of the past"
    assert shown.group() == past(shown.group())


if __name__ == "__main__":
    text, ill, spent = demo(), verdict(), budget()
    README.write_text(_VERDICT.sub(lambda found: ill, README.read_text()))
    README.write_text(_BUDGET.sub(lambda found: spent, README.read_text()))
    README.write_text(_BLOCK.sub(lambda found: text, README.read_text()))
    README.write_text(_LISTINGS.sub(lambda found: listings(found.group()), README.read_text()))
    README.write_text(_FILTERS.sub(lambda found: filters(found.group()), README.read_text()))
    README.write_text(_EVENTS.sub(lambda found: events(found.group()), README.read_text()))
    README.write_text(_REGISTERS.sub(lambda found: registers(found.group()), README.read_text()))
    README.write_text(_REVERSE.sub(lambda found: reverse(found.group()), README.read_text()))
    README.write_text(_PAST.sub(lambda found: past(found.group()), README.read_text()))
