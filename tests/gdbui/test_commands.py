"""Real GDB session without a target: commands, help, completion, settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gdb_etm.commands.declare import Command
from gdb_etm.commands.registry import COMMANDS, SETTINGS
from gdb_etm.session.connecting import BOARDS
from tests.gdb_session import ROOT, SCRIPT, SECONDS, run_each, run_gdb
from tests.shared import capture_folder

NAMES = [command.name for command in COMMANDS]


@pytest.mark.every_gdb
def test_help_for_everything() -> None:
    output = run_gdb(["help etm"] + ["help etm " + name for name in NAMES])
    assert "etm connect          starts pyOCD beside GDB" in output
    for command in COMMANDS:
        assert "\nUsage: etm %s" % command.name in output
        # With its abbreviations in between, if it has any.
        assert re.search(r"^etm %s(, .*)? -- %s$" % (command.name, re.escape(command.summary)), output, re.MULTILINE)
    assert "Traceback" not in output and "Undefined" not in output


def test_help_for_settings() -> None:
    lines = ["%s etm %s" % (verb, setting.name) for setting in SETTINGS for verb in ("help set", "show")]
    output = run_gdb(["help set etm", "help show etm"] + lines)
    for setting in SETTINGS:
        assert "Set %s." % setting.summary in output
        assert "%s%s is %s.\n" % (setting.summary[0].upper(), setting.summary[1:], setting.default) in output
    assert "Traceback" not in output


def test_show_alone_shows_every_setting() -> None:
    lines = run_gdb(["show etm", "set etm", "set etm nosuch 1"]).splitlines()
    assert lines[: len(SETTINGS)] == lines[len(SETTINGS) : -1] and len(lines) == 2 * len(SETTINGS) + 1
    assert lines[0] == "When the trace buffer is read is eager."
    assert lines[-1].startswith('"nosuch" is no setting; there are: drain, cycle-count, ')


@pytest.mark.every_gdb
def test_completion_of_commands() -> None:
    assert run_gdb(["complete etm "]).split() == [word for name in sorted(NAMES) for word in ("etm", name)]


@pytest.mark.every_gdb
def test_completion() -> None:
    expected = {
        "etm connect bo": ["etm connect " + name for name in sorted(BOARDS)],
        "etm connect board:m7": ["etm connect board:m7"],
        "etm connect --mo": ["etm connect --mode"],
        "etm connect --mode pre": ["etm connect --mode pre-reset"],
        "etm load %s" % SCRIPT: ["etm load %s" % SCRIPT],
        "etm load %s/.c" % SCRIPT.parents[1]: ["etm load %s/.ci/run" % SCRIPT.parents[1]],
        "etm load x --elf %s" % SCRIPT: ["etm load x --elf %s" % SCRIPT],
        "etm history /": ["etm history /%s" % letter for letter in "dfmrst"],
        "etm functions /ci": ["etm functions /cil", "etm functions /cin"],
        "set etm drain ": ["set etm drain eager", "set etm drain lazy"],
        "show etm h": ["show etm history-limit", "show etm history-size"],
        "set etm context i": ["set etm context id"],
        "etm set cy": ["etm set cycle-count"],
        "etm set context ": ["etm set context " + word for word in ("both", "id", "off", "vmid")],
        "etm show st": ["etm show stall"],
    }
    found = run_each(["complete " + line for line in expected])
    assert dict(zip(expected, (output.splitlines() for output in found))) == expected


def test_completion_in_mi() -> None:
    asked = ["etm his", "etm connect --mode pre", "etm load %s" % SCRIPT]
    commands = ['-interpreter-exec console "source %s"' % SCRIPT] + ['-complete "%s"' % line for line in asked]
    done = subprocess.run(
        ["gdb-multiarch", "-nx", "-q", "--interpreter=mi3"],
        input="\n".join(commands + ["-gdb-exit", ""]),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        universal_newlines=True,
        timeout=SECONDS,
        check=True,
    )
    found = [line.split(",")[1] for line in done.stdout.splitlines() if line.startswith("^done,completion=")]
    expected = ["etm history", "etm connect --mode pre-reset", "etm load %s" % SCRIPT]
    assert found == ['completion="%s"' % line for line in expected], done.stdout


def test_settings_are_checked() -> None:
    output = run_gdb(
        ["set etm drain lazy", "show etm drain", "set etm history-size 0", "show etm history-size", "set etm drain x"]
    )
    assert output.splitlines() == [
        "When the trace buffer is read is lazy.",
        'Number of instructions that "etm history" prints is unlimited.',
        'Undefined item: "x".',
    ]


def test_settings_with_words_and_numbers() -> None:
    commands = [
        "set etm cycle-count 16",
        "show etm cycle-count",
        "set etm cycle-count many",
        "show etm cycle-count",
        "set etm sync-period 1K",
        "etm show sync-period",
        "set etm stall 16",
        "set etm stall 8",
        "show etm stall",
        "etm set cycle-count off",
        "show etm cycle-count",
        "python print(gdb.parameter('etm cycle-count'))",
        "etm set history-size 0",
        "show etm history-size",
        "etm set data some",
        "etm set datum both",
        "etm set data",
    ]
    assert run_gdb(commands).splitlines() == [
        'Cycle counts that "etm start" asks for is 16.',
        'cycle-count: "many" is not a number',
        'Cycle counts that "etm start" asks for is 16.',
        "sync-period  1K  number of bytes of trace between two synchronisation points",
        "stall: levels are 0 to 15, not 16",
        "Whether the processor is stalled rather than trace lost is 8.",
        'Cycle counts that "etm start" asks for is off.',
        "off",
        'Number of instructions that "etm history" prints is unlimited.',
        'data: "some" is none of: off, addresses, values, both',
        '"datum" is no setting; there are: data',
        "etm set data needs a value: off, addresses, values, both",
    ]


_NEED_NOTHING = (
    "compare",
    "connect",
    "save",
    "load",
    "replay",
    "captures",
    "status",
    "filter",
    "set",
    "show",
    "on",
    "counter",
    "sequencer",
    "trigger",
)


def test_without_target_or_capture_each_command_says_so_in_a_line() -> None:
    commands = [command for command in COMMANDS if command.name not in _NEED_NOTHING]
    for output in run_each([_with_what_it_requires(command) for command in commands]):
        (line,) = output.splitlines()
        assert "not connected" in line and '"etm connect"' in line


def _with_what_it_requires(command: Command) -> str:
    words = ["etm", command.name]
    for argument in command.arguments:
        if argument.required:
            words += [argument.name, "main"] if argument.is_option else ["main"]
    return " ".join(words)


@pytest.mark.every_gdb
def test_errors_are_one_line_and_gdb_goes_on(tmp_path: Path) -> None:
    output = run_gdb(
        [
            "etm bogus",
            "etm connect nowhere",
            "etm connect --elf %s/no.elf board:m33" % tmp_path,
            "etm connect target",
            "etm load %s" % tmp_path,
            "etm load",
            "etm history 'x",
            "etm captures 3",
            "echo alive\\n",
        ]
    )
    assert output.splitlines() == [
        '"etm bogus" is no command. Try "help etm".',
        '"nowhere" is none of: %s, HOST:PORT, target' % ", ".join(BOARDS),
        "--elf: no file %s/no.elf" % tmp_path,
        'GDB is connected to nothing. Try "target extended-remote HOST:PORT" first',
        "%s/snapshot.ini: no such file" % tmp_path,
        "a snapshot's folder or a dump, or --memory, or --raw with a file",
        "no closing quotation in: 'x",
        "no capture 3; at hand: none",
        "alive",
    ]


def test_sourcing_twice_is_harmless() -> None:
    once = run_gdb(["etm"])
    assert run_gdb(["source %s" % SCRIPT, "etm"]) == once
    assert once.startswith("Not connected; no captures.\n")


def test_source_finds_its_folder_by_itself(tmp_path: Path) -> None:
    link = tmp_path / "gdb_etm"
    link.symlink_to(SCRIPT)
    for commands in (["directory %s" % SCRIPT.parent, "source gdb_etm"], ["source gdb_etm"], ["source %s" % link]):
        assert run_gdb(commands + ["etm"], source=False, cwd=tmp_path).endswith("prints the guide.\n")


def test_a_copy_without_its_package_says_so(tmp_path: Path) -> None:
    shutil.copy(str(SCRIPT), str(tmp_path / "gdb_etm"))
    (line,) = run_gdb(["source %s/gdb_etm" % tmp_path], source=False).splitlines()
    assert line.startswith("gdb_etm: no package beside %s/gdb_etm" % tmp_path)


def test_a_gdb_without_python_is_told_what_works_without(tmp_path: Path) -> None:
    # One that does not find what is written in Python has as little of it.
    without = ["--data-directory", str(tmp_path)]
    output = run_gdb(["source %s" % SCRIPT, "echo done\\n"], source=False, arguments=without)
    told = output.splitlines()[-2:]
    assert told[0].startswith("gdb_etm: this GDB has no Python. ") and "gdb-etm replay SNAPSHOT" in told[0]
    assert "gdb-etm proxy" in told[0] and told[1] == "done", output


def test_missing_libraries_are_told(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(str(SCRIPT), str(tmp_path / "scripts" / "gdb_etm"))
    (tmp_path / "gdb_etm").symlink_to(SCRIPT.parents[1] / "gdb_etm")
    (line,) = run_gdb(["source %s/scripts/gdb_etm" % tmp_path], source=False).splitlines()
    assert line.startswith("gdb_etm: no elftools, capstone, construct in %s; try " % tmp_path)


def test_source_is_quick_because_libraries_wait() -> None:
    output = run_gdb(
        ["python import sys; print([m for m in ('capstone', 'construct', 'elftools') if m in sys.modules])"]
    )
    assert output == "[]\n"


@pytest.mark.every_gdb
def test_load_and_look_without_a_target() -> None:
    output = run_gdb(
        [
            "etm load %s" % capture_folder("juno_r1_1"),
            "etm captures 1",
            "etm history /f 5,+2",
            "etm history +",
            "etm packets -1",
            "set etm history-size 3",
            "etm history -",
            "etm history /r 1,2",
            "etm history --id 0x77",
            "etm functions /ic 1,3",
        ]
    )
    lines = output.splitlines()
    assert lines[2].startswith("capture 1: 18,878 instructions, ")
    assert "<IRQ, return address 0xffffffc000592b64>" in lines
    assert ["5", "0xffffffc000083280", "b", "0xffffffc000083d40"] in [line.split() for line in lines]
    assert "7    0xffffffc000083d44" in output and "16   0xffffffc000083d68" in output
    assert "no trace ID 0x77 in capture 1; it has: 0x10, 0x11, 0x12, 0x13, 0x15" in output
    assert "2   <IRQ, from 0xffffffc000592b64: not in the program>" in lines
