"""Real pyOCD: errors of scripts, what was not seen, ends from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Tuple

import pytest
from junitparser import Error, JUnitXml

from gdb_etm.access.client import attach
from gdb_etm.unattended.figures import ScriptError
from gdb_etm.unattended.script import read_script
from tests.access.processes import DEMO, FOREVER_TICK, ROOT, serve_by_hand, wait_until, write_forever

pytest.importorskip("unicorn")

_GOOD = 'check = [{fault = false}]\n[run]\nseconds = 1\n[target]\nconnect = "board:m33"\n'


@pytest.mark.parametrize(
    "text, words",
    [
        ("[run", "receiver.toml: Expected"),
        ("", "receiver.toml: no [[check]]: nothing would be checked"),
        ("check = [{fault = false}]", "receiver.toml, run: to or seconds is missing: a run has no end"),
        (_GOOD + "elv = 1", "receiver.toml, target: elv is unknown"),
        (_GOOD + "load = true", "receiver.toml, target: load, and no elf to load"),
        ("chek = 1\n" + _GOOD, "receiver.toml: chek is unknown"),
        (_GOOD.replace("false", "true"), "receiver.toml, check 1: fault must be false: that there is none is"),
        (_GOOD.replace("= 1", "= -1"), "receiver.toml, run: seconds must be a number above 0, at most 1e+07"),
        (_GOOD.replace("fault = false", "calls-of = 1"), "receiver.toml, check 1: calls-of must be a text"),
        (
            _GOOD.replace("fault = false", 'calls-of = "f"'),
            "receiver.toml, check 1: a limit is missing: one of at-least",
        ),
        (_GOOD.replace("fault = false", 'calls-of = "f", at-mots = 1'), "receiver.toml, check 1: a limit is missing"),
        (_GOOD.replace("fault = false", 'calls-of = "f", at-most = 1, x = 1'), "receiver.toml, check 1: x is unknown"),
        (
            _GOOD.replace("fault = false", 'calls-of = "f", at-least = 5, at-most = 1'),
            "receiver.toml, check 1: at-least 5 is above at-most 1",
        ),
        (_GOOD.replace("fault = false", "lines = 1"), "receiver.toml, check 1: a check has one of calls-of, "),
        (_GOOD.replace("fault", 'calls-of = "f", fault'), "receiver.toml, check 1: a check has one of calls-of, "),
        (_GOOD.replace("fault = false", 'latency = ["f", "g"], at-most = 1'), 'check 1: latency: "f" is no exception'),
        (_GOOD.replace("fault = false", 'order = ["f"]'), "check 1: order must be a list of two different functions"),
        (_GOOD.replace("}]", "}, {fault = false}]"), 'receiver.toml: two checks are called "no fault"; give one'),
        (_GOOD.replace("false", 'false, incomplete = "maybe"'), 'check 1: incomplete must be "accept" or "refuse"'),
    ],
)
def test_what_is_wrong_with_a_script_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "receiver.toml"
    path.write_text(text)
    with pytest.raises(ScriptError) as caught:
        read_script(str(path))
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


# Of the board's trace unit: whether it is on.
_TRCPRGCTLR = 0xE0041004


def execute(folder: Path, text: str, *words: str) -> Tuple[int, str, str]:
    """Run a script; give status, standard output and standard error."""
    path = folder / "script.toml"
    path.write_text(text)
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "gdb_etm", "run", str(path), *words]
    done = subprocess.run(command, stdout=pipe, stderr=pipe, cwd=ROOT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


_WRAPPED = """
check = [
  {calls-of = "dispatch", at-least = 1},
  {calls-of = "dispatch", at-most = 1},
  {calls-of = "dispatch", at-most = 10000},
  {calls-of = "dispatch", at-most = 10001, incomplete = "accept"},
  {instructions-of = "parse", at-most = 100000},
  {not-in-handlers = "parse"},
  {calls-of = "dispach", at-least = 1},
]
[target]
connect = "board:m33"
elf = ["%s"]
[run]
to = "HardFault_Handler"
seconds = 60
"""


def test_what_was_not_seen_leaves_a_check_uncertain(tmp_path: Path) -> None:
    status, printed, error = execute(tmp_path, _WRAPPED % DEMO, "--format=json", "--junit=%s" % (tmp_path / "j.xml"))
    assert (status, error) == (1, "")
    result = json.loads(printed)
    outcomes = [check["outcome"] for check in result["checks"]]
    assert outcomes == ["passed", "failed", "uncertain", "passed", "uncertain", "uncertain", "failed"]
    assert result["checks"][-1]["text"] == 'no function "dispach"; did you mean dispatch?'
    assert all(check["basis"] == ["run 1: before them the buffer wrapped"] for check in result["checks"])
    (suite,) = JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert [any(isinstance(one, Error) for one in case.result) for case in suite] == [
        outcome == "uncertain" for outcome in outcomes
    ]
    assert (suite.tests, suite.failures, suite.errors) == (7, 2, 3)


def test_samples_are_named_in_every_format(tmp_path: Path) -> None:
    text = _WRAPPED.replace("[run]", "[run]\nsample = 3000") % DEMO
    status, printed, _ = execute(tmp_path, text, "--junit=%s" % (tmp_path / "j.xml"), "-o", str(tmp_path / "out"))
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    words = next(one for one in result["runs"][0]["missing"] if one.startswith("sampled: "))
    assert status == 1 and "note: run 1: " + words in printed
    (suite,) = JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert all(words in case.system_out for case in suite)


def test_samples_are_of_a_cycle_or_more(tmp_path: Path) -> None:
    status, printed, _ = execute(tmp_path, _WRAPPED.replace("[run]", "[run]\nsample = 0") % DEMO)
    assert status == 2 and "error: sample: 0 cycles; at least 1" in printed


def test_what_cannot_be_used_is_status_2(tmp_path: Path) -> None:
    for text, words in ((_GOOD.replace("board:m33", "here"), '"here" is none of'), ("[run", "Expected")):
        status, printed, error = execute(tmp_path, text)
        assert status == 2 and words in printed + error and "Traceback" not in error
    status, printed, _ = execute(tmp_path, _WRAPPED.replace('"HardFault_Handler"', '"nowhere"') % DEMO)
    assert status == 2 and 'error: no function "nowhere"' in printed
    status, printed, _ = execute(tmp_path, _WRAPPED.replace('"HardFault_Handler"', '"MemManage_Handler"') % DEMO)
    assert status in (1, 2)


@pytest.mark.parametrize("end", ["time limit", "SIGINT", "SIGTERM"])
def test_whatever_ends_a_run_leaves_the_target_as_it_was(end: str, tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    served = serve_by_hand("-Oboard.elf=%s" % elf)
    text = 'check = [{fault = false}]\n[target]\nconnect = "localhost:%d"\nelf = ["%s"]\n'
    text += '[run]\nreset = false\nto = "*0x44"\n'
    path = tmp_path / "script.toml"
    limit = "time-limit = 3\n" if end == "time limit" else ""
    path.write_text(text % (served.control_port, elf) + limit)
    watcher = attach("localhost", served.control_port)
    try:
        before = watcher.port().read32(_TRCPRGCTLR)
        command = [sys.executable, "-m", "gdb_etm", "run", str(path)]
        run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if limit == "":
            # It has taken the core when a breakpoint is set: FP_CTRL and FP_COMP0 (DDI 0553, D1.2).
            assert wait_until(lambda: any(watcher.port().read32(0xE0002008 + 4 * at) & 1 for at in range(8)))
            time.sleep(0.2)
            os.kill(run.pid, getattr(signal, end))
        printed, error = run.communicate(timeout=60)
        assert error == ""
        assert ("error: the time limit of 3 s is over" if limit else "error: interrupted") in printed
        assert run.returncode == (2 if limit else 130)
        assert wait_until(lambda: not watcher.is_halted)
        assert not any(watcher.port().read32(0xE0002008 + 4 * at) & 1 for at in range(8))
        assert watcher.port().read32(_TRCPRGCTLR) == before
        watcher.set_breakpoint(FOREVER_TICK)
        assert watcher.wait_for_halt(20)
    finally:
        watcher.close()
        served.process.kill()
        served.process.communicate()
