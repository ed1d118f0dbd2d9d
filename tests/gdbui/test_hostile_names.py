"""Real GDB sessions: names that hold newlines, escapes and commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Tuple

from tests.gdb_session import run_gdb
from tests.gdbui.test_values import DEMO

RUN = "etm start", "continue"
SHELL = sys.executable, "-m", "gdb_etm"
# Entries of a line table (DWARF 4, 6.2.4): a name, then its folder, time and size.
FILES = b"rx.c\0\0\0\0stdint.h\0\1\0\0"


def program(folder: Path, *changes: Tuple[bytes, bytes]) -> Path:
    """Write the demo's program with other names."""
    code = DEMO.read_bytes()
    for old, new in changes:
        assert len(old) == len(new) and old in code
        code = code.replace(old, new)
    path = folder / "program.elf"
    path.write_bytes(code)
    return path


def named(old: str, new: str) -> Tuple[bytes, bytes]:
    """Replace a whole name by one of the same length."""
    return old.encode() + b"\0", new.encode() + b"\0"


def test_a_source_files_name_is_no_command(tmp_path: Path) -> None:
    name = b"x\n!echo>it_ran;\n"
    path = program(tmp_path, (FILES, name + bytes(len(FILES) - len(name))))
    connect = "etm connect board:m33 --elf %s" % path
    output = run_gdb([connect, *RUN, "etm reverse-step", "etm reverse-next", "etm backtrace", "etm fault"], tmp_path)
    assert "dispatch (...) at x?!echo>it_ran;?:120" in output, output
    assert [one.name for one in tmp_path.iterdir()] == ["program.elf"]


def test_a_name_is_one_line_of_every_listing_and_export(tmp_path: Path) -> None:
    # The linker has "values", a member's name, in the end of "parse_values".
    path = program(
        tmp_path,
        named("parse_values", "pa\n#1 forged"),
        named("dispatch", "d\x1b[31m;\r"),
        named("station", "s\u202eio\n"),
        named("rx.c", "r\nxc"),
        (b"starts_with\0", "st\u00e4rts_wit\0".encode()),
    )
    listings = ["functions /c", "history /s -9", "fault", "origin r3", "writes 0x200000bc", "profile", "backtrace"]
    commands = ["etm connect board:m33 --elf %s" % path, *RUN, *("etm " + one for one in listings)]
    output = run_gdb([*commands, "etm coverage", "etm save %s" % (tmp_path / "saved")], tmp_path)
    assert "==>    pa?#1 forged, r?xc:83: writes past the end of s?io?.forged (32 bytes), over" in output, output
    assert "\n#2  d?[31m;? (...) at r?xc:121\n" in output
    assert not re.search("^(#1 forged|xc)|[\x1b\r\u202e]", output, re.MULTILINE), output

    for command, name in (("profile", "a.folded"), ("profile", "a.callgrind"), ("coverage", "a.info")):
        words = [command, "saved", "--elf", "program.elf", "--export", name]
        subprocess.run([*SHELL, *words], cwd=str(tmp_path), check=True)
        written = (tmp_path / name).read_text("utf-8")
        assert "pa?#1 forged" in written
        assert not re.search("^(#1 forged|xc)|[\x1b\r\u202e]", written, re.MULTILINE), written

    # Where the terminal has no such letter.
    functions = [*SHELL, "functions", "saved", "--elf", "program.elf"]
    plain = dict(os.environ, PYTHONIOENCODING="ascii")
    assert b"st\\xe4rts_wit\n" in subprocess.check_output(functions, cwd=str(tmp_path), env=plain)


def test_a_name_is_one_line_of_an_instruction_too(tmp_path: Path) -> None:
    path = program(tmp_path, named("ring_get", "r\nforged"), (b"\0starts_with\0", b"\0starts\xffwith\0"))
    output = run_gdb(["etm connect board:m33 --elf %s" % path, *RUN, "etm history -4000"], tmp_path)
    assert re.search(r" bl +0x[0-9a-f]+ <r\?forged>$", output, re.MULTILINE), output[-3000:]
    assert re.search(r" bl +0x[0-9a-f]+ <starts\ufffdwith>$", output, re.MULTILINE), output[-3000:]
    assert not re.search("^forged", output, re.MULTILINE)


def test_a_file_that_a_snapshot_names_is_no_server(tmp_path: Path) -> None:
    connect = "etm connect board:m33 --elf %s" % DEMO
    run_gdb([connect, *RUN, "etm save saved"], tmp_path)
    device = tmp_path / "saved" / "cpu_0.ini"
    old, new = b"memory_0_20000000.bin", b"target remote |id>ran"
    assert len(old) == len(new) and old in device.read_bytes()
    device.write_bytes(device.read_bytes().replace(old, new))
    output = run_gdb(["etm replay saved --elf %s" % DEMO, "reverse-stepi"], tmp_path)
    assert "target remote |id>ran: no such file" in output and "replaying saved from its end" in output, output
    assert [one.name for one in tmp_path.iterdir()] == ["saved"]
