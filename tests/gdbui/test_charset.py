"""Real GDB sessions: names that are no text in GDB's character set."""

from __future__ import annotations

import re
from pathlib import Path

from tests.gdb_session import run_gdb
from tests.gdbui.test_values import DEMO


def test_names_beyond_ascii_in_the_locale_c(tmp_path: Path) -> None:
    path = tmp_path / "program.elf"
    code = DEMO.read_bytes()
    for old, new in (("station\0", "statiö\0"), ("dispatch\0", "ispätch\0"), ("rx.c\0", "ü.c\0")):
        assert len(old.encode()) == len(new.encode()) and old.encode() in code
        code = code.replace(old.encode(), new.encode())
    path.write_bytes(code)
    commands = ["set host-charset ASCII", "etm connect board:m33 --elf %s" % path, "etm start", "continue"]
    output = run_gdb([*commands, "etm fault", "etm functions -3", "etm writes 0x200000bc", "etm backtrace"])
    assert "Python Exception" not in output and "Traceback" not in output, output
    assert "parse_values, ü.c:83: writes past the end of statiö.values (32 bytes)" in output
    assert "4 bytes at 0x200000bc <statiö+32>:" in output
    assert re.search(r"^\d+   ispätch$", output, re.MULTILINE)
    assert re.search(r"^#2  ispätch \(message=0x2007ffe4\) at ü.c:121$", output, re.MULTILINE)
