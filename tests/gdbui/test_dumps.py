"""Real GDB: a debugger that comes after the crash.

And the core file that it writes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gdb_etm.__main__ import main
from tests.dumps.crashed import crash
from tests.firmware.blackbox.build import elf
from tests.firmware.build import compiler
from tests.gdb_session import run_gdb

pytestmark = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")
CULPRIT = "==>    collect, crash.c:46: writes past the end of device.samples (32 bytes), over device.filter"


@pytest.mark.parametrize("board", ["m33", "m0"])
def test_a_core_file_that_gdb_writes(board: str, tmp_path: Path) -> None:
    program, core = elf("Os", board), tmp_path / "crash.core"
    after = ["etm load --memory etm_blackbox", "etm fault"]
    connect = "etm connect board:%s --elf %s" % (board, program)
    wait = ["tbreak -source crash.c -function etm_blackbox_done", "continue", *after, "continue", *after]
    output = run_gdb([connect, "set var order = 1", *wait, "generate-core-file %s" % core])
    # pyOCD halts where the fault's handler begins.
    assert output.index("still traces: no crash is kept before its etm_blackbox_fault has run") < output.index(CULPRIT)
    # Another GDB, of a core file alone.
    more = ["etm goto end", "etm reverse-stepi", "etm backtrace", "etm writes device.filter", "reverse-stepi"]
    output = run_gdb(["file %s" % program, "core-file %s" % core, *after, *more])
    assert CULPRIT in output and re.search(r"^#0 .*\bfiltered \(", output, re.MULTILINE)
    assert "<collect+" in output.split("4 bytes at")[1]
    assert "Traceback" not in output
    output = run_gdb(["etm load %s --elf %s" % (core, program), "etm fault"])
    assert CULPRIT in output


def test_wrong_words(tmp_path: Path) -> None:
    program = elf("Os", "m33")
    (tmp_path / "dump").write_bytes(b"ZE")
    (tmp_path / "unit").write_text("TRCCONFIGR=0x1001\n")
    lines = [
        ("etm load", "a snapshot's folder or a dump, or --memory, or --raw with a file"),
        ("etm load --memory etm_blackbox", "GDB has no target whose memory could be read"),
        ("etm load %s/dump" % tmp_path, "dump is cut short: the header at byte 0x0: 12 bytes, of which 2 are left"),
        ("etm load --raw %s/dump" % tmp_path, "what traced it?  --unit with a file"),
        ("etm load --raw %s/dump --unit mtb" % tmp_path, "2 bytes are no buffer: packets have 8 bytes each"),
        ("etm load --raw a --memory b", "--raw is a buffer alone"),
        ("etm load %s --unit mtb" % tmp_path, "is no dump: a snapshot's folder says itself what it holds"),
        (
            "etm load --raw %s/dump --unit %s/unit" % (tmp_path, tmp_path),
            "unit: ETM_0: registers TRCTRACEIDR, TRCIDR0, ",
        ),
        ("print $_etm_calls()", "has one argument, the name of a function in quotes"),
        ("print $_etm_calls(1)", "has one argument, the name of a function in quotes"),
        ("etm load --raw a --framed perhaps", '"perhaps" is neither yes nor no'),
    ]
    output = run_gdb(["file %s" % program, *(line for line, _ in lines), "etm captures"])
    # What cannot be decoded does not take the place of what is shown.
    assert output.rstrip().endswith("no captures yet")
    for _, message in lines:
        assert message in output, (message, output)
    assert "Traceback" not in output and "Python Exception" not in output


def test_names_are_no_commands_to_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = crash("Os", "m33", "call")
    core, program = found.core(tmp_path), tmp_path / "named.elf"
    content = Path(found.elf).read_bytes()
    assert content.count(b"filtered\0") and content.count(b"crash.c\0")
    program.write_bytes(content.replace(b"filtered\0", b"f\x1b[31m__\0").replace(b"crash.c\0", b"c\x1b[7m.c\0"))
    commands = ["etm load %s --elf %s" % (core, program), "etm history -1", "etm functions -2", "etm fault"]
    output = run_gdb([*commands, "etm backtrace", "etm load %s/\x1b[5m" % tmp_path])
    assert "<f?[31m__+6>" in output and "c?[7m.c:51" in output and "/?[5m/snapshot.ini: no such file" in output
    assert "\x1b" not in output
    for command in ("history", "functions", "fault", "coverage", "elements"):
        assert main([command, core, "--elf", str(program)]) == 0
    assert main(["fault", str(tmp_path / "\x1b[5m")]) == 1
    written = capsys.readouterr()
    assert "<f?[31m__+6>" in written.out and "?[5m" in written.err
    assert "\x1b" not in written.out + written.err
