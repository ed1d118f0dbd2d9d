"""Real pyOCD: the script of the guide, and the board's truth.

After a change to what is printed, ``python -m tests.unattended.test_page`` puts it into the page.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

import pytest
from junitparser import Error, Failure, JUnitXml

from tests.firmware.build import size, symbol
from tests.pages import GUIDE, ROOT, Block, blocks, replace

pytest.importorskip("unicorn")

PAGE = GUIDE / "unattended.md"
_FOLDER = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
_SECONDS = 120
KINDS = {
    "calls-of",
    "instructions-of",
    "cycles-of",
    "latency",
    "order",
    "coverage",
    "not-in-handlers",
    "stack",
    "fault",
}


class Ended(NamedTuple):
    """What the shell got."""

    status: int
    printed: str
    error: str


def script_block() -> Block:
    """Give the page's script."""
    return next(block for block in blocks(PAGE) if block.language == "toml")


def result_block() -> Block:
    """Give what the page says that the script prints."""
    return next(block for block in blocks(PAGE) if not block.language)


def execute(folder: Path, text: str, *words: str) -> Ended:
    """Run a script in a folder with the demo."""
    for path in [*_FOLDER.glob("*.[ch]"), _FOLDER / "demo.elf"]:
        shutil.copy(path, folder)
    (folder / "receiver.toml").write_text(text)
    command = [sys.executable, "-m", "gdb_etm", "run", "receiver.toml", *words]
    pipe = subprocess.PIPE
    done = subprocess.run(command, stdout=pipe, stderr=pipe, cwd=folder, text=True, timeout=_SECONDS, check=False)
    return Ended(done.returncode, re.sub(r"after [\d.]+ s$", "after 0.9 s", done.stdout, flags=re.M), done.stderr)


class Counted:
    """What really ran in the last run, by the board's own account.

    :param path: The file that the board wrote.
    """

    def __init__(self, path: Path) -> None:
        self._elf = str(_FOLDER / "demo.elf")
        lines = path.read_text().splitlines()
        halts = [at for at, line in enumerate(lines) if line.startswith("halt")]
        self.lines = lines[halts[-2] + 1 : halts[-1]]

    def entries(self, function: str) -> List[int]:
        """Give the indexes at which a function begins."""
        address = symbol(self._elf, function)
        return [
            at for at, line in enumerate(self.lines) if line.startswith("0x") and int(line.split()[0], 16) == address
        ]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Any]:
    """The page's script, run once, with the board's truth."""
    folder = tmp_path_factory.mktemp("receiver")
    text = script_block().text.replace("etb-size", 'option = ["board.truth=%s"]\netb-size' % (folder / "truth"))
    done = execute(folder, text, "-o", "result")
    return {"folder": folder, "done": done, "result": json.loads((folder / "result" / "result.json").read_text())}


def test_the_page_shows_what_is_printed(ended: Dict[str, Any]) -> None:
    done: Ended = ended["done"]
    assert (done.status, done.error) == (1, "")
    assert done.printed == result_block().text


def test_each_kind_passes_and_fails(ended: Dict[str, Any], tmp_path: Path) -> None:
    outcomes = {(check["check"], check["outcome"]) for check in ended["result"]["checks"]}
    text = script_block().text.replace('"app.c:111"', '"HardFault_Handler"')
    text = re.sub(r"check = \[.*?^\]", "check = [{fault = false}]", text, flags=re.S | re.M)
    fault = execute(tmp_path, text.replace("times = 2", "times = 1"), "--format", "json")
    assert fault.status == 1 and fault.error == ""
    (check,) = json.loads(fault.printed)["checks"]
    assert "rx.c:83, writes past the end of station.values" in check["text"]
    outcomes.add((check["check"], check["outcome"]))
    assert outcomes == {(kind, outcome) for kind in KINDS for outcome in ("passed", "failed")}


def test_junit_is_read_by_others(ended: Dict[str, Any]) -> None:
    (suite,) = JUnitXml.fromfile(str(ended["folder"] / "result" / "junit.xml"))
    checks = ended["result"]["checks"]
    assert (suite.name, suite.tests, suite.errors) == ("receiver", len(checks), 0)
    assert suite.failures == sum(check["outcome"] == "failed" for check in checks) > 0
    for case, check in zip(suite, checks):
        assert case.name == check["name"] and case.classname == "receiver"
        kinds = [type(one) for one in case.result]
        assert kinds == ([Failure] if check["outcome"] == "failed" else [])
        assert Error not in kinds and all(basis in case.system_out for basis in check["basis"])


def test_what_went_wrong_is_written(ended: Dict[str, Any]) -> None:
    for path in ended["result"]["written"]:
        assert (ended["folder"] / path).exists()
    assert "<html" in (ended["folder"] / "result" / "run-1" / "index.html").read_text("utf-8")
    snapshot = ended["folder"] / "result" / "run-1" / "snapshot"
    command = [sys.executable, "-m", "gdb_etm", "functions", str(snapshot), "--elf", str(_FOLDER / "demo.elf")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=_SECONDS, check=True)
    assert "UART_Handler" in done.stdout and "dispatch" in done.stdout


def figure(ended: Dict[str, Any], what: str) -> Dict[str, Any]:
    """Find a figure by what it is of."""
    found = [one for check in ended["result"]["checks"] for one in check["figures"] if one["what"] == what]
    assert found, what
    return dict(found[0])


def test_figures_are_what_really_ran(ended: Dict[str, Any]) -> None:
    truth = Counted(ended["folder"] / "truth")
    elf = str(_FOLDER / "demo.elf")
    ran = [at for at, line in enumerate(truth.lines) if line.startswith("0x")]
    number = {at: place for place, at in enumerate(ran, 1)}
    assert ended["result"]["runs"][-1]["instructions"] == len(ran)
    calls = truth.entries("dispatch")
    found = figure(ended, "calls of dispatch")["minimum"]
    # Both runs are alike, and the first is named.
    assert (found["run"], found["value"], found["number"]) == (1, len(calls), number[calls[0]])
    # Its instructions: those in its code, its callees' and no handler's.
    spans = [(symbol(elf, name), symbol(elf, name) + size(elf, name)) for name in parsers(elf)]
    costs = []
    for begin, end in zip(truth.entries("parse"), calls):
        addresses = [int(line.split()[0], 16) for line in truth.lines[begin:end] if line.startswith("0x")]
        costs.append(sum(any(first <= address < last for first, last in spans) for address in addresses))
    found = figure(ended, "instructions of parse")
    assert [found[key]["value"] for key in ("minimum", "median", "maximum")] == [
        min(costs),
        statistics.median_low(costs),
        max(costs),
    ]
    assert found["maximum"]["number"] == number[truth.entries("parse")[costs.index(max(costs))]]
    ticks = [at for at, line in enumerate(truth.lines) if line.startswith("exception 15 ")]
    assert figure(ended, "calls of SysTick")["maximum"]["value"] == len(ticks) == 4


def parsers(elf: str) -> List[str]:
    """List parse and what it calls, without inlined functions."""
    found = []
    for name in ("parse", "parse_values", "parse_number", "starts_with"):
        try:
            symbol(elf, name)
            found.append(name)
        except KeyError:
            pass
    return found


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        replace(result_block(), execute(Path(made), script_block().text, "-o", "result").printed)
